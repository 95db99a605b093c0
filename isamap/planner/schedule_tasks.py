"""Schedules of tasks on one machine, each found once.

In: tasks, the room that they have on chip. Out: their answers, or why there is none. Not its job:
which tasks there are, where they run (`find_plan`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf, prod

from isamap.costmodels import ANALYTICAL, CostModel, Costs
from isamap.errors import LateError, MappingError, TooSlowError
from isamap.hwdesc import Hardware
from isamap.ir import Buffer
from isamap.mapper import Covering, KnownCoverings, Task
from isamap.program import Layout
from isamap.scheduler import (
    Answer,
    KnownModels,
    Status,
    Surroundings,
    Wishes,
    find_schedule,
    place,
    without,
)

from .known_spans import KnownSpans
from .layout_option import Option
from .piece import Piece
from .plan import PlannedTask, TaskKey, task_key

# buffers, target and update of statements that one task may compute
Alike = tuple[tuple[tuple[Buffer, ...], str, str], ...]


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

    `lying`: can a task find a buffer in a memory? `options`: how buffers on chip may lie
    for it. `joined`: of statements that are better together, iterations of the longest. `parts`: of
    tasks that were scheduled joined.
    """

    answers: dict[TaskKey, dict[Around, Answer | MappingError]] = field(default_factory=dict)
    models: KnownModels = field(default_factory=KnownModels)
    lying: dict[tuple[TaskKey, str, str], bool] = field(default_factory=dict)
    options: dict[tuple[TaskKey, tuple[tuple[str, str], ...]], tuple[Option, ...]] = field(
        default_factory=dict
    )
    joined: dict[Alike, int] = field(default_factory=dict)
    parts: set[TaskKey] = field(default_factory=set)
    coverings: KnownCoverings = field(default_factory=KnownCoverings)
    spans: KnownSpans = field(default_factory=KnownSpans)

    def forget_ended(self) -> None:
        """Answers that a time limit ended: they are looked for again, from what was found."""
        for answers in self.answers.values():
            for around, found in tuple(answers.items()):
                if isinstance(found, Answer) and found.is_ended:
                    del answers[around]
        self.parts.clear()


@dataclass(frozen=True, slots=True)
class TaskScheduler:
    """Finds schedules and remembers them; `known` grows, and may serve other kernels on the same
    machine by the same wishes. `shared`: buffers that one task writes and another one touches.
    `deadline` (by the wishes' clock): a task that is asked for later gets a quick schedule; the
    wishes' time is a task's share of it, and `tasks` all that share it.
    `most`: of the aim's value; a plan in which a task alone takes as much is of no use. `until`
    (on the computer's clock): a plan that is not whole by then is of no use.
    """

    hw: Hardware
    wishes: Wishes
    shared: frozenset[str]
    known: Known
    deadline: float
    most: float = inf
    tasks: tuple[Task, ...] = ()
    until: float = inf

    def expect_in_time(self, task: Task) -> None:
        """Go on only to a task that has an answer, or while there is time for one.

        Raises:
            LateError: there is none.
        """
        clock = self.wishes.clock
        if clock.is_wall and clock.now() >= self.until and not self._answers(task):
            raise LateError("no time is left to schedule all tasks")

    @property
    def is_late(self) -> bool:
        """Is there no time left, or shall the search stop?"""
        return self.wishes.clock.now() >= self.deadline or self.wishes.watch.is_stopped

    def rank(self, planned: Iterable[PlannedTask]) -> tuple[float, float]:
        """Least for the tasks that the aim likes best together."""
        total = sum((task.costs(self.hw) for task in planned), Costs(0, 0, 0))
        return self.wishes.aim.rank(total)

    def find(self, task: Task, around: Around = ALONE) -> Answer | MappingError:
        """The task's best schedule beside what is taken, or why it has none (below `most`)."""
        answers = self._answers(task)
        known = answers.get(around)
        if known is None or not self._holds(known):
            here = without(self.hw, dict(around.taken))
            alike = (one for one in self._in_more_room(task, around) if _stays_best(one, here))
            answers[around] = next(alike, None) or self._find(task, around)
        return answers[around]

    def _holds(self, found: Answer | MappingError) -> bool:
        """Was at least as much asked for as now?"""
        if isinstance(found, TooSlowError | Answer):
            return self.most <= found.most
        return True

    def least(self, task: Task, around: Around) -> Answer | None:
        """A schedule that is no worse than the best one beside what is taken, if any is known."""
        known = self._in_more_room(task, around)
        return next((one for one in known if isinstance(one, Answer)), None)

    def any_known(self, task: Task, around: Around) -> Answer | None:
        """A schedule with the same buffers on chip, in whatever room, if any is known."""
        wanted = dict(around.homes), dict(around.agreed)
        for other, answer in self._answers(task).items():
            if isinstance(answer, Answer) and (dict(other.homes), dict(other.agreed)) == wanted:
                return answer
        return None

    def _answers(self, task: Task) -> dict[Around, Answer | MappingError]:
        return self.known.answers.setdefault(task_key(task, self.shared), {})

    def _in_more_room(self, task: Task, around: Around) -> Iterator[Answer | MappingError]:
        """What is best, or why nothing is, where nothing else differs than that less is taken."""
        here = dict(around.taken)
        for other, answer in self._answers(task).items():
            there = dict(other.taken)
            is_alike = (other.homes, other.agreed) == (around.homes, around.agreed)
            is_proven = isinstance(answer, MappingError) or answer.status is Status.OPTIMAL
            is_proven = is_proven and self._holds(answer)
            is_roomier = all(size <= here.get(memory, 0) for memory, size in there.items())
            if is_alike and is_proven and is_roomier:
                yield answer

    def coverings(
        self, task: Task, homes: Mapping[str, str], max_matches: int | None = None
    ) -> Iterator[Covering]:
        """The task's coverings with some of its buffers in these memories; as `coverings`."""
        found = self.known.coverings.find(
            task.kernel,
            self.hw,
            task.setting(homes),
            may_reassociate=self.wishes.may_reassociate,
            max_matches=max_matches,
        )
        return iter(found)

    def _cost(self, around: Around, left_s: float) -> CostModel:
        """The closed form where there is no program by itself, or no time for others."""
        return ANALYTICAL if around.homes or left_s <= 0 else self.wishes.cost

    def share_s(self, task: Task) -> float:
        """Seconds for the task's schedule: an even share of what is left for tasks without one, or
        as much of it as it has of their iterations, if that is more. Half of that, as plans are
        improved in what is left in the end; no less than the share of each at first."""
        left_s = max(0.0, self.deadline - self.wishes.clock.now())
        by_key = {task_key(one, self.shared): one for one in self.tasks}
        still = [
            one
            for key, one in by_key.items()
            if not self.known.answers.get(key) and key not in self.known.parts
        ]
        if not still:
            return min(self.wishes.time_limit_s, left_s)
        work = min(1.0, _num_iterations(task) / sum(map(_num_iterations, still)))
        return min(max(self.wishes.time_limit_s, left_s / 2 * max(work, 1 / len(still))), left_s)

    def _find(self, task: Task, around: Around) -> Answer | MappingError:
        left_s = self.share_s(task)
        self.known.parts.update(task_key(part, self.shared) for part in task.parts)
        wishes = replace(self.wishes, cost=self._cost(around, left_s), time_limit_s=left_s)
        setting = task.setting(dict(around.homes))
        respected = Surroundings(setting, self.shared, dict(around.agreed), dict(around.taken))
        try:
            return find_schedule(
                task.kernel,
                self.hw,
                wishes,
                respected,
                known=self.known.models,
                known_coverings=self.known.coverings,
                most=self.most if wishes.cost.num_candidates == 1 else inf,
                roomier=self.least(task, around),
                is_part=True,
            )
        except MappingError as error:
            return error


def around_of(piece: Piece, taken: Mapping[str, int]) -> Around:
    """What a task respects that runs as it does, beside so much that is taken."""
    homes = tuple((name, end.home) for name, end in piece.homes.items() if end.home)
    agreed = tuple((name, end.layout) for name, end in piece.homes.items())
    return Around(tuple(taken.items()), homes, agreed)


def alike(parts: tuple[Task, ...]) -> Alike:
    """Equal for parts that are joined or not for the same reasons, apart from how long they are."""
    return tuple((p.kernel.buffers, p.statement.target.buffer, p.statement.update) for p in parts)


def _num_iterations(task: Task) -> int:
    return prod(loop.extent for loop in task.statement.loops)


def _stays_best(found: Answer | MappingError, hw: Hardware) -> bool:
    """Does what is best with more room fit this machine? What fails there fails here."""
    if isinstance(found, MappingError):
        return True
    return place(found.best.covering, found.best.tiling, hw) is not None
