"""Tasks of a plan with other tilings.

In: tasks as they are planned, a tiling. Out: the same tasks, one of them with that tiling. Not its
job: which tilings are tried (`fetch_ahead`, `reorder`), the best one of a task by itself.
"""

from collections.abc import Mapping
from dataclasses import replace

from isamap.costmodels import Tiling, estimate
from isamap.hwdesc import Hardware
from isamap.scheduler import is_legal, lower

from .place_tasks import PlacedTasks, TaskTree
from .plan import PlannedTask
from .share_chip import share_chip

Planned = Mapping[int, PlannedTask]


def cycles_of(tree: TaskTree, planned: Planned) -> int:
    """Of all tasks, without what is laid out anew in between."""
    return tree.line.cycles({number: (task,) for number, task in planned.items()})


def retiled(tree: TaskTree, planned: Planned, old: PlannedTask, tiling: Tiling) -> Planned | None:
    """The tasks, one of them with another tiling, its program not made yet; None where that is not
    legal, moves more from or to the external memory, or does not fit beside the others."""
    new = _with_tiling(old, tiling, tree.hw)
    if new is None or new.costs(tree.hw).dram_bytes > old.costs(tree.hw).dram_bytes:
        return None
    found = {**planned, old.task.number: new}
    pieces = {number: task.piece for number, task in found.items()}
    return None if share_chip(tree.nodes, pieces, tree.hw).crowded else found


def put_retiled(tree: TaskTree, placed: PlacedTasks, now: Planned) -> PlacedTasks:
    """The tasks as they run now, with programs of their tilings."""
    before = {task.task.number: task for task in placed.tasks}
    changed = {n: _lowered(task, tree.hw) for n, task in now.items() if task is not before[n]}
    return replace(tree.put(before | changed), cut=placed.cut) if changed else placed


def _with_tiling(old: PlannedTask, tiling: Tiling, hw: Hardware) -> PlannedTask | None:
    schedule = old.best
    if old.answer is None or not is_legal(schedule.covering, tiling, hw):
        return None
    found = estimate(schedule.covering, schedule.work, tiling, hw)
    solution = replace(schedule.solution, tiling=tiling)
    best = replace(schedule, solution=solution, estimate=found)
    return replace(old, answer=replace(old.answer, best=best), cycles=found.cycles)


def _lowered(planned: PlannedTask, hw: Hardware) -> PlannedTask:
    """The task with the program of its tiling."""
    assert planned.answer is not None, "only schedules have tilings"
    program = lower(planned.best.covering, planned.best.tiling, hw)
    assert program is not None, "a legal tiling has a place"
    best = replace(planned.best, program=program)
    return replace(planned, answer=replace(planned.answer, best=best))
