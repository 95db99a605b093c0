"""The functional mode as one C program.

In: a Bound program. Out: C text; run as `program IMAGE`, it maps the external memory's image,
executes every call on
real bytes and prints `ok` or one `error` line. Not its job: filling and reading the image (`run`),
timing.
A call (each of its repeats) gathers its operands into dense arrays, runs its semantics there and
scatters the results,
so what it reads is read before anything is written.
"""

from collections.abc import Mapping
from dataclasses import replace

from isamap.cexpr import HELPERS, storage_type

from .bind import (
    Bound,
    Call,
    allowed_intervals,
    by_repeat,
    may_race,
    touched_shape,
    widest_extents,
    writer_number,
)
from .c_semantics import emit_semantics
from .c_text import (
    PRELUDE,
    Fault,
    Runs,
    c_count,
    emit_body,
    emit_prelude,
    fail,
    home,
    over_copies,
    region_runs,
)
from .check import semantic_loops
from .marks import Mark, least_mark, mark_of
from .ranges import fixed_count
from .region import Dim, Region

ILLEGAL = r"""
#include <math.h>
static int arithmetic = -1; /* the first illegal operation: 0 shift count, 1 division */
#define ISAMAP_ILLEGAL(what) arithmetic = what
"""

MAIN = r"""
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
static uint8_t *map_image(const char *path, i64 size) {
  int file = open(path, O_RDWR);
  void *p = file < 0 ? MAP_FAILED : mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (p == MAP_FAILED) { printf("memory %lld\n", (long long)size); fflush(stdout); _exit(4); }
  return p;
}
#define HOT __attribute__((noinline, hot))
static inline __attribute__((always_inline)) i64 least_mark(const uint8_t *p, i64 n) {
  uint8_t all = 0xff;
  for (i64 i = 0; i < n; i++) all &= p[i];
  return all;
}
static inline i64 raced(const int32_t *p, i64 n, int32_t me, int32_t cores) {
  for (i64 i = 0; i < n; i++) if (p[i] != me && p[i] / cores == me / cores) return i;
  return -1;
}
static inline void sign(int32_t *p, i64 n, int32_t me) { for (i64 i = 0; i < n; i++) p[i] = me; }
"""


def emit_functional(bound: Bound) -> str:
    """The whole C file; it marks what is written repeat by repeat."""
    bound = by_repeat(bound)
    names = _used_instructions(bound)
    lines = [PRELUDE, ILLEGAL, HELPERS, MAIN]
    for number in range(len(bound.extents)):
        lines.append(f"static uint8_t *bytes{number}, *written{number};")
        lines += [f"static int32_t *writer{number};"] * _has_races(bound, number)
    shapes: dict[str, Mapping[str, tuple[int, ...]]] = {}
    for number, name in enumerate(names):
        shapes[name] = _array_shapes(bound, name)
        instruction = bound.hardware.instruction(name)
        kernel, loops = instruction.semantics, semantic_loops(instruction.semantics)
        immediates = {rule.name: rule.dtype for rule in instruction.immediates}
        lines += emit_semantics(kernel, number, loops, shapes[name], immediates)
    for call in bound.calls:
        lines += _emit_function(bound, call, names.index(call.instruction.name), shapes)
        lines += _emit_versions(call)
    lines.append("int main(int argc, char **argv) { if (argc < 2) return 2;")
    lines += _emit_memories(bound)
    lines += emit_body(bound, lambda call, loops: _emit_call(bound, call, loops))
    return "\n".join([*lines, 'printf("ok\\n"); return 0; }']) + "\n"


def _used_instructions(bound: Bound) -> list[str]:
    return list(dict.fromkeys(call.instruction.name for call in bound.calls))


def _array_shapes(bound: Bound, name: str) -> dict[str, tuple[int, ...]]:
    """Shape of each buffer's dense array: large enough for every call of the instruction called
    `name`."""
    most = widest_extents(bound.calls, name)
    calls = [call for call in bound.calls if call.instruction.name == name]
    kernel = calls[0].instruction.semantics
    return {
        buffer.name: tuple(
            max(sizes) for sizes in zip(*(touched_shape(call, buffer.name, most) for call in calls))
        )
        for buffer in kernel.buffers
    }


def _emit_memories(bound: Bound) -> list[str]:
    lines: list[str] = []
    for number, extent in enumerate(bound.extents):
        is_external = extent.memory == bound.hardware.external.name
        if is_external:
            lines.append(f"bytes{number} = map_image(argv[1], {max(extent.size_bytes, 1)}LL);")
        else:
            copies = bound.hardware.num_copies(extent.memory)
            lines.append(f"bytes{number} = zeros({extent.size_bytes * copies}LL);")
        granules = extent.size_bytes * bound.hardware.num_copies(extent.memory)
        granules = granules // extent.granule_bytes + 1
        lines.append(f"written{number} = zeros({granules}LL);")
        if _has_races(bound, number):
            lines.append(f"writer{number} = zeros({granules}LL * sizeof(int32_t));")
        for placement in bound.program.inputs if is_external else ():
            first = placement.address // extent.granule_bytes
            count = placement.layout.size_bytes // extent.granule_bytes
            lines.append(f"memset(written{number} + {first}LL, {int(Mark.COPIED)}, {count}LL);")
    return lines


def _has_races(bound: Bound, number: int) -> bool:
    """Can two cores write the same bytes of a memory?"""
    memory = bound.extents[number].memory
    return any(
        region.memory == memory and may_race(bound, call, region)
        for call in bound.calls
        for region in call.regions
    )


def _parameters(call: Call) -> tuple[str, ...]:
    spans = [f"x{position}" for position in range(len(call.spans))]
    return (*spans, *(f"a{number}" for number in range(len(call.issue.operands))), "core")


def _emit_call(bound: Bound, call: Call, names: Mapping[str, str]) -> list[str]:
    """Check, then execute: with its widest extents where it has them, else in general."""
    lines = emit_prelude(bound, call, names)
    parameters = _parameters(call)
    lines.append("i64 blamed = 0;")
    general = f"any{call.number}({', '.join(('&blamed', *parameters))})"
    full = f"full{call.number}({', '.join(('&blamed', *parameters[len(call.spans) :]))})"
    tests = [
        f"x{position} == {span.limit}LL"
        for position, (_, span) in enumerate(call.spans)
        if fixed_count(span) is None
    ]
    chosen = f"({' && '.join(tests)}) ? {full} : {general}" if tests else full
    lines.append(f"const int bad = {chosen};")
    for number, region in enumerate(call.regions):
        if _needs_check(bound, call, region):
            lines += _emit_missing(bound, call, number, names)
        if may_race(bound, call, region):
            granule = bound.extent(region.memory).granule_bytes
            other = f"writer{bound.extent_number(region.memory)}[blamed / {granule}]"
            other += f" % {bound.hardware.num_cores}"
            stop = fail(call, names, Fault.RACE, str(region.operand), "blamed", other)
            lines.append(f"if (UNLIKELY(bad == {-number - 1})) {stop}")
    stop = fail(call, names, Fault.ARITHMETIC, "arithmetic")
    return [*lines, f"if (UNLIKELY(arithmetic >= 0)) {stop}", "(void)bad;"]


def _emit_missing(bound: Bound, call: Call, number: int, names: Mapping[str, str]) -> list[str]:
    """Stop where bytes of a region were not written as they must be."""
    region = call.regions[number]
    granule = bound.extent(region.memory).granule_bytes
    unwritten, copied = (
        fail(call, names, fault, str(region.operand), "blamed")
        for fault in (Fault.UNWRITTEN, Fault.COPIED)
    )
    marked = f"written{bound.extent_number(region.memory)}[blamed / {granule}]"
    is_missing = f"UNLIKELY(bad == {number + 1})"
    return [f"if ({is_missing}) {{ if ({marked}) {copied} else {unwritten} }}"]


def _emit_versions(call: Call) -> list[str]:
    """`full<n>`, whose extents are constants, and `any<n>`, where some extent can differ.

    Functions of their own because compilers take loops in `main` for cold ones and leave them
    scalar.
    """
    spans = [span for _, span in call.spans]
    parameters = _parameters(call)
    head = "static HOT int"
    addresses = [f"const i64 {name}" for name in parameters[len(spans) :]]
    counts = [
        f"{span.limit if fixed_count(span) is None else fixed_count(span)}LL" for span in spans
    ]
    inner = ", ".join(("blamed", *counts, *parameters[len(spans) :]))
    lines = [
        f"{head} full{call.number}({', '.join(('i64 *blamed', *addresses))})"
        f" {{ return call{call.number}({inner}); }}"
    ]
    if any(fixed_count(span) is None for span in spans):
        everything = [f"const i64 {name}" for name in parameters]
        lines.append(
            f"{head} any{call.number}({', '.join(('i64 *blamed', *everything))})"
            f" {{ return call{call.number}({', '.join(('blamed', *parameters))}); }}"
        )
    return lines


def _needs_check(bound: Bound, call: Call, region: Region) -> bool:
    """Can the region hold bytes that nothing has written (or computed, where that is wanted)? Not
    if it stays within one input placement."""
    if not region.is_read or call.instruction.only_computed:
        return region.is_read
    inputs = [(p.address, p.end) for p in bound.program.inputs]
    home = allowed_intervals(bound.allowed, call, region)
    is_external = region.memory == bound.hardware.external.name
    return not (is_external and len(home) == 1 and home[0] in inputs)


def _emit_function(
    bound: Bound,
    call: Call,
    number: int,
    shapes: Mapping[str, Mapping[str, tuple[int, ...]]],
) -> list[str]:
    """`call<n>(&blamed, spans, addresses)`: 0, or 1 + the number of a region with bytes that bear
    less than the least mark."""
    parameters = ", ".join(f"const i64 {name}" for name in _parameters(call))
    head = f"static inline __attribute__((always_inline)) int call{call.number}"
    lines = [f"{head}(i64 *blamed{', ' if parameters else ''}{parameters}) {{"]
    repeats = [
        (position, repeat)
        for position, repeat in enumerate(call.issue.repeats, len(call.issue.extents))
        if fixed_count(repeat.span) != 1
    ]
    for position, _ in repeats:
        lines.append(f"for (i64 r{position} = 0; r{position} < x{position}; r{position}++) {{")
    for operand in range(len(call.issue.operands)):
        steps = [f"r{at} * {repeat.strides_bytes[operand]}LL" for at, repeat in repeats]
        lines.append(f"const i64 p{operand} = {' + '.join([f'a{operand}', *steps])};")
        lines.append(f"(void)p{operand};")
    once = replace_repeats(call)
    arrays = shapes[call.instruction.name]
    for position, region in enumerate(once.regions):
        if _needs_check(bound, call, region):
            lines += _emit_check(bound, once, region, position)
        if region.is_read:
            lines += _emit_move(bound, once, region, number, arrays, is_gather=True)
            memory = bound.extent_number(region.memory)
            if _has_races(bound, memory):
                lines += _emit_granules(bound, once, region, f"sign(writer{memory} + g, n, 0);")
    extents = [f"x{[n for n, _ in call.spans].index(loop)}" for loop in _loops(call)]
    immediates = [_immediate(value) for _, value in call.issue.immediates]
    lines.append(f"exec{number}({', '.join(extents + immediates)});")
    for region in once.regions:
        if region.is_written:
            if may_race(bound, call, region):
                lines += _emit_race(bound, once, region, once.regions.index(region))
            lines += _emit_move(bound, once, region, number, arrays, is_gather=False)
            lines += _emit_signature(bound, once, region)
    return [*lines, "}" * len(repeats), "return 0; }"]


def _immediate(value: int | float) -> str:
    """The exact number in C."""
    return value.hex() if isinstance(value, float) else f"{value}LL"


def _loops(call: Call) -> tuple[str, ...]:
    return semantic_loops(call.instruction.semantics)


def replace_repeats(call: Call) -> Call:
    """The call with the regions of a single repeat."""
    return replace(call, regions=tuple(replace(region, repeats=()) for region in call.regions))


def _emit_check(bound: Bound, call: Call, region: Region, position: int) -> list[str]:
    memory = bound.extent_number(region.memory)
    granule = bound.extents[memory].granule_bytes
    least = int(least_mark(call.instruction))
    action = (
        f"if (UNLIKELY(least_mark(written{memory} + g, n) < {least})) {{"
        f" i64 i = g; while (written{memory}[i] >= {least}) i++;"
        f" *blamed = i * {granule}LL; return {position + 1}; }}"
    )
    return _emit_granules(bound, call, region, action)


def _emit_signature(bound: Bound, call: Call, region: Region) -> list[str]:
    """Remember how the bytes are written, and where it matters by whom."""
    memory = bound.extent_number(region.memory)
    action = f"memset(written{memory} + g, {int(mark_of(call.instruction))}, n);"
    if _has_races(bound, memory):
        me = f"{writer_number(bound, call, 0)} + core" if may_race(bound, call, region) else "0"
        action += f" sign(writer{memory} + g, n, {me});"
    return _emit_granules(bound, call, region, action)


def _emit_race(bound: Bound, call: Call, region: Region, position: int) -> list[str]:
    """Stop where another core has written the same bytes, and nobody has read them since."""
    memory = bound.extent_number(region.memory)
    granule = bound.extents[memory].granule_bytes
    me = f"{writer_number(bound, call, 0)} + core"
    found = f"raced(writer{memory} + g, n, {me}, {bound.hardware.num_cores})"
    action = (
        f"const i64 i = {found};"
        f" if (UNLIKELY(i >= 0)) {{ *blamed = (g + i) * {granule}LL; return {-position - 1}; }}"
    )
    return _emit_granules(bound, call, region, action)


def _emit_granules(bound: Bound, call: Call, region: Region, action: str) -> list[str]:
    """`action` for every gapless run, with its first granule `g` and number of granules `n`."""
    granule = bound.extent(region.memory).granule_bytes
    runs: Runs = region_runs(call, region)
    lines: list[str] = []
    offset = f"p{region.operand} + {region.start_bytes}LL{home(bound, region)}"
    for depth, (count, stride) in enumerate(runs.outer):
        lines.append(f"for (i64 y{depth} = 0; y{depth} < {count}; y{depth}++)")
        offset += f" + y{depth} * {stride}LL"
    lines.append(f"{{ const i64 g = (i64)((uint64_t)({offset}) / {granule});")
    lines.append(f"const i64 n = (i64)((uint64_t)({runs.run_bytes}) / {granule}); {action} }}")
    return over_copies(bound, call, region, bound.extent(region.memory).size_bytes, lines)


def _emit_move(
    bound: Bound,
    call: Call,
    region: Region,
    number: int,
    shapes: Mapping[str, tuple[int, ...]],
    is_gather: bool,
) -> list[str]:
    """Copy a region between its memory and its operand's dense array."""
    name = call.instruction.operands[region.operand].name
    buffer = call.instruction.semantics.buffer(name)
    steps = _array_steps(shapes[name])
    memory, item = bound.extent_number(region.memory), region.item_bytes
    far = f"p{region.operand} + {region.start_bytes}LL{home(bound, region)}"
    near = str(sum(first * step for first, step in zip(region.origin, steps)))
    dims = sorted(region.dims, key=lambda dim: -dim.stride_bytes)
    run = f"{item}LL"
    if dims and dims[-1].stride_bytes == item and dims[-1].step * steps[dims[-1].axis] == 1:
        run = f"{item}LL * {c_count(dims.pop(), call)}"
    lines: list[str] = []
    for depth, dim in enumerate(dims):
        lines.append(f"for (i64 y{depth} = 0; y{depth} < {c_count(dim, call)}; y{depth}++)")
        far += f" + y{depth} * {dim.stride_bytes}LL"
        near += f" + y{depth} * {_array_stride(dim, steps)}LL"
    array = f"m{number}_{name}"
    assert storage_type(buffer.dtype), "every operand has a C type"
    there, here = f"bytes{memory} + {far}", f"{array} + {near}"
    pair = f"{here}, {there}" if is_gather else f"{there}, {here}"
    lines.append(f"memcpy({pair}, {run});")
    return over_copies(bound, call, region, bound.extent(region.memory).size_bytes, lines)


def _array_steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Elements between neighbours along each dimension of a dense array."""
    steps: list[int] = []
    step = 1
    for size in reversed(shape):
        steps.insert(0, step)
        step *= size
    return tuple(steps)


def _array_stride(dim: Dim, steps: tuple[int, ...]) -> int:
    return dim.step * steps[dim.axis]
