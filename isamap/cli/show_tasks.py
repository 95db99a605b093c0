"""The tasks of a plan as text: what runs where, for how long, in which room.

In: a plan. Out: lines of text. Not its job: totals, the rest of the answer (`show_plan`).
"""

from collections.abc import Mapping

from isamap.hwdesc import Hardware
from isamap.ir import pretty_statement
from isamap.mapper import Task, TaskNode
from isamap.planner import Plan, PlannedTask
from isamap.scheduler import Schedule

from .show_cores import show_split
from .show_mapping import packing_sentences, show_binding, show_outside
from .show_measured import measured_lines
from .show_nest import nest_lines
from .show_result import memory_rows
from .units import align, show_count, show_share

INDENT = "  "
MAX_NOTE = 140
Row = tuple[str, str, str, str, str]  # number, cycles, share, who, what


def task_lines(plan: Plan, hw: Hardware) -> list[str]:
    """A table of the tasks under the loops they share: number, cycles, share of the sum, who runs
    it, statement; below it the binding, or why no instruction runs it."""
    planned = {p.task.number: p for p in plan.tasks}
    rows: list[Row] = [("task", "cycles", "share", "on", "statement")]
    total = sum(task.cycles for task in plan.tasks) + plan.repack_cycles
    rows += _rows(plan.nodes, planned, max(1, total), hw, 0)
    return align(rows, right=(0, 1, 2))


def _rows(
    nodes: tuple[TaskNode, ...],
    planned: Mapping[int, PlannedTask],
    total_cycles: int,
    hw: Hardware,
    depth: int,
) -> list[Row]:
    rows: list[Row] = []
    for node in nodes:
        if isinstance(node, Task):
            rows += _task_rows(planned[node.number], total_cycles, hw, depth)
        else:
            head = f"for {node.loop.name} ({node.loop.extent}, one at a time):"
            rows.append(("", "", "", "", INDENT * depth + head))
            rows += _rows(node.body, planned, total_cycles, hw, depth + 1)
    return rows


def _task_rows(task: PlannedTask, total_cycles: int, hw: Hardware, depth: int) -> list[Row]:
    schedule = used_schedule(task)
    who = schedule.covering.instruction if schedule else "host"
    share = show_share(task.cycles / total_cycles)
    first, *others = [INDENT * depth + pretty_statement(s) for s in task.task.statements]
    notes = _schedule_notes(schedule) if schedule else [_shortened(why_on_host(task, hw))]
    return [
        (task_name(task), show_count(task.cycles), share, who, first),
        *(("", "", "", "", other) for other in others),
        *(("", "", "", "", INDENT * (depth + 2) + note) for note in notes),
    ]


def _shortened(text: str) -> str:
    """One line of a table: the end of a long expression is in `--explain`."""
    return text if len(text) <= MAX_NOTE else text[: MAX_NOTE - 1] + "…"


def task_name(task: PlannedTask) -> str:
    """`3`, or `2-4` of a task that stands for several: `2, 4` where they are no neighbours."""
    numbers = [part.number for part in task.task.parts] or [task.task.number]
    is_run = len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
    return f"{numbers[0]}-{numbers[-1]}" if is_run else ", ".join(map(str, numbers))


def _schedule_notes(schedule: Schedule) -> list[str]:
    covering = schedule.covering
    outside = show_outside(covering, covering.held)
    around = f"; loops around it: {outside}" if outside else ""
    cores = f" on {show_split(covering)}" if covering.shares else ""
    return [show_binding(covering) + cores + around, *packing_sentences(covering)]


def used_schedule(task: PlannedTask) -> Schedule | None:
    """The schedule that runs the task; None on the host."""
    return None if task.on_host or task.answer is None else task.answer.best


def why_on_host(task: PlannedTask, hw: Hardware) -> str:
    """One line: the accelerator's nearest miss, or that it would take longer, by itself or with
    what waits for it and is laid out anew."""
    if task.answer is None:
        return f"not on {hw.name}: {task.reason}"
    best = task.answer.best
    cycles = show_count(best.estimate.cycles)
    alone = f"{best.covering.instruction} would take {cycles} cycles"
    if best.estimate.cycles < task.cycles:
        return f"better with what is around it: by itself {alone}"
    return f"the host is faster: {alone}"


def nests_lines(plan: Plan) -> list[str]:
    """The loop nest of every scheduled task."""
    lines: list[str] = []
    for task in plan.tasks:
        schedule = used_schedule(task)
        if schedule is not None:
            lines.append(f"task {task_name(task)}:")
            lines += [INDENT + line for line in nest_lines(schedule.covering, schedule.tiling)]
    return lines


def compared_lines(plan: Plan, hw: Hardware, cost: str) -> list[str]:
    """Per task whose schedules a cost model compared, who won and a line per candidate."""
    lines: list[str] = []
    for task in plan.tasks:
        if not task.on_host and task.answer is not None and task.answer.contenders:
            lines.append(f"task {task_name(task)}:")
            found = measured_lines(task.answer.contenders, hw.clock_hz, cost)
            lines += [INDENT + line for line in found]
    return lines


def memory_lines(plan: Plan, hw: Hardware) -> list[str]:
    """Per scheduled task what it takes of the managed memories that it uses."""
    rows = []
    for task in plan.tasks:
        schedule = used_schedule(task)
        if schedule is not None:
            title = f"task {task_name(task)}"
            for row in memory_rows(schedule, hw, only_used=True):
                rows.append((title, *row))
                title = ""
    return align(rows, right=(2, 3))
