"""Schedules of tasks on one machine, each found once.

In: tasks, the room that they have on chip. Out: their answers, or why there is none. Not its job:
which tasks there are, where they run (`find_plan`).
"""

import time
from dataclasses import dataclass, replace

from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.mapper import Task

from .plan import TaskKey, Wishes, task_key
from .schedule import Answer, find_schedule

Taken = tuple[tuple[str, int], ...]  # memory -> bytes that are not the task's to use
Known = dict[tuple[TaskKey, Taken], Answer | MappingError]


@dataclass(frozen=True, slots=True)
class TaskScheduler:
    """Finds schedules and remembers them; `known` grows, and may serve other kernels on the same
    machine by the same wishes. `shared`: buffers that one task writes and another one touches.
    `deadline` (by `time.perf_counter`): a task that is asked for later gets a quick schedule.
    """

    hw: Hardware
    wishes: Wishes
    shared: frozenset[str]
    known: Known
    deadline: float

    @property
    def is_late(self) -> bool:
        """Is there no time left, or shall the search stop?"""
        return time.perf_counter() >= self.deadline or self.wishes.watch.is_stopped

    def find(self, task: Task, taken: Taken = ()) -> Answer | MappingError:
        """The task's best schedule beside what is taken, or why it has none."""
        key = task_key(task, self.shared), taken
        if key not in self.known:
            self.known[key] = self._find(task, taken)
        return self.known[key]

    def _find(self, task: Task, taken: Taken) -> Answer | MappingError:
        left_s = max(0.0, min(self.wishes.time_limit_s, self.deadline - time.perf_counter()))
        try:
            return find_schedule(
                task.kernel,
                with_room(self.hw, taken),
                cost=self.wishes.cost,
                layouts=self.wishes.layouts,
                time_limit_s=left_s,
                workers=self.wishes.workers,
                seed=self.wishes.seed,
                may_reassociate=self.wishes.may_reassociate,
                held=task.held,
                volatile=task.volatile,
                handed_on=self.shared,
                ends=task.ends,
                watch=self.wishes.watch,
            )
        except MappingError as error:
            return error


def with_room(hw: Hardware, taken: Taken) -> Hardware:
    """The machine with so many bytes less in some of its memories."""
    less = dict(taken)
    memories = tuple(
        replace(m, size_bytes=max(0, m.size_bytes - less.get(m.name, 0))) for m in hw.memories
    )
    return replace(hw, memories=memories)
