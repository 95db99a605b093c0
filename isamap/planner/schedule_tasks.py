"""Schedules of tasks on one machine, each found once.

In: tasks, the room that they have on chip. Out: their answers, or why there is none. Not its job:
which tasks there are, where they run (`find_plan`).
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from isamap.costmodels import ANALYTICAL, CostModel, Costs
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlans, Task, coverings
from isamap.program import Layout
from isamap.scheduler import Answer, KnownModels, Surroundings, Wishes, find_schedule

from .piece import Piece
from .plan import PlannedTask, TaskKey, task_key


@dataclass(frozen=True, slots=True)
class Around:
    """What a task must respect. `taken`: bytes per memory that are not its to use. `homes`: its
    buffers that lie on chip, with their memories. `agreed`: their layouts, where settled."""

    taken: tuple[tuple[str, int], ...] = ()
    homes: tuple[tuple[str, str], ...] = ()
    agreed: tuple[tuple[str, Layout], ...] = ()


ALONE = Around()


@dataclass(frozen=True, slots=True)
class Known:
    """What was found for tasks on one machine by the same wishes, and for their models; grows.

    `lying`: can a task find a buffer in a memory? `plans`: of operands, by bytes that are taken.
    """

    answers: dict[tuple[TaskKey, Around], Answer | MappingError] = field(default_factory=dict)
    models: KnownModels = field(default_factory=dict)
    lying: dict[tuple[TaskKey, str, str], bool] = field(default_factory=dict)
    plans: dict[tuple[tuple[str, int], ...], OperandPlans] = field(default_factory=dict)

    def plans_beside(self, taken: tuple[tuple[str, int], ...]) -> OperandPlans:
        """Of operands, where so many bytes of the machine's memories are taken."""
        return self.plans.setdefault(taken, OperandPlans())


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

    def rank(self, planned: Iterable[PlannedTask]) -> tuple[float, float]:
        """Least for the tasks that the aim likes best together."""
        total = sum((task.costs(self.hw) for task in planned), Costs(0, 0, 0))
        return self.wishes.aim.rank(total)

    def find(self, task: Task, around: Around = ALONE) -> Answer | MappingError:
        """The task's best schedule beside what is taken, or why it has none."""
        key = task_key(task, self.shared), around
        answers = self.known.answers
        if key not in answers:
            answers[key] = self._find(task, around)
        return answers[key]

    def coverings(
        self, task: Task, homes: Mapping[str, str], max_matches: int | None = None
    ) -> Iterator[Covering]:
        """The task's coverings with some of its buffers in these memories; as `coverings`."""
        return coverings(
            task.kernel,
            self.hw,
            [],
            may_reassociate=self.wishes.may_reassociate,
            held=task.held,
            volatile=task.volatile,
            ends=task.ends,
            homes=homes,
            max_matches=max_matches,
            known_plans=self.known.plans_beside(()),
        )

    def _cost(self, around: Around, left_s: float) -> CostModel:
        """The closed form where there is no program by itself, or no time for others."""
        return ANALYTICAL if around.homes or left_s <= 0 else self.wishes.cost

    def _find(self, task: Task, around: Around) -> Answer | MappingError:
        left_s = max(0.0, min(self.wishes.time_limit_s, self.deadline - time.perf_counter()))
        wishes = replace(self.wishes, cost=self._cost(around, left_s), time_limit_s=left_s)
        respected = Surroundings(
            task.held,
            task.volatile,
            self.shared,
            task.ends,
            dict(around.homes),
            dict(around.agreed),
        )
        room = with_room(self.hw, around)
        try:
            return find_schedule(
                task.kernel,
                room,
                wishes,
                respected,
                known=self.known.models,
                known_plans=self.known.plans_beside(around.taken),
            )
        except MappingError as error:
            return error


def around_of(piece: Piece, taken: Mapping[str, int]) -> Around:
    """What a task respects that runs as it does, beside so much that is taken."""
    homes = tuple((name, end.home) for name, end in piece.homes.items() if end.home)
    agreed = tuple((name, end.layout) for name, end in piece.homes.items())
    return Around(tuple(taken.items()), homes, agreed)


def with_room(hw: Hardware, around: Around) -> Hardware:
    """The machine with so many bytes less in some of its memories."""
    less = dict(around.taken)
    memories = tuple(
        replace(m, size_bytes=max(0, m.size_bytes - less.get(m.name, 0))) for m in hw.memories
    )
    return replace(hw, memories=memories)
