"""The answer of `isamap map` on a terminal.

In: a Result. Out: printed sections. Not its job: computing any number but shares and gaps.
"""

from rich.console import Console
from rich.text import Text

from isamap.compile import Request, Result
from isamap.costmodels import ANALYTICAL
from isamap.hwdesc import Hardware, MemoryKind, show_bytes
from isamap.ir import pretty
from isamap.scheduler import Schedule, Status, used_bytes

from .show_aim import aim_lines
from .show_alternatives import alternative_lines
from .show_bounds import bound_lines
from .show_cores import core_lines
from .show_mapping import operand_rows, packing_sentences, show_binding, show_outside
from .show_measured import measured_lines, section_title
from .show_nest import nest_lines
from .show_timing import busy_lines, error_note, headline, traffic_lines
from .show_verification import show_verification
from .units import align, show_count, show_cycles, show_seconds, show_share

TITLE_WIDTH = 9
FAR_BELOW, FAR_ABOVE = 0.85, 1.15  # times what is emulated


Sections = list[tuple[str, list[str]]]


def print_result(result: Result, console: Console, num_alternatives: int) -> None:
    """All sections, the answer first."""
    estimated = result.schedule.estimate.cycles
    check = result.verification
    first = headline(result.kernel.name, result.hardware, result.timing, estimated, check)
    print_sections(first, result_sections(result, num_alternatives), console)


def result_sections(result: Result, num_alternatives: int) -> Sections:
    """Titles and lines of all sections but the answer; some have no lines."""
    return [
        ("kernel", pretty(result.kernel).splitlines()),
        ("mapping", mapping_lines(result)),
        ("cores", core_lines(result.schedule.covering, result.hardware)),
        ("loops", tiling_lines(result)),
        ("aim", _aim_lines(result)),
        ("cycles", cycle_lines(result)),
        (section_title(result.request.cost), compared_lines(result)),
        ("bounds", bound_lines(result)),
        ("busy", busy_lines(result.timing)),
        ("traffic", traffic_lines(result.timing)),
        ("memory", align(memory_rows(result.schedule, result.hardware), right=(1, 2))),
        ("search", search_lines(result)),
        ("check", show_verification(result.verification)),
        ("others", alternative_lines(result, num_alternatives)),
    ]


def print_sections(first: Text, sections: Sections, console: Console) -> None:
    """The answer, then every section that has lines."""
    print_section("answer", [first], console)
    for title, lines in sections:
        if lines:
            console.print()
            print_section(title, [Text(line) for line in lines], console)


def print_section(title: str, lines: list[Text], console: Console) -> None:
    """The title beside the first line, the other lines below it."""
    for number, line in enumerate(lines):
        head = Text(f"{title if number == 0 else '':<{TITLE_WIDTH}}", "bold")
        console.print(head.append(line), soft_wrap=True)


def mapping_lines(result: Result) -> list[str]:
    """Instruction, binding, leftover loops; then a line per operand; then what must be packed."""
    covering = result.schedule.covering
    lines = [f"{covering.instruction}: {show_binding(covering)}"]
    outside = show_outside(covering)
    if outside:
        lines.append(f"loops around it: {outside}")
    lines += align(operand_rows(covering, result.hardware.external.name))
    return lines + packing_sentences(covering)


def tiling_lines(result: Result) -> list[str]:
    """The loop nest of the schedule."""
    return nest_lines(result.schedule.covering, result.schedule.tiling)


def compared_lines(result: Result) -> list[str]:
    """What a cost model said of several candidates."""
    cost, clock_hz = result.request.cost, result.hardware.clock_hz
    return measured_lines(result.answer.contenders, clock_hz, cost)


def _aim_lines(result: Result) -> list[str]:
    answer = result.answer
    costs = answer.best.estimate.costs(result.hardware)
    return aim_lines(answer.aim, costs, answer.bound, answer.status)


def _advice(result: Result) -> str:
    """What to ask for where the closed form is far from what the emulator counts: it may have taken
    others to be slower. Empty where another model chose, or caches decide."""
    timing, chosen = result.timing, result.schedule.estimate.cycles
    if timing is None or result.hardware.caches:
        return ""
    if FAR_BELOW * timing.cycles <= chosen <= FAR_ABOVE * timing.cycles:
        return ""
    ways = {ANALYTICAL.name: ": try --cost emulated --candidates 8"}
    if not result.answer.contenders:
        ways["emulated"] = ": try --candidates 8"
    return ways.get(result.request.cost, "")


def cycle_lines(result: Result) -> list[str]:
    """Emulated, analytical, proven bound with gap and status, roofline with what limits."""
    answer, timing, roof = result.answer, result.timing, result.roofline
    analytical = result.schedule.estimate.cycles
    rows: list[tuple[str, int, str]] = []
    if timing is not None:
        rows.append(("emulated", timing.cycles, "every call through queues, ports and hazards"))
    error = error_note(analytical, timing) + _advice(result)
    is_fastest = answer.aim.is_fastest
    what = "closed form, what the solver minimises" if is_fastest else "closed form"
    rows.append(("analytical", analytical, f"{what}{error}"))
    if result.request.cost != ANALYTICAL.name and not answer.contenders:
        note = "the cost model that chose among coverings"
        rows.append((result.request.cost, result.schedule.cost_cycles, note))
    layouts = "natural layouts" if result.schedule.is_natural else "layouts no less natural"
    gap = show_share(1 - answer.bound_cycles / analytical)
    proof = "optimal" if answer.status is Status.OPTIMAL else "not proven optimal"
    proof += ", interrupted" if result.is_interrupted else ""
    if is_fastest:
        note = f"proven under the analytical model among {layouts}: gap {gap}, {proof}"
        rows.append(("bound", answer.bound_cycles, note))
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


def memory_rows(
    schedule: Schedule, hw: Hardware, *, only_used: bool = False
) -> list[tuple[str, str, str]]:
    """Per managed memory: name, bytes used of its size, share."""
    used = used_bytes(schedule.covering, schedule.tiling)
    managed = [m for m in hw.memories if m.kind is MemoryKind.MANAGED]
    rows = []
    for memory in managed:
        size = used.get(memory.name, 0)
        if only_used and not size:
            continue
        share = show_share(size / memory.size_bytes)
        rows.append((memory.name, f"{show_bytes(size)} of {show_bytes(memory.size_bytes)}", share))
    return rows


def limit_lines(request: Request, seconds: float) -> list[str]:
    """That the time limit ended the search, if it did."""
    limit_s = request.time_limit_s
    if request.effort is not None or seconds < limit_s:
        return []
    limit = f"the time limit of {show_seconds(limit_s)} ended it"
    return [f"{limit}: a busy computer finds less; --effort N finds the same on any"]


def search_lines(result: Result) -> list[str]:
    """How much was searched, and what packing would gain."""
    answer = result.answer
    count = f"{answer.num_coverings} covering{'s' if answer.num_coverings != 1 else ''}"
    end = "none left that could win" if answer.is_complete else "stopped by a limit"
    end = "interrupted" if result.is_interrupted else end
    lines = [f"{count} looked at, {end}; {show_seconds(answer.seconds)}"]
    lines += limit_lines(result.request, answer.seconds)
    if answer.fastest is not None:
        faster = show_cycles(answer.fastest.estimate.cycles)
        lines.append(f"packing buffers would give {faster} (analytical): --layout packed")
    return lines
