"""The answer of `isamap map` for a kernel of several tasks.

In: a PlanResult. Out: printed sections. Not its job: tasks (`show_tasks`), any number but sums,
shares and gaps.
"""

from rich.console import Console

from isamap.compile import PlanResult
from isamap.ir import pretty
from isamap.mapper import show_layout_kind
from isamap.planner import Handover, Plan, Repack, handovers, repacks
from isamap.rewrites import REWRITES
from isamap.scheduler import Status

from .show_aim import aim_lines
from .show_measured import section_title
from .show_result import Sections, limit_lines, print_sections
from .show_tasks import compared_lines, memory_lines, nests_lines, task_lines
from .show_timing import busy_lines, error_note, headline, traffic_lines
from .show_verification import show_verification
from .units import align, show_count, show_cycles, show_seconds, show_share


def print_plan(result: PlanResult, console: Console) -> None:
    """All sections, the answer first."""
    check = result.verification
    first = headline(result.kernel.name, result.hardware, result.timing, result.plan.cycles, check)
    print_sections(first, plan_sections(result), console)


def plan_sections(result: PlanResult) -> Sections:
    """Titles and lines of all sections but the answer; some have no lines."""
    moved = repacks(result.plan.program, result.hardware)
    return [
        ("kernel", pretty(result.kernel).splitlines()),
        ("rewrites", rewrite_lines(result.plan)),
        ("tasks", task_lines(result.plan, result.hardware)),
        ("loops", nests_lines(result.plan)),
        ("passing", passing_lines(handovers(result.plan), moved)),
        ("aim", aim_lines(result.plan.aim, result.plan.costs, None, result.plan.status)),
        ("cycles", cycle_lines(result)),
        (
            section_title(result.request.cost),
            compared_lines(result.plan, result.hardware, result.request.cost),
        ),
        ("busy", busy_lines(result.timing)),
        ("traffic", traffic_lines(result.timing)),
        ("memory", memory_lines(result.plan, result.hardware)),
        ("search", search_lines(result)),
        ("check", show_verification(result.verification)),
    ]


def rewrite_lines(plan: Plan) -> list[str]:
    """Every rewrite with its law, then the kernel that came of them; nothing without any."""
    if not plan.steps:
        return []
    laws = {rewrite.name: rewrite.law for rewrite in REWRITES}
    lines = align([(str(step), f"by {laws[step.rewrite]}") for step in plan.steps])
    return [*lines, "which gives", *pretty(plan.kernel).splitlines()]


def passing_lines(passed: tuple[Handover, ...], moved: tuple[Repack, ...]) -> list[str]:
    """Per shared buffer who writes and who reads it and how it lies; then what the host copies."""
    lines = align(
        [
            (row.buffer, f"from {_numbers(row.writers)}", f"to {_numbers(row.readers)}", _lies(row))
            for row in passed
        ]
    )
    return lines + align(
        [
            (
                f"the host lays out {row.buffer} anew:",
                f"{show_layout_kind(row.source)} -> {show_layout_kind(row.target)},",
                f"{show_count(row.num_calls)} {'calls' if row.num_calls > 1 else 'call'},",
                show_cycles(row.cycles),
            )
            for row in moved
        ],
        right=(2, 3),
    )


def _numbers(tasks: tuple[int, ...]) -> str:
    """`tasks 1, 4`."""
    if not tasks:
        return "nobody"
    return f"task{'s' if len(tasks) > 1 else ''} {', '.join(map(str, tasks))}"


def _lies(row: Handover) -> str:
    where = f" in {row.home}" if row.home else ""
    return f"lies {show_layout_kind(row.layout)}{where}"


def cycle_lines(result: PlanResult) -> list[str]:
    """Emulated, the closed form, the bound with what limits."""
    plan, timing = result.plan, result.timing
    rows: list[tuple[str, int, str]] = []
    if timing is not None:
        rows.append(("emulated", timing.cycles, "every call through queues, ports and hazards"))
    moved = plan.repack_cycles
    what = f"tasks and repacks ({show_cycles(moved)})" if moved else "tasks"
    note = f"{what} as early as units and data allow, closed form{error_note(plan.cycles, timing)}"
    rows.append(("analytical", plan.cycles, note))
    reached = timing.cycles if timing else plan.cycles
    share = show_share(plan.bound_cycles / reached) if reached else "-"
    note = f"no program with these tasks on these units is faster; {share} reached"
    note += f"; limit: {plan.bound_limit}"
    rows.append(("bound", plan.bound_cycles, note))
    return align([(n, f"{show_count(value)} cycles", text) for n, value, text in rows], right=(1,))


def search_lines(result: PlanResult) -> list[str]:
    """How many forms and coverings were looked at, and what was not."""
    plan = result.plan
    answers = [p.answer for p in plan.tasks if p.answer is not None]
    count = sum(answer.num_coverings for answer in answers)
    is_complete = all(answer.is_complete for answer in answers)
    end = "none left that could win" if is_complete else "stopped by a limit"
    end = "interrupted" if result.is_interrupted else end
    word = "each task optimal" if plan.status is Status.OPTIMAL else "not all proven optimal"
    forms = f"{plan.num_forms} form{'s' if plan.num_forms != 1 else ''} of the kernel listed"
    found = f"{show_count(count)} covering{'s' if count != 1 else ''} looked at, {end}; {word}"
    found += " under the analytical model"
    if not answers:
        found = "no instruction computes any task"
    counted = "" if result.request.effort is None else " of effort"
    return [
        f"{found}; {show_seconds(plan.seconds)}{counted}",
        f"{forms}; {plan.cut}" if plan.cut else forms,
        *limit_lines(result.request, plan.seconds),
    ]
