"""Write a program as one C function.

In: a Program, its Hardware. Out: C text and header, with the loops of the listing.
Not its job: deciding, compiling, what lies in the arrays.

Memories with C types for their registers become variables, one per register and type, when all
their addresses can be made constant (`specialise`); otherwise, and for other managed memories, an
array of bytes. Program order is kept, so tokens need no code.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from textwrap import wrap

from isamap.errors import ProgramError
from isamap.hwdesc import CompilerRule, Hardware, MemoryKind, with_host_calls
from isamap.program import Edge, Program, Span, issues

from .arrays import declare_static, place_static, reached_bytes
from .blocks import find_blocks
from .calls import CallWriter, c_identifier
from .host_loops import host_functions
from .join_copies import join_copies
from .nodes import CCall, CHint, CIf, CLoop, CNode, CRegion, CShare, CTurn, count_calls
from .pack_loops import fill_lines, pack_function, pack_signature
from .parameters import Parameter, parameters_of
from .prefetch import add_prefetches
from .regions import CoreLoop, mark_regions
from .reserved import declared
from .specialise import NotStaticError, specialise
from .text import LEAST, span_text
from .toolchain import FLAGS, GCC_FLAGS, LIBRARIES, OPTIMISED

LINE_COLUMNS = 100
CORE = "isamap_core"  # number of the core that runs an iteration of a parallel loop
FIRST_CORE = "0"  # runs what no loop shares out
OF_CORES = "_of_cores"  # ends the name of what is kept for all cores, one after the other
THREAD_FLAGS = ("-fopenmp",)
UNROLLED = 4  # rounds of a loop that are compiled as one, on machines that gain by it

# GCC cannot see that cores which load a register are those which use it
SHARES = """\
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif"""


@dataclass(frozen=True, slots=True)
class CSource:
    """A C function: its file, its header, its name and its pointer parameters.

    `packers`: functions in the same file that bring an input into its parameter's layout, by the
    parameter's name. `num_threads`: how many it starts.
    """

    name: str
    text: str
    header: str
    parameters: tuple[Parameter, ...]
    packers: Mapping[str, str] = field(default_factory=dict)
    num_threads: int = 1

    @property
    def flags(self) -> tuple[str, ...]:
        """What the compiler needs beside the machine's flags."""
        return THREAD_FLAGS if self.num_threads > 1 else ()


def generate_c(program: Program, hw: Hardware, given: Collection[str] | None = None) -> CSource:
    """The program as a C function of one pointer per buffer, and a function per input in another
    layout that packs it.

    Args:
        given: buffers that the caller fills; None: all that the program reads. What else it reads
            begins as zeros, and the function sees to that.

    Loops spread over cores are shared out to threads, one per core.

    Raises:
        ProgramError: an instruction without `emit: c`, an address outside all buffers, or cores
            that would wait for each other.
    """
    hw = with_host_calls(hw, program.host_calls)
    used = {operand.memory for issue in issues(program.body) for operand in issue.operands}
    rule = (hw.compiler or CompilerRule()).using(used)
    hw = replace(hw, compiler=rule)
    named = frozenset(m.name for m in hw.memories if m.is_named and m.name in used)
    variables = named | frozenset(m.name for m in hw.memories if m.c_types)
    parameters = parameters_of(program, given)
    host = frozenset(call.name for call in program.host_calls)
    marked = mark_regions(program, hw, parameters)
    try:
        body = specialise(marked.body, variables, hw)
    except NotStaticError as error:
        if named:
            raise ProgramError(
                f"registers of {', '.join(sorted(named))} are named by number, and {error}",
                hint="ask for smaller sizes, or give the registers C types",
            ) from None
        variables = frozenset()
        body = specialise(marked.body, variables, hw)
    reached = reached_bytes(body, hw)
    calls = CallWriter(
        hw, parameters, variables, host, program.may_reassociate, reached, marked.kept
    )
    asking = add_prefetches(body, hw, sum(x.layout.size_bytes for x in program.placements))
    lines = _write_nodes(join_copies(asking, hw), calls, 1)
    name = declared(c_identifier(program.name))
    packers = _packers(name, parameters)
    text = _file_text(name, program, hw, calls, lines, rule)
    for parameter in parameters:
        text += "\n".join(["", *packers[parameter.name]]) if parameter.name in packers else ""
    names = {parameter: f"{name}_pack_{parameter}" for parameter in packers}
    header = _header_text(name, parameters, names)
    threads = hw.num_cores if calls.regions else 1
    return CSource(name, text, header, parameters, names, threads)


def _packers(name: str, parameters: tuple[Parameter, ...]) -> dict[str, list[str]]:
    """Functions that bring arrays into the layouts of inputs, by parameter."""
    found = {}
    for parameter in parameters:
        if parameter.is_read and not parameter.layout.is_natural:
            lines = pack_function(f"{name}_pack_{parameter.name}", parameter)
            if lines is not None:
                found[parameter.name] = lines
    return found


def _write_nodes(nodes: tuple[CNode, ...], calls: CallWriter, depth: int) -> list[str]:
    indent = "  " * depth
    lines: list[str] = []
    for node in nodes:
        match node:
            case CLoop():
                lines += _write_loop(node, calls, depth)
            case CIf(conditions, body):
                tests = " && ".join(_test_text(*condition) for condition in conditions)
                lines.append(f"{indent}if ({tests}) {{")
                lines += _write_nodes(body, calls, depth + 1)
                lines.append(f"{indent}}}")
            case CShare(name, stop, body):
                end = str(stop) if isinstance(stop, int) else span_text(stop)
                lines.append(f"{indent}if ({name} < {end}) {{")
                lines += _write_nodes(body, calls, depth + 1)
                lines.append(f"{indent}}}")
            case CRegion(body, loops):
                lines += _write_region(body, loops, calls.region(), depth)
            case CCall(issue):
                lines += [indent + line for line in calls.write(issue)]
            case CHint():
                lines += [indent + line for line in calls.hint(node)]
            case CTurn(name, period, first, body):
                lines.append(f"{indent}if ({name} % {period} == {first % period}) {{")
                lines += _write_nodes(body, calls, depth + 1)
                lines.append(f"{indent}}}")
    return lines


def _write_loop(loop: CLoop, calls: CallWriter, depth: int) -> list[str]:
    indent, name, rule = "  " * depth, loop.name, calls.hw.compiler
    end = str(loop.stop) if isinstance(loop.stop, int) else span_text(loop.stop)
    start = str(loop.first) if loop.begun_at is None else f"{loop.begun_at} == 0"
    blocks = find_blocks(loop)
    with calls.inside(loop) as begin:
        if blocks is None:
            inner = [f"{indent}  {line}" for line in begin]
            inner += _write_nodes(loop.body, calls, depth + 1)
            head = f"{indent}for (int64_t {name} = {start}; {name} < {end}; ++{name}) {{"
            return [*_unroll(loop, rule), head, *inner, f"{indent}}}"]
        lines = [f"{indent}for (int64_t {name} = {start}; {name} < {end};) {{"]
        lines += [f"{indent}  {line}" for line in begin]
        lines += _write_nodes(blocks.turns, calls, depth + 1)
        block = replace(loop, first=0, stop=blocks.period, body=blocks.body)
        end = f"{name} + {blocks.period}" + ("" if blocks.is_even else f" < {end} ? ")
        end += "" if blocks.is_even else f"{name} + {blocks.period} : {loop.stop}"
        lines += _unroll(block, rule) if blocks.is_even else []
        head = f"for (const int64_t {name}_end = {end}; {name} < {name}_end; ++{name}) {{"
        lines.append(f"{indent}  {head}")
        lines += [f"{indent}    {line}" for line in begin]
        lines += _write_nodes(blocks.body, calls, depth + 2)
    return [*lines, f"{indent}  }}", f"{indent}}}"]


def _unroll(loop: CLoop, rule: CompilerRule | None) -> list[str]:
    rounds = _unrolled_rounds(loop, rule)
    return [f"#pragma GCC unroll {rounds}"] if rounds > 1 else []


def _unrolled_rounds(loop: CLoop, rule: CompilerRule | None) -> int:
    """Rounds that are compiled as one, if the machine wants it: all of a loop of few calls, or as
    many as divide evenly, so that no code stands beside."""
    if rule is None or not rule.unrolled_calls or not isinstance(loop.stop, int):
        return 1
    if any(isinstance(node, CLoop | CIf | CShare | CRegion) for node in loop.body):
        return 1  # not an innermost one
    rounds, calls = loop.stop - loop.first, count_calls(loop.body)
    if rounds * calls <= rule.unrolled_calls:
        return rounds
    is_even = rounds % UNROLLED == 0
    return UNROLLED if is_even and UNROLLED * calls <= rule.unrolled_calls else 1


def _write_region(
    nodes: tuple[CNode, ...], loops: tuple[CoreLoop, ...], calls: CallWriter, depth: int
) -> list[str]:
    """A parallel loop over the cores, right on however many threads there are. The function's own
    thread is one of them: what stands around the work of each has ended there, and begins again."""
    indent, count = "  " * depth, calls.hw.num_cores
    rule = calls.hw.compiler or CompilerRule()
    lines = [f"for (int {CORE} = 0; {CORE} < {count}; ++{CORE}) {{"]
    for loop in loops:
        value = CORE if loop.step == 1 else f"{CORE} / {loop.step}"
        value += f" % {loop.modulo}" if loop.modulo * loop.step < count else ""
        lines.append(f"  const int64_t {loop.name} = {value};")
        if loop.modulo > loop.limit:
            lines.append(f"  if ({loop.name} >= {loop.limit}) continue;")
    body = _write_nodes(nodes, calls, depth + 1)
    begin = rule.begin.splitlines()
    lines += [*_declarations(calls, CORE), *(f"  {line}" for line in begin)]
    ends = [f"{indent}  {line}" for line in rule.end.splitlines()]
    pragma = f"#pragma omp parallel for num_threads({count}) schedule(static, 1)"
    again = [indent + line for line in begin]
    return [pragma, *(indent + line for line in lines), *body, *ends, f"{indent}}}", *again]


def _test_text(loop: str, edge: Edge, count: int | Span) -> str:
    if edge is not Edge.LAST:
        return f"{loop} == 0" if edge is Edge.FIRST else f"{loop} > 0"
    return f"{loop} == {count - 1 if isinstance(count, int) else span_text(count) + ' - 1'}"


def _file_text(
    name: str,
    program: Program,
    hw: Hardware,
    calls: CallWriter,
    body: list[str],
    rule: CompilerRule,
) -> str:
    clear = _clearing(calls.parameters)
    standard = ("math.h", "string.h") if program.host_calls else ("string.h",)
    lines = [f"/* {program.name} for {hw.name}, made by isamap: do not edit."]
    lines += _compile_with(rule, THREAD_FLAGS if calls.regions else ())
    lines += [
        f"#include <{header}>" for header in dict.fromkeys(("stdint.h", *standard, *rule.headers))
    ]
    lines += [f'#include "{name}.h"', ""]
    before = rule.preamble_for("\n".join([rule.begin, *body, rule.end]))
    lines += [*before, ""] if before else []
    if any("isamap_least(" in line for line in body):
        lines += LEAST.splitlines() + [""]
    lines += SHARES.splitlines() + [""] if calls.regions else []
    lines += host_functions(body) if program.host_calls else []
    static = filter(calls.is_static, calls.all_arrays)
    lines += declare_static({memory: calls.static_bytes(memory) for memory in static})
    lines += _signature(name, calls.parameters, " {")
    for memory in sorted(calls.kept):
        lines += (f"  {x}" for x in place_static(memory, calls.static_bytes(memory), OF_CORES))
    lines += _declarations(calls, FIRST_CORE)
    lines += [f"  {line}" for line in (*clear, *rule.begin.splitlines())]
    lines += body
    lines += [f"  {line}" for line in rule.end.splitlines()]
    return "\n".join([*lines, "}", ""])


def _compile_with(rule: CompilerRule, own: tuple[str, ...]) -> list[str]:
    """The end of a comment that says how; without some of these flags other numbers come out."""
    flags = " ".join([OPTIMISED, *FLAGS, *rule.flags, *own, *LIBRARIES])
    text = f"Compile with {flags} (GCC: {' '.join(GCC_FLAGS)} as well). */"
    indent = " " * 3
    return wrap(text, LINE_COLUMNS, initial_indent=indent, subsequent_indent=indent,
                break_on_hyphens=False)  # fmt: skip


def _clearing(parameters: tuple[Parameter, ...]) -> list[str]:
    """Statements that fill scratch buffers that begin with zeros.

    Raises:
        ProgramError: one lies in a way that has no such text.
    """
    lines = []
    for parameter in parameters:
        own = fill_lines(parameter) if parameter.is_cleared else []
        if own is None:
            raise ProgramError(f"{parameter.name} begins as zeros in a layout that C lacks")
        lines += own
    return lines


def _declarations(calls: CallWriter, core: str) -> list[str]:
    lines = []
    for memory in calls.arrays:
        row = calls.hw.memory(memory)
        assert row.kind is MemoryKind.MANAGED, "buffers are parameters"
        if memory in calls.kept:
            place = f"{core} * INT64_C({calls.array_bytes[memory]})"
            lines.append(f"  uint8_t *const {memory} = {memory}{OF_CORES} + {place};")
        elif not calls.is_static(memory):
            lines.append(f"  _Alignas(64) uint8_t {memory}[{row.size_bytes}];")
    for c_type, names in calls.variables_by_type.items():
        line = f"  {c_type}"
        for name in names:
            if len(line) + len(name) + 2 > LINE_COLUMNS:
                lines.append(line.rstrip(",") + ";")
                line = f"  {c_type}"
            line += f" {name},"
        lines.append(line.rstrip(",") + ";")
    for memory in calls.arrays:
        if calls.is_static(memory) and memory not in calls.kept:
            lines += (f"  {line}" for line in place_static(memory, calls.array_bytes[memory]))
    return lines


def _signature(name: str, parameters: tuple[Parameter, ...], end: str) -> list[str]:
    head = f"void {name}("
    rows = [f"{p.c_type} *restrict {p.name}" for p in parameters]
    line = head + ", ".join(rows) + ")" + end
    if len(line) <= LINE_COLUMNS:
        return [line]
    return [head, *(f"    {row}," for row in rows[:-1]), f"    {rows[-1]}){end}"]


def _header_text(name: str, parameters: tuple[Parameter, ...], packers: Mapping[str, str]) -> str:
    guard = f"ISAMAP_{name.upper()}_H"
    lines = [f"#ifndef {guard}", f"#define {guard}", "#include <stdint.h>", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#define restrict", "#endif", ""]
    lines.append("/* Arrays do not overlap.")
    for p in parameters:
        way = " and ".join(
            word for word, holds in (("in", p.is_read), ("out", p.is_written)) if holds
        )
        layout = p.layout
        order = "row-major" if layout.is_natural else "packed"
        what = f"{layout.dtype}[{', '.join(map(str, layout.shape))}], {order}"
        lines.append(f"   {p.name}: {way or 'scratch'}, {what}, {layout.size_bytes} bytes")
    lines[-1] += " */"
    lines += [*_signature(name, parameters, ";"), ""]
    for p in parameters:
        if p.name in packers:
            lines += [f"/* Packs {p.name}, once for as many calls as it stays the same. */"]
            lines += [f"{pack_signature(packers[p.name])};", ""]
    lines += ["#ifdef __cplusplus", "#undef restrict", "}", "#endif", f"#endif /* {guard} */", ""]
    return "\n".join(lines)
