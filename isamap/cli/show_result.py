"""The answer of `isamap map` on a terminal.

In: a Result. Out: printed sections. Not its job: computing any number but shares and gaps.
"""

from rich.console import Console
from rich.text import Text

from isamap.compile import Result
from isamap.hwdesc import MemoryKind
from isamap.ir import pretty
from isamap.scheduler import Status, used_bytes

from .show_alternatives import alternative_lines
from .show_mapping import operand_rows, packing_sentences, show_binding, show_outside
from .show_nest import nest_lines
from .show_verification import headline_word, show_verification
from .units import (
    align,
    show_bytes,
    show_count,
    show_cycles,
    show_frequency,
    show_seconds,
    show_share,
)

TITLE_WIDTH = 9


def print_result(result: Result, console: Console, num_alternatives: int) -> None:
    """All sections, the answer first."""
    print_section("answer", [_headline(result)], console)
    for title, lines in (
        ("kernel", pretty(result.kernel).splitlines()),
        ("mapping", mapping_lines(result)),
        ("loops", _nest_lines(result)),
        ("cycles", cycle_lines(result)),
        ("busy", busy_lines(result)),
        ("traffic", _traffic_lines(result)),
        ("memory", _memory_lines(result)),
        ("search", search_lines(result)),
        ("check", show_verification(result.verification)),
        ("others", alternative_lines(result, num_alternatives)),
    ):
        if lines:
            console.print()
            print_section(title, [Text(line) for line in lines], console)


def print_section(title: str, lines: list[Text], console: Console) -> None:
    """The title beside the first line, the other lines below it."""
    for number, line in enumerate(lines):
        head = Text(f"{title if number == 0 else '':<{TITLE_WIDTH}}", "bold")
        console.print(head.append(line), soft_wrap=True)


def _headline(result: Result) -> Text:
    """`gemm on gemmini: 28 926 576 cycles, 28.9 ms at 1 GHz, verified`."""
    hw = result.hardware
    cycles = result.timing.cycles if result.timing else result.schedule.estimate.cycles
    kind = "emulated" if result.timing else "estimated"
    seconds = show_seconds(cycles / hw.clock_hz)
    word, style = headline_word(result.verification)
    text = Text(
        f"{result.kernel.name} on {hw.name}: {show_cycles(cycles)} ({kind}), "
        f"{seconds} at {show_frequency(hw.clock_hz)}, "
    )
    return text.append(word, style)


def mapping_lines(result: Result) -> list[str]:
    """Instruction, binding, leftover loops; then a line per operand; then what must be packed."""
    covering = result.schedule.covering
    lines = [f"{covering.instruction}: {show_binding(covering)}"]
    outside = show_outside(covering)
    if outside:
        lines.append(f"loops around it: {outside}")
    lines += align(operand_rows(covering, result.hardware.external.name))
    return lines + packing_sentences(covering)


def _nest_lines(result: Result) -> list[str]:
    tiling = result.schedule.solution.tiling
    assert tiling is not None, "a schedule has a tiling"
    return nest_lines(result.schedule.covering, tiling)


def cycle_lines(result: Result) -> list[str]:
    """Emulated, analytical, proven bound with gap and status, roofline with what limits."""
    answer, timing, roof = result.answer, result.timing, result.roofline
    analytical = result.schedule.estimate.cycles
    rows: list[tuple[str, int, str]] = []
    if timing is not None:
        rows.append(("emulated", timing.cycles, "every call through queues, ports and hazards"))
    error = ""
    if timing is not None and timing.cycles:
        error = f", {100 * (analytical / timing.cycles - 1):+.1f} % against emulated"
    rows.append(("analytical", analytical, f"closed form, what the solver minimises{error}"))
    layouts = "natural layouts" if result.schedule.is_natural else "layouts no less natural"
    gap = show_share(1 - answer.bound_cycles / analytical)
    proof = "optimal" if answer.status is Status.OPTIMAL else "not proven optimal"
    rows.append(
        (
            "bound",
            answer.bound_cycles,
            f"proven under the analytical model among {layouts}: gap {gap}, {proof}",
        )
    )
    reached = timing.cycles if timing else analytical
    share = show_share(roof.cycles / reached) if reached else "-"
    rows.append(
        (
            "roofline",
            roof.cycles,
            f"no covering can be faster; {share} reached; limit: {roof.limit}",
        )
    )
    texts = [(name, f"{show_count(value)} cycles", note) for name, value, note in rows]
    return align(texts, right=(1,))


def busy_lines(result: Result) -> list[str]:
    """Where time goes: each unit's and port's busy share."""
    timing = result.timing
    if timing is None:
        return ["unknown: not emulated"]
    units = [f"{unit.unit} {show_share(unit.utilisation)}" for unit in timing.unit_busy]
    ports = [
        f"{port.memory}.{port.port} {show_share(port.busy_cycles / max(1, timing.cycles))}"
        for port in timing.ports
        if port.busy_cycles
    ]
    calls = [f"{show_count(count)} {name}" for name, count in timing.calls]
    lines = [f"units  {', '.join(units)}"]
    lines += [f"ports  {', '.join(ports)}"] if ports else []
    return [*lines, f"calls  {', '.join(calls)}"]


def _traffic_lines(result: Result) -> list[str]:
    if result.timing is None:
        return ["unknown: not emulated"]
    lines = align(
        [
            (x.memory, f"{show_bytes(x.read_bytes)} read", f"{show_bytes(x.written_bytes)} written")
            for x in result.timing.traffic
            if x.read_bytes or x.written_bytes
        ],
        right=(1, 2),
    )
    if result.timing.energy_pj:
        lines.append(f"energy {result.timing.energy_pj / 1e6:.4g} µJ")
    return lines


def _memory_lines(result: Result) -> list[str]:
    tiling = result.schedule.solution.tiling
    assert tiling is not None, "a schedule has a tiling"
    used = used_bytes(result.schedule.covering, tiling)
    managed = [m for m in result.hardware.memories if m.kind is MemoryKind.MANAGED]
    rows = []
    for memory in managed:
        size = used.get(memory.name, 0)
        share = show_share(size / memory.size_bytes)
        rows.append((memory.name, f"{show_bytes(size)} of {show_bytes(memory.size_bytes)}", share))
    return align(rows, right=(1, 2))


def search_lines(result: Result) -> list[str]:
    """How much was searched, and what packing would gain."""
    answer = result.answer
    count = f"{answer.num_coverings} covering{'s' if answer.num_coverings != 1 else ''}"
    end = "none left that could win" if answer.is_complete else "stopped by a limit"
    lines = [f"{count} looked at, {end}; {show_seconds(answer.seconds)}"]
    if answer.fastest is not None:
        faster = show_cycles(answer.fastest.estimate.cycles)
        lines.append(f"packing buffers would give {faster} (analytical): --layout packed")
    return lines
