"""Keep temporaries on chip between tasks where that lowers the cycles.

In: the tree of tasks, how each of them runs with all buffers in the external memory. Out: how they
run with the homes that pay. Not its job: schedules, addresses (`chip_homes`).

A buffer may live in a managed memory when every task that touches it has a covering that reads or
writes it there by the machine's own instructions; of several memories the largest is tried. Tried
are all such buffers together, those that hang together by tasks, and each alone; what takes fewer
cycles than all before stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf, prod

from isamap.errors import MappingError
from isamap.hwdesc import MemoryKind
from isamap.ir import Buffer, Role, size_bytes
from isamap.mapper import Task, flatten
from isamap.scheduler import Answer
from isamap.shortest_paths import shortest_paths

from .agree_layouts import agree_layouts
from .chip_homes import home_align, home_ends, place_homes
from .fetch_ahead import fetch_ahead
from .layout_option import Layouts
from .make_room import make_room
from .memory_map import MemoryMap
from .place_tasks import PlacedTasks, TaskTree, every_way, place_tasks, with_joined_calls
from .plan import PlannedTask, task_key
from .reorder import reorder
from .schedule_tasks import Around, TaskScheduler
from .share_chip import ends_of
from .timeline import Ways

MAX_TRIALS = 24  # sets of homes that are scheduled
ROOMS = (3 / 4, 1 / 4, 1 / 16)  # of a memory, for homes that are tried together
MAX_LOOKS = 200  # matches of a task that are asked whether a home suits them

Homes = Mapping[str, str]  # buffer -> memory


@dataclass(frozen=True, slots=True)
class Kept:
    """The best that was found, and what was not tried."""

    placed: PlacedTasks
    cut: str = ""


def keep_on_chip(
    tree: TaskTree, planned: Mapping[int, PlannedTask], scheduler: TaskScheduler
) -> Kept:
    """Find homes for temporaries, the largest sets first.

    Not tried once time is over.

    Raises:
        MappingError: as `make_room` and `place_tasks`, with all buffers in the external memory.
    """
    search = HomeSearch(tree, planned, scheduler)
    best = search.settle(planned, scheduler.most)
    if scheduler.is_late:
        return Kept(best, "homes on chip were not tried")
    homes: Homes = {}
    whole, parts = search.trials()
    trials = [*whole, *parts]
    tried: list[Homes] = [homes]
    for number, trial in enumerate(trials):
        if number == MAX_TRIALS or scheduler.is_late:
            return Kept(best, f"{len(trials) - number} sets of homes on chip were not tried")
        together = trial if number < len(whole) else {**homes, **trial}
        if together in tried or (number < len(whole) and homes and not search.is_crowded(best)):
            continue
        tried.append(together)
        found = search.schedule(together, best.cycles)
        if found is not None and search.rank(found) < search.rank(best):
            best, homes = found, together
    return Kept(best)


class HomeSearch:
    """Schedules a kernel's tasks with different homes."""

    def __init__(
        self, tree: TaskTree, planned: Mapping[int, PlannedTask], scheduler: TaskScheduler
    ) -> None:
        self.tree = tree
        self.kernel = tree.kernel
        self.nodes = tree.nodes
        self.planned = planned
        self.scheduler = scheduler
        self.hw = scheduler.hw
        self.tasks = tuple(planned[task.number].task for task in flatten(tree.nodes))

    def rank(self, placed: PlacedTasks) -> tuple[float, float]:
        """Least for what the aim likes best."""
        return self.scheduler.wishes.aim.rank(placed.costs(self.hw))

    def settle(self, planned: Mapping[int, PlannedTask], most: float) -> PlacedTasks:
        """The tasks side by side, each on the accelerator or the host, there in as few calls; not
        all is tried where they take `most` cycles or more."""
        fitting = make_room(self.nodes, planned, self.scheduler)
        if self._is_slow(self._ways(fitting), most):
            return self.tree.put(fitting)
        placed = place_tasks(self.tree, fitting, self.scheduler.wishes.aim)
        joined = with_joined_calls(self.tree, placed, self.scheduler.wishes.aim)
        now = {planned.task.number: (planned,) for planned in joined.tasks}
        if self._is_slow(now, most - joined.repack_cycles):
            return joined
        return reorder(self.tree, fetch_ahead(self.tree, joined))

    def _is_slow(self, ways: Ways, most: float) -> bool:
        """Do the tasks take `most` cycles with any room to fetch ahead? Asked where cycles alone
        count."""
        if most == inf or not self.scheduler.wishes.aim.is_fastest:
            return False
        return self.tree.line.cycles(ways, is_ample=True) >= most

    def _ways(self, planned: Mapping[int, PlannedTask]) -> Ways:
        """Each task on the accelerator or the host, where it can be."""
        return {number: every_way(task, self.hw) for number, task in planned.items()}

    def is_crowded(self, placed: PlacedTasks) -> bool:
        """Does a task take longer than with all the chip to itself?"""
        return any(task.cycles > self.planned[task.task.number].cycles for task in placed.tasks)

    def trials(self) -> tuple[list[Homes], list[Homes]]:
        """Sets of homes: of all buffers, as many as leave more and more room; then of those that
        hang together by tasks, and of each alone."""
        chosen: dict[str, str] = {}
        for buffer in self._candidates():
            memory = None if self.scheduler.is_late else self._memory(buffer)
            if memory is not None:
                chosen[buffer.name] = memory
        together: list[tuple[str, str]] = []
        for task in self.tasks:
            names = [name for name in chosen if name in task.touched]
            for pair in zip(names, names[1:]):
                together += [pair, pair[::-1]]
        whole = [self._fitting(chosen, share) for share in ROOMS]
        connected = dict.fromkeys(frozenset(shortest_paths(together, name)) for name in chosen)
        groups = [*connected, *({name} for name in chosen)]
        parts = [
            self._fitting({n: m for n, m in chosen.items() if n in group}, ROOMS[0])
            for group in groups
        ]
        return _different(whole), _different(parts)

    def _fitting(self, homes: Homes, share: float) -> Homes:
        """As many of the homes, in their order, as take no more than a share of each memory."""
        room = {m.name: share * m.size_bytes for m in self.hw.memories}
        found: dict[str, str] = {}
        for name, memory in homes.items():
            size = _bytes(self.kernel.buffer(name))
            if size <= room[memory]:
                room[memory] -= size
                found[name] = memory
        return found

    def _candidates(self) -> list[Buffer]:
        """Temporaries that pass between tasks, those first that save most traffic per byte."""
        shared = [
            buffer
            for buffer in self.kernel.buffers
            if buffer.role is Role.TEMP and sum(buffer.name in t.touched for t in self.tasks) > 1
        ]
        return sorted(shared, key=lambda buffer: (-self._uses(buffer.name), -_bytes(buffer)))

    def _uses(self, name: str) -> int:
        """How often tasks go over the whole buffer."""
        return sum(
            prod(
                loop.extent
                for loop in statement.loops
                if loop.name in task.held and not statement.target.moves_with(loop.name)
            )
            for task in self.tasks
            if name in task.touched
            for statement in task.statements
            if name in statement.touched
        )

    def _memory(self, buffer: Buffer) -> str | None:
        """The largest memory in which every task on the buffer can find it."""
        users = [task for task in self.tasks if buffer.name in task.touched]
        # those first that no instruction computes: hardly any of them finds a buffer anywhere
        users.sort(key=lambda task: self.planned[task.number].answer is not None)
        managed = [m for m in self.hw.memories if m.kind is MemoryKind.MANAGED]
        for memory in sorted(managed, key=lambda memory: -memory.size_bytes):
            if _bytes(buffer) <= memory.size_bytes and all(
                _may_lie(task, buffer.name, memory.name, self.scheduler) for task in users
            ):
                return memory.name
        return None

    def schedule(self, homes: Homes, most: float = inf) -> PlacedTasks | None:
        """The plan with these homes; None where there is none, or it takes `most` cycles."""
        agreed = agree_layouts(self.tasks, homes, self.scheduler)
        if agreed is None:
            return None
        taken = self._taken({name: agreed[name].size_bytes for name in homes}, homes)
        for _ in range(2):
            changed = self._schedule_all(homes, agreed, taken)
            if changed is None:
                return None
            pieces = tuple(changed[task.number].piece for task in self.tasks)
            try:
                on_chip = place_homes(pieces, self.hw)
                needed = home_ends(on_chip, self.hw)
                if any(size > taken[memory] for memory, size in needed.items()):
                    taken = dict(needed)  # one after another they are aligned in another way
                    continue
                memory_map = MemoryMap(self.kernel, pieces, on_chip)
                if all(memory_map.is_written_first(name) for name in homes):
                    is_slow = self._is_slow(self._ways(changed), most)
                    return None if is_slow else self.settle(changed, most)
            except MappingError:
                pass
            return None
        return None

    def _taken(self, sizes: Mapping[str, int], homes: Homes) -> dict[str, int]:
        """Bytes per memory for buffers of these sizes."""
        taken: dict[str, int] = {}
        for name, memory in homes.items():
            align = home_align(self.hw, memory)
            taken[memory] = taken.get(memory, 0) + -(-sizes[name] // align) * align
        return taken

    def _schedule_all(
        self, homes: Homes, agreed: Layouts, taken: Mapping[str, int]
    ) -> dict[int, PlannedTask] | None:
        """All tasks on these homes, and those that need the room."""
        changed = dict(self.planned)
        for task in self.tasks:
            old = changed[task.number]
            mine = {name: memory for name, memory in homes.items() if name in task.touched}
            if not mine and (old.on_host or self._fits(old, taken)):
                continue
            known = tuple((name, agreed[name]) for name in mine)
            around = Around(tuple(taken.items()), tuple(mine.items()), known)
            found = self.scheduler.find(task, around)
            if not isinstance(found, Answer):
                return None
            cycles = found.best.estimate.cycles
            changed[task.number] = replace(old, answer=found, on_host=False, cycles=cycles)
        return changed

    def _fits(self, planned: PlannedTask, taken: Mapping[str, int]) -> bool:
        return ends_of(planned.piece, taken, self.hw) is not None


def _different(sets: list[Homes]) -> list[Homes]:
    """Each once, empty ones left out."""
    return [one for n, one in enumerate(sets) if one and one not in sets[:n]]


def _bytes(buffer: Buffer) -> int:
    return prod(buffer.shape) * size_bytes(buffer.dtype)


def _may_lie(task: Task, buffer: str, memory: str, scheduler: TaskScheduler) -> bool:
    """Has the task a covering that finds the buffer in the memory?"""
    known = scheduler.known.lying
    key = task_key(task, frozenset()), buffer, memory
    if key not in known:
        stream = scheduler.coverings(task, {buffer: memory}, MAX_LOOKS)
        try:
            known[key] = next(stream, None) is not None
        except MappingError:
            known[key] = False
    return known[key]
