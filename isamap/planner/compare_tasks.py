"""Let a cost model that compares candidates choose each task's schedule in a finished plan.

In: the closed form's plan, wishes with such a model. Out: the plan with the tasks' schedules that
the model likes best. Not its job: which tasks there are, which of them the host runs; the model.

Plans are made by the closed form: a look at a candidate may take seconds, and what was compared for
plans that lose would be lost, too. A task that finds buffers on chip has no program by itself; the
closed form's choice stays there.
"""

from dataclasses import replace
from math import inf

from isamap.costmodels import share_time
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.mapper import cut_tasks, flatten
from isamap.scheduler import Answer, Status, Wishes

from .bound_plan import bound_plan
from .find_plan import task_scheduler
from .place_tasks import PlacedTasks, TaskTree
from .plan import Plan, PlannedTask
from .schedule_tasks import Known
from .share_chip import share_chip


def compare_tasks(plan: Plan, hw: Hardware, wishes: Wishes) -> Plan:
    """The plan with schedules of the cost model's choice; each task's search has a share of the
    wishes' time, to which the model's own does not count."""
    parts = tuple(flatten(cut_tasks(plan.kernel)))
    tasks = {planned.task.number: planned for planned in plan.tasks}
    compared = [n for n, old in tasks.items() if not (old.on_host or old.piece.homes)]
    wishes = replace(wishes, cost=share_time(wishes.cost, len(compared)))
    scheduler = replace(task_scheduler(parts, hw, wishes, Known()), deadline=inf)
    tree = TaskTree(plan.kernel, plan.nodes, hw)
    best: PlacedTasks | None = None
    for number in compared:
        if wishes.watch.is_stopped:
            break
        old = tasks[number]
        found = scheduler.find(old.task)
        if isinstance(found, Answer):
            changed = {**tasks, number: PlannedTask.scheduled(old.task, found)}
            placed = _placed(tree, changed)
            best, tasks = (best, tasks) if placed is None else (placed, changed)
    return plan if best is None else _with_tasks(plan, best, hw)


def _placed(tree: TaskTree, tasks: dict[int, PlannedTask]) -> PlacedTasks | None:
    """The tasks as they are to run; None where they do not fit on chip side by side."""
    pieces = {number: task.piece for number, task in tasks.items()}
    try:
        return None if share_chip(tree.nodes, pieces, tree.hw).crowded else tree.put(tasks)
    except MappingError:
        return None


def _with_tasks(plan: Plan, placed: PlacedTasks, hw: Hardware) -> Plan:
    bound, limit = bound_plan(plan.kernel, placed.tasks, hw)
    return replace(
        plan,
        tasks=placed.tasks,
        program=placed.program,
        cycles=placed.cycles,
        repack_cycles=placed.repack_cycles,
        bound_cycles=bound,
        bound_limit=limit,
        status=Status.FEASIBLE,
        costs=placed.costs(hw),
    )
