"""What a page says of an answer beside its trace.

In: a Result or a PlanResult, its Trace; or a Trace alone. Out: a Page. Not its job: HTML
(`report`), files.
"""

from isamap import __version__
from isamap.compile import PlanResult, Result
from isamap.costmodels import find_bounds, pretty_energy
from isamap.emulator import Timing, Trace
from isamap.hwdesc import Hardware, count_applied, show_bytes
from isamap.program import listing
from isamap.report import Bar, Fact, Page, Section, find_roofs
from isamap.scheduler import Status, used_bytes

from .show_plan import plan_sections
from .show_result import Sections, result_sections
from .show_tasks import task_name
from .show_timing import busy_lines, traffic_lines
from .show_verification import headline_word
from .units import show_count, show_cycles, show_frequency, show_seconds, show_share

NUM_OTHERS = 5  # alternatives that are listed
ALONE = "Cycles that each takes by itself: no schedule of this mapping is faster than the longest."


def page_of_result(result: Result, trace: Trace) -> Page:
    """Of a kernel of one task."""
    answer, timing, roof = result.answer, trace.timing, result.roofline
    bounds = find_bounds(result.schedule.covering, result.schedule.work, result.hardware)
    gap = show_share(1 - answer.bound_cycles / result.schedule.estimate.cycles)
    proof = "optimal" if answer.status is Status.OPTIMAL else "not proven optimal"
    facts = [
        *_time_facts(timing, result.hardware),
        Fact("proven bound", show_cycles(answer.bound_cycles), f"closed form; gap {gap}, {proof}"),
        Fact("of the roofline", show_share(roof.cycles / max(1, timing.cycles)), roof.limit),
        *_work_facts(timing, result.hardware),
        _check_fact(result),
    ]
    return Page(
        f"{result.kernel.name} on {result.hardware.name}",
        _subtitle(result),
        tuple(facts),
        tuple(Bar(row.name, row.cycles, row.reason) for row in bounds if row.cycles),
        ALONE,
        find_roofs(trace, count_applied(result.kernel), roof.read_bytes + roof.written_bytes),
        _sections(result_sections(result, NUM_OTHERS)),
        listing(result.program),
        tuple(used_bytes(result.schedule.covering, result.schedule.tiling).items()),
        (),
        f"isamap {__version__}",
    )


def page_of_plan(result: PlanResult, trace: Trace) -> Page:
    """Of a kernel of several tasks."""
    plan, timing = result.plan, trace.timing
    share = show_share(plan.bound_cycles / max(1, timing.cycles))
    bars = [
        Bar(f"bound: {plan.bound_limit}", plan.bound_cycles, "no order of these tasks is faster")
    ]
    for task in plan.tasks:
        who = "the host" if task.on_host else task.best.covering.instruction
        bars.append(Bar(f"task {task_name(task)}, {who}", task.cycles, "alone, closed form"))
    facts = [
        *_time_facts(timing, result.hardware),
        Fact(
            "bound of these tasks", show_cycles(plan.bound_cycles), f"{share}, {plan.bound_limit}"
        ),
        Fact("tasks", show_count(len(plan.tasks)), _hosted(result)),
        *_work_facts(timing, result.hardware),
        _check_fact(result),
    ]
    return Page(
        f"{result.kernel.name} on {result.hardware.name}",
        _subtitle(result),
        tuple(facts),
        tuple(bars),
        "The bound, and what each task takes alone (closed form); tasks overlap.",
        find_roofs(trace, count_applied(result.kernel), None),
        _sections(plan_sections(result)),
        listing(result.program),
        (),
        tuple(task_names(result).items()),
        f"isamap {__version__}",
    )


def page_of_program(trace: Trace) -> Page:
    """Of a program of which nothing else is known."""
    timing, hw = trace.timing, trace.hardware
    return Page(
        f"{trace.program.name} on {hw.name}",
        "a program, timed",
        (*_time_facts(timing, hw), *_work_facts(timing, hw)),
        (),
        "",
        None,
        _sections([("busy", busy_lines(timing)), ("traffic", traffic_lines(timing))]),
        listing(trace.program),
        (),
        (),
        f"isamap {__version__}",
    )


def task_names(result: Result | PlanResult) -> dict[int, str]:
    """`0-1`, by the number of the task that stands for these."""
    if isinstance(result, Result):
        return {}
    return {planned.task.number: task_name(planned) for planned in result.plan.tasks}


def _hosted(result: PlanResult) -> str:
    count = sum(task.on_host for task in result.plan.tasks)
    return f"{count} on the host" if count else ""


def _subtitle(result: Result | PlanResult) -> str:
    """The sizes."""
    sizes = ", ".join(f"{name} = {size}" for name, size in result.request.sizes)
    clock = show_frequency(result.hardware.clock_hz)
    return f"{sizes}; clock {clock}" if sizes else f"clock {clock}"


def _time_facts(timing: Timing, hw: Hardware) -> list[Fact]:
    clock = show_frequency(hw.clock_hz)
    return [
        Fact("emulated", show_cycles(timing.cycles), "every call, port and hazard"),
        Fact("time", show_seconds(timing.cycles / hw.clock_hz), f"at {clock}"),
    ]


def _work_facts(timing: Timing, hw: Hardware) -> list[Fact]:
    """The busiest unit, external traffic, energy where the machine says what it takes."""
    facts = []
    if timing.unit_busy:
        busiest = max(timing.unit_busy, key=lambda unit: unit.utilisation)
        facts.append(Fact("busiest unit", show_share(busiest.utilisation), busiest.unit))
    moved = timing.moved(hw.external.name)
    read, written = show_bytes(moved.read_bytes), show_bytes(moved.written_bytes)
    total = show_bytes(moved.read_bytes + moved.written_bytes)
    facts.append(Fact(f"{hw.external.name} traffic", total, f"{read} read, {written} written"))
    if timing.energy_pj:
        facts.append(Fact("energy", pretty_energy(timing.energy_pj)))
    return facts


def _check_fact(result: Result | PlanResult) -> Fact:
    return Fact("check", headline_word(result.verification)[0])


def _sections(sections: Sections) -> tuple[Section, ...]:
    return tuple(Section(title, tuple(lines)) for title, lines in sections if lines)
