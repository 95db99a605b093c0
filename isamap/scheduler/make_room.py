"""Give tasks under a held loop less room where they do not fit on chip side by side.

In: the tree of tasks, how each of them runs by itself. Out: schedules that fit side by side. Not
its job: laying them out (`share_chip`).
"""

from dataclasses import replace

from isamap.errors import MappingError
from isamap.mapper import Task, TaskNode, flatten

from .plan import PlannedTask
from .schedule import Answer
from .schedule_tasks import TaskScheduler
from .share_chip import share_chip


def make_room(
    nodes: tuple[TaskNode, ...], planned: dict[int, PlannedTask], scheduler: TaskScheduler
) -> None:
    """Where tasks under a held loop do not fit on chip side by side, let the largest that keep data
    over it fetch them again in every iteration; `planned` changes."""
    while crowded := _crowded(nodes, planned, scheduler):
        for number in crowded:
            old = planned[number]
            task = _keeping_nothing(old.task)
            found = scheduler.find(task)
            if task != old.task and isinstance(found, Answer):
                cycles = found.best.estimate.cycles
                planned[number] = replace(old, task=task, answer=found, cycles=cycles)
                break
        else:
            raise MappingError(
                f"statements under one loop do not fit side by side on the chip of"
                f" {scheduler.hw.name}",
                hint="make the loops inside smaller, or give its memories more room",
            )


def _crowded(
    nodes: tuple[TaskNode, ...], planned: dict[int, PlannedTask], scheduler: TaskScheduler
) -> tuple[int, ...]:
    pieces = {task.number: planned[task.number].piece for task in flatten(nodes)}
    return share_chip(nodes, pieces, scheduler.hw).crowded


def _keeping_nothing(task: Task) -> Task:
    """The task with nothing on chip from one iteration of its held loops to the next."""
    names = [buffer.name for buffer in task.kernel.buffers]
    return replace(task, volatile=tuple((name, loop) for name in names for loop in task.held))
