"""Decide which tasks the host runs, with what hides behind what and what must be laid out anew
between tasks counted.

In: the tree of tasks, how each of them runs by itself. Out: the choice with the fewest cycles, its
program. Not its job: schedules, layouts.

Tasks are moved one by one, or all on one buffer together (`place_tasks`), and at last every choice
is tried by branch and bound (`try_all_places`): no choice takes less than its tasks beside each
other, those that are not decided taking what both ways have in common, with nothing to be laid out
anew.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from isamap.costmodels import FASTEST, Aim, Costs
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import TaskNode, flatten
from isamap.program import Program

from .compose import compose
from .count_repacks import Repack, repacks
from .host_calls import may_run_on_host
from .join_calls import join_calls
from .known_spans import KnownSpans
from .plan import PlannedTask, host_task_cycles
from .share_chip import share_chip
from .timeline import Timeline, Ways

# identities of a task and its answer, on the host?, cycles, what it finds in its call
TaskWay = tuple[int, int, bool, int, tuple[str, ...] | None]

MAX_LOOKS = 64  # at choices, or at what several of them have in common
NOTHING = Costs(0, 0, 0)
NOT_PLACED = "which tasks the host runs was not all tried"


@dataclass(frozen=True, slots=True)
class PlacedTasks:
    """How every task runs, the program, and what the host copies between layouts.

    `task_cycles`: of the tasks one after the other, as far as they do not overlap (`timeline`).
    `cut`: what was not looked at.
    """

    tasks: tuple[PlannedTask, ...]
    program: Program
    moved: tuple[Repack, ...]
    task_cycles: int
    cut: str = ""

    @property
    def repack_cycles(self) -> int:
        """Of the host's copies between layouts."""
        return sum(row.cycles for row in self.moved)

    def costs(self, hw: Hardware) -> Costs:
        """Of everything."""
        rows = (*(task.costs(hw) for task in self.tasks), *(row.costs for row in self.moved))
        return replace(sum(rows, NOTHING), cycles=self.cycles)

    @property
    def cycles(self) -> int:
        """Tasks and copies between layouts, during which nothing else runs."""
        return self.task_cycles + self.repack_cycles


class TaskTree:
    """The tasks of one kernel; what is found for one choice of how they run serves the others."""

    def __init__(
        self,
        kernel: Kernel,
        nodes: tuple[TaskNode, ...],
        hw: Hardware,
        spans: KnownSpans | None = None,
    ) -> None:
        self.kernel = kernel
        self.nodes = nodes
        self.hw = hw
        self.line = Timeline(nodes, hw, spans or KnownSpans())
        self._known: dict[tuple[TaskWay, ...], PlacedTasks] = {}

    def put(self, planned: Mapping[int, PlannedTask]) -> PlacedTasks:
        """The tasks run as they are planned to; MappingError as `compose`."""
        tasks = tuple(planned[task.number] for task in flatten(self.nodes))
        key = tuple((id(t.task), id(t.answer), t.on_host, t.cycles, t.goes_on) for t in tasks)
        if key not in self._known:
            program = compose(self.kernel, self.nodes, tuple(t.piece for t in tasks), self.hw)
            cycles = self.line.cycles({task.task.number: (task,) for task in tasks})
            self._known[key] = PlacedTasks(tasks, program, repacks(program, self.hw), cycles)
        return self._known[key]


def place_tasks(
    tree: TaskTree, planned: Mapping[int, PlannedTask], aim: Aim = FASTEST
) -> PlacedTasks:
    """Move tasks between host and accelerator while the aim likes that better.

    Not tried: tearing joined tasks apart, other schedules.

    Raises:
        MappingError: as `compose`.
    """
    search = _PlaceSearch(tree, _fitting_together(tree, planned), aim)
    search.descend(search.narrowed(search.ways()))
    return search.best


def _fitting_together(
    tree: TaskTree, planned: Mapping[int, PlannedTask]
) -> Mapping[int, PlannedTask]:
    """The tasks as planned, or on the host, as far as it runs them, where arrays would have to be
    laid out anew in a way that no copy does; MappingError where they would then too."""
    try:
        tree.put(planned)
    except MappingError as failure:
        moved = {n: _moved(t, True, tree.hw) or t for n, t in planned.items() if not t.on_host}
        try:
            tree.put({**planned, **moved})
        except MappingError:
            raise failure from None
        return {**planned, **moved}
    return planned


def try_all_places(tree: TaskTree, placed: PlacedTasks, aim: Aim) -> PlacedTasks:
    """The best of all choices, as far as `MAX_LOOKS` go, the host's tasks each in calls of its own;
    among them those of `placed`."""
    planned = {task.task.number: _by_itself(task, tree.hw) for task in placed.tasks}
    search = _PlaceSearch(tree, planned, aim)
    search.exhaust(search.narrowed(search.ways()))
    return replace(search.best, cut=NOT_PLACED) if search.num_looks > MAX_LOOKS else search.best


def with_joined_calls(tree: TaskTree, placed: PlacedTasks, aim: Aim = FASTEST) -> PlacedTasks:
    """The same choice, the host's neighbours in one call where nobody waits for the first of them,
    and in it those that cost less there than where they run, one by one while the aim likes that.

    Raises:
        MappingError: as `compose`.
    """
    calls = _joined(tree, placed.tasks)
    is_joined = calls != {task.task.number: task for task in placed.tasks}
    best = tree.put(calls) if is_joined else placed
    for task in placed.tasks:
        moved = None if task.on_host else _moved(task, True, tree.hw)
        if moved is None:
            continue
        number = task.task.number
        others = tuple(moved if t.task.number == number else t for t in best.tasks)
        calls = _joined(tree, others)
        if sum(t.cycles for t in calls.values()) >= sum(t.cycles for t in best.tasks):
            continue
        try:
            found = tree.put(calls)
        except MappingError:
            continue
        if aim.rank(found.costs(tree.hw)) < aim.rank(best.costs(tree.hw)):
            best = found
    return replace(best, cut=placed.cut)


def _joined(tree: TaskTree, tasks: Iterable[PlannedTask]) -> Mapping[int, PlannedTask]:
    """The host's neighbours among them in one call."""
    planned = {task.task.number: _by_itself(task, tree.hw) for task in tasks}
    return join_calls(tree.nodes, planned, tree.hw)


def every_way(planned: PlannedTask, hw: Hardware) -> tuple[PlannedTask, ...]:
    """As the task runs now, then the other way where it can."""
    other = _moved(planned, not planned.on_host, hw)
    return (planned,) if other is None else (planned, other)


class _PlaceSearch:
    """Choices of who runs what, each as a way or two per task; `best` of those looked at."""

    def __init__(self, tree: TaskTree, planned: Mapping[int, PlannedTask], aim: Aim) -> None:
        self.tree = tree
        self.hw = tree.hw
        self.aim = aim
        self.best = tree.put(planned)
        self.rank = aim.rank(self.best.costs(tree.hw))
        self.num_looks = 0
        self.costs: dict[tuple[int, bool], Costs] = {}

    def ways(self) -> Ways:
        """As the task runs now, then the other way where it can and the host is not too slow."""
        found: dict[int, tuple[PlannedTask, ...]] = {}
        for task in self.best.tasks:
            mine = every_way(task, self.hw)
            found[task.task.number] = tuple(
                way for way in mine if way is task or not way.on_host or self._beats(way.cycles)
            )
        return found

    def narrowed(self, ways: Ways) -> Ways:
        """Without what makes every choice no better than the best one."""
        for number, mine in ways.items():
            if len(mine) > 1:
                left = tuple(way for way in mine if self._may_win({**ways, number: (way,)}))
                ways = {**ways, number: left or mine[:1]}
        return ways

    def descend(self, ways: Ways) -> None:
        """Move tasks to where the aim likes the whole better: each alone, then all on a buffer
        that is laid out anew, all of them on the host or none."""
        while any(self._look(changed) for changed in self._changes(ways)):
            pass

    def exhaust(self, ways: Ways) -> None:
        """Look at every choice that is not proven to be no better than the best one."""
        self.num_looks += 1
        if self.num_looks > MAX_LOOKS or not self._may_win(ways):
            return
        number = next((n for n, mine in ways.items() if len(mine) > 1), None)
        if number is None:
            self._look(ways)
            return
        for way in ways[number]:
            self.exhaust({**ways, number: (way,)})

    def _changes(self, ways: Ways) -> Iterator[Ways]:
        """Other choices than the best one."""
        now = {task.task.number: (task,) for task in self.best.tasks}
        for number, mine in ways.items():
            for way in mine:
                if way.on_host != now[number][0].on_host:
                    yield {**now, number: (way,)}
        for name in dict.fromkeys(row.buffer for row in self.best.moved):
            for on_host in (True, False):
                users = [n for n, mine in now.items() if name in mine[0].task.touched]
                moved = {n: tuple(w for w in ways[n] if w.on_host == on_host) for n in users}
                yield now | {n: mine for n, mine in moved.items() if mine}

    def _look(self, ways: Ways) -> bool:
        """Is this choice better than all before?"""
        if not self._may_win(ways):
            return False
        planned = {number: mine[0] for number, mine in ways.items()}
        pieces = {number: task.piece for number, task in planned.items()}
        try:
            if share_chip(self.tree.nodes, pieces, self.hw).crowded:
                return False
            found = self.tree.put(planned)
        except MappingError:
            return False
        rank = self.aim.rank(found.costs(self.hw))
        is_better = rank < self.rank
        if is_better:
            self.best, self.rank = found, rank
        return is_better

    def _may_win(self, ways: Ways) -> bool:
        """Might one of these choices be better than the best one, if nothing is laid out anew?"""
        decided = [mine[0] for mine in ways.values() if all(way.on_host for way in mine)]
        if not self._beats(sum(task.cycles for task in decided)):
            return False  # without a look at what hides behind what
        least = NOTHING
        for mine in ways.values():
            costs = [self._costs(way) for way in mine]
            least += Costs(0, min(c.energy_pj for c in costs), min(c.dram_bytes for c in costs))
        return self._beats(self.tree.line.cycles(ways), least)

    def _beats(self, cycles: float, rest: Costs = NOTHING) -> bool:
        """Are so many cycles, and the rest of the costs, better than the best choice?"""
        return self.aim.rank(replace(rest, cycles=cycles)) < self.rank

    def _costs(self, way: PlannedTask) -> Costs:
        key = way.task.number, way.on_host
        if key not in self.costs:
            self.costs[key] = way.costs(self.hw)
        return self.costs[key]


def _by_itself(planned: PlannedTask, hw: Hardware) -> PlannedTask:
    """The task in a call of its own where the host runs it."""
    if planned.goes_on is None or hw.host is None:
        return planned
    cycles = host_task_cycles(planned.task, hw.host)
    return replace(planned, cycles=cycles, goes_on=None)


def _moved(planned: PlannedTask, on_host: bool, hw: Hardware) -> PlannedTask | None:
    """The task on the host, or off it; None where it cannot run, as the host finds nothing on chip.
    (That all tasks on a buffer leave the chip is what other homes are tried for.)"""
    if planned.task.parts or hw.host is None or (not on_host and planned.answer is None):
        return None
    if on_host and (planned.piece.homes or not may_run_on_host(planned.task)):
        return None
    if on_host:
        return replace(planned, on_host=True, cycles=host_task_cycles(planned.task, hw.host))
    return replace(planned, on_host=False, cycles=planned.best.estimate.cycles)
