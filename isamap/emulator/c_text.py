"""C text shared by the timing and the functional executable: spans, addresses, loops, checks of
one call.

In: a Bound program. Out: lines of C. Not its job: hazards and ports (`c_timing`), semantics
(`c_functional`),
compiling (`build`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from math import lcm
from typing import assert_never

from isamap.hwdesc import Expression
from isamap.ir import Affine, index_range
from isamap.program import Address, Edge, For, Issue, Node, Span, When

from .bind import Bound, Call, allowed_intervals, is_always_allowed, loose_hull
from .ranges import (
    address_divisor,
    fixed_count,
    span_interval,
)
from .region import Dim, Region

PRELUDE = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
/* Nobody else would end it where whoever waits for it is killed. */
__attribute__((constructor)) static void end_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }
#endif
typedef int64_t i64;
#define COLD __attribute__((noinline, cold))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
static i64 watch = -1, serial = 0;
static COLD void report(const char *word, int code, i64 call, i64 a, i64 b, i64 c, i64 d, i64 e,
                        int n, const i64 *v) {
  const i64 numbers[6] = {call, a, b, c, d, e};
  printf("%s %d", word, code);
  for (int i = 0; i < 6; i++) printf(" %lld", (long long)numbers[i]);
  for (int i = 0; i < n; i++) printf(" %lld", (long long)v[i]);
  printf("\n");
  fflush(stdout);
  _exit(3);
}
static inline i64 least(i64 a, i64 b) { return a < b ? a : b; }
static inline i64 most(i64 a, i64 b) { return a > b ? a : b; }
static inline i64 above(i64 a, i64 b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
static COLD void *zeros(i64 size) {
  void *p = calloc(size > 0 ? size : 1, 1);
  if (!p) { printf("memory %lld\n", (long long)size); fflush(stdout); _exit(4); }
  return p;
}
"""


class Fault(IntEnum):
    """What an execution found wrong; the number goes from C to Python."""

    LOOP_COUNT = 1  # a: position of the loop, b: count
    SPAN = 2  # a: position of the span, b: count
    ROTATION = 3  # a: operand, b: counter
    ALIGNMENT = 4  # a: operand, b: address
    BOUNDS = 5  # a: region, b: first byte, c: byte after the last
    UNWRITTEN = 6  # a: operand, b: address
    DEADLOCK = 7  # a: channel
    OVERFLOW = 8  # a: channel
    HAZARD = 9  # a: operand, b: address, c: serial of the other call
    ARITHMETIC = 10  # a: 0 shift count, 1 division
    RACE = 11  # a: operand, b: address, c: the other core
    # machines with exposed timing; d: the earliest cycle, e: the program's (HAZARD too)
    BUSY = 12  # c: serial of the call that its unit runs
    DISTANCE = 13  # a: number of the distance, c: serial of the earlier call
    PORT = 14  # a: number of the port
    WIDTH = 15  # b: calls per cycle
    UNTIMED = 16  # a: executions that have a cycle
    # fifo memories
    ORDER = 17  # a: operand, b: entry
    OVERRUN = 18  # a: operand, b: entry
    FULL = 20  # a: operand
    LATE = 19  # a: operand, b: entry, d: the latest cycle, e: when the entry is there
    COPIED = 21  # a: operand, b: address; it takes only what was computed


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a piece of C stands: the C variable of each enclosing loop, and their largest
    extents."""

    names: tuple[tuple[str, str], ...]

    def values(self) -> str:
        """All loop variables as a C array for `report`."""
        inner = ", ".join(variable for _, variable in self.names) or "0"
        return f"{len(self.names)}, (const i64[]){{{inner}}}"


def c_affine(affine: Affine, names: Mapping[str, str]) -> str:
    """`4 + 256 * v0` over the C variables of loops."""
    parts = [f"{coefficient}LL * {names[name]}" for name, coefficient in affine.terms]
    if affine.constant or not parts:
        parts.append(f"{affine.constant}LL")
    return "(" + " + ".join(parts) + ")"


def c_span(span: Span, names: Mapping[str, str]) -> str:
    """The count of a span."""
    fixed = fixed_count(span)
    if fixed is not None:
        return f"{fixed}LL"
    rest = f"{span.total}LL - {c_affine(span.offset, names)}"
    return f"least({span.limit}LL, above({rest}, {span.unit}LL))"


def c_address(address: Address, names: Mapping[str, str]) -> str:
    """The byte address."""
    parts = [c_affine(address.offset, names)]
    for turn in address.rotations:
        parts.append(f"{turn.stride_bytes}LL * ({c_affine(turn.counter, names)} % {turn.modulo}LL)")
    return " + ".join(parts)


def c_count(dim: Dim, call: Call) -> str:
    """Number of positions of a direction, over the span variables x0, x1, ..."""
    spans = dict(call.spans)
    if all(fixed_count(spans[name]) is not None for name, _ in dim.terms):
        return f"{dim.count({n: fixed_count(spans[n]) or 1 for n, _ in dim.terms})}LL"
    positions = [name for name, _ in call.spans]
    terms = [f"{factor}LL * (x{positions.index(name)} - 1)" for name, factor in dim.terms]
    raw = " + ".join([f"{1 - dim.skip}LL", *terms])
    if dim.limit is not None:
        raw = f"least({raw}, {dim.limit}LL)"
    return f"most(0, {raw})" if dim.skip or dim.limit is not None else f"({raw})"


def c_cost(expression: Expression, call: Call) -> str:
    """A cost over the call's span variables; a plain number when all its names are fixed."""
    fixed = {name: fixed_count(span) for name, span in call.spans}
    needed = {name: fixed[name] for name in expression.names}
    known = {name: value for name, value in needed.items() if value is not None}
    if len(known) == len(needed):
        return f"{expression.evaluate(known)}LL"
    positions = [name for name, _ in call.spans]
    return expression.to_c({name: f"x{positions.index(name)}" for name in expression.names})


def emit_body(bound: Bound, emit_call: Callable[[Call, dict[str, str]], list[str]]) -> list[str]:
    """The program's loops and conditions around `emit_call(call, C names of loops)` of each
    call."""
    return _emit_nodes(bound.program.body, Scope(()), {}, iter(bound.calls), emit_call)


def _emit_nodes(
    body: tuple[Node, ...],
    scope: Scope,
    counts: dict[str, str],
    calls: Iterator[Call],
    emit_call: Callable[[Call, dict[str, str]], list[str]],
) -> list[str]:
    lines: list[str] = []
    names = dict(scope.names)
    for node in body:
        match node:
            case Issue():
                lines += ["{", *emit_call(next(calls), names), "}"]
            case When(conditions, inner):
                tests = [_edge_test(edge, names[loop], counts[loop]) for loop, edge in conditions]
                lines.append(f"if ({' && '.join(tests) or '1'}) {{")
                lines += [*_emit_nodes(inner, scope, counts, calls, emit_call), "}"]
            case For(loop, span, inner):
                depth = len(scope.names)
                count, variable = f"n{depth}", f"v{depth}"
                lines.append(f"{{ const i64 {count} = {c_span(span, names)};")
                lines.append(
                    f'if (UNLIKELY({count} < 1)) report("error", {int(Fault.LOOP_COUNT)},'
                    f" -1, {depth}, {count}, 0, 0, 0, {scope.values()});"
                )
                lines.append(f"for (i64 {variable} = 0; {variable} < {count}; {variable}++) {{")
                below = Scope((*scope.names, (loop, variable)))
                inner_counts = counts | {loop: count}
                lines += _emit_nodes(inner, below, inner_counts, calls, emit_call)
                lines.append("} }")
    return lines


def _edge_test(edge: Edge, value: str, count: str) -> str:
    """Is a loop's variable at the edge?"""
    match edge:
        case Edge.FIRST:
            return f"{value} == 0"
        case Edge.LAST:
            return f"{value} == {count} - 1"
        case Edge.LATER:
            return f"{value} > 0"
        case _:
            assert_never(edge)


def fail(
    call: Call,
    names: Mapping[str, str],
    fault: Fault,
    a: str,
    b: str = "0",
    c: str = "0",
    cycles: tuple[str, str] = ("0", "0"),
) -> str:
    """A C statement that reports `fault` of `call` and ends the process; `cycles`: d and e."""
    values = Scope(tuple(names.items())).values()
    numbers = f"{call.number}, {a}, {b}, {c}, {cycles[0]}, {cycles[1]}"
    return f'report("error", {int(fault)}, {numbers}, {values});'


def emit_prelude(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """Span variables x<n>, operand addresses a<n>, and every check that cannot be proved for all
    iterations."""
    lines = [f"const i64 core = {c_affine(call.site.core, names)}; (void)core;"]
    loops = dict(call.loops)
    for position, (name, span) in enumerate(call.spans):
        lines.append(f"const i64 x{position} = {c_span(span, names)}; (void)x{position};")
        illegal = _span_test(call, name, span, f"x{position}")
        if illegal:
            stop = fail(call, names, Fault.SPAN, str(position), f"x{position}")
            lines.append(f"if (UNLIKELY({illegal})) {stop}")
    for number, operand in enumerate(call.issue.operands):
        for rotation in operand.address.rotations:
            if index_range(rotation.counter, loops)[0] < 0:
                counter = c_affine(rotation.counter, names)
                stop = fail(call, names, Fault.ROTATION, str(number), counter)
                lines.append(f"if (UNLIKELY({counter} < 0)) {stop}")
        lines.append(f"const i64 a{number} = {c_address(operand.address, names)}; (void)a{number};")
        align = alignment(bound, call, number)
        if address_divisor(operand.address) % align:
            stop = fail(call, names, Fault.ALIGNMENT, str(number), f"a{number}")
            lines.append(f"if (UNLIKELY(a{number} % {align})) {stop}")
    for number in range(len(call.regions)):
        lines += _emit_bounds(bound, call, number, names)
    return lines


def alignment(bound: Bound, call: Call, number: int) -> int:
    """Operand `number` must start at a multiple of this: its own rule and the memory's unit of
    addressing; the host addresses bytes."""
    rule = call.instruction.operands[number]
    if any(kernel.name == call.instruction.name for kernel in bound.program.host_calls):
        return 1
    granule = bound.hardware.memory(rule.memory).granule_bytes
    return lcm(max(rule.align_bytes, 1), granule)


def _span_test(call: Call, name: str, span: Span, variable: str) -> str:
    """C condition under which the count is illegal; empty when it never is."""
    repeats = {rule.name: rule.maximum for rule in call.instruction.repeats}
    if name in repeats:
        low, high = span_interval(span, dict(call.loops))
        is_legal = low >= 1 and high <= repeats[name]
        return "" if is_legal else f"{variable} < 1 || {variable} > {repeats[name]}LL"
    if is_always_allowed(call, name):
        return ""
    rule = call.instruction.extent(name)
    low_text = f"{variable} < 1 || {variable} > {rule.maximum}LL"
    match rule.kind.value:
        case "exactly":
            return f"{variable} != {rule.maximum}LL"
        case "multiple_of":
            return f"{low_text} || {variable} % {rule.multiple}LL"
    return low_text


def _emit_bounds(bound: Bound, call: Call, number: int, names: Mapping[str, str]) -> list[str]:
    region = call.regions[number]
    hull = loose_hull(call, region)
    allowed = allowed_intervals(bound.allowed, call, region)
    if hull is None or any(low <= hull[0] and hull[1] <= high for low, high in allowed):
        return []
    first = f"a{region.operand} + {region.start_bytes}LL"
    reach = [f"{dim.stride_bytes}LL * (({c_count(dim, call)}) - 1)" for dim in region.all_dims]
    end = " + ".join([f"{first} + {region.item_bytes}LL", *reach])
    inside = [f"(first >= {low}LL && end <= {high}LL)" for low, high in allowed]
    stop = fail(call, names, Fault.BOUNDS, str(number), "first", "end")
    test = f"if (UNLIKELY(!({' || '.join(inside) or '0'}))) {stop}"
    cut = [
        f"{c_count(dim, call)} > 0" for dim in region.all_dims if dim.skip or dim.limit is not None
    ]
    if cut:
        test = f"if ({' && '.join(cut)}) {{ {test} }}"
    return [f"{{ const i64 first = {first}, end = {end}; {test} }}"]


def over_copies(bound: Bound, call: Call, region: Region, unit: int, lines: list[str]) -> list[str]:
    """`lines` for every copy of the region's memory that the call acts on; `home` is where the
    copy begins, in `unit` per copy, and `core` the number of the call's core."""
    if bound.hardware.num_copies(region.memory) == 1:
        return lines
    reach = call.site.reach
    if reach == (0,) or not region.is_written:
        return [f"{{ const i64 home = core * {unit}LL;", *lines, "}"]
    values = ", ".join(f"{offset}LL" for offset in reach)
    return [
        f"{{ static const i64 reach[] = {{{values}}};",
        f"for (i64 q = 0; q < {len(reach)}; q++) {{",
        f"const i64 home = (core + reach[q]) * {unit}LL;",
        *lines,
        "} }",
    ]


def home(bound: Bound, region: Region) -> str:
    """What `over_copies` adds to a place in the region's memory, as C text."""
    return " + home" if bound.hardware.num_copies(region.memory) > 1 else ""


@dataclass(frozen=True, slots=True)
class Runs:
    """A region as gapless runs: C counts and byte strides of the outer loops, C length of one run
    in bytes."""

    outer: tuple[tuple[str, int], ...]
    run_bytes: str


def region_runs(call: Call, region: Region, apart: Dim | None = None) -> Runs:
    """Collapse the directions of a whole call that leave no gap; `apart` is not part of the
    runs."""
    spans = dict(call.spans)
    run, fixed = f"{region.item_bytes}LL", region.item_bytes
    is_open = True
    outer: list[tuple[str, int]] = []
    for dim in sorted(region.all_dims, key=lambda dim: dim.stride_bytes):
        count = c_count(dim, call)
        if count == "1LL" or dim is apart:
            continue
        if is_open and dim.stride_bytes == fixed:
            is_open = all(fixed_count(spans[name]) is not None for name, _ in dim.terms)
            run = f"{fixed}LL * {count}"
            if is_open:
                fixed *= int(count.removesuffix("LL"))
                run = f"{fixed}LL"
        else:
            outer.insert(0, (count, dim.stride_bytes))
            is_open = False
    return Runs(tuple(outer), run)
