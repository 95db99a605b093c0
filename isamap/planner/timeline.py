"""How long tasks take one after the other, each as early as units and data let it.

In: the tree of tasks, how each of them runs or may run, the machine. Out: cycles, or what no choice
goes below. Not its job: the program (`compose`), what a task takes by itself (`costmodels`).

A task keeps its shape (`Span`) and begins when every unit it needs is done with what came before,
what it fetches has been written, part by part, where both go through a buffer in the same order, or
all of it, and its room on chip is free. With tokens everybody waits for a task to end.
The first rounds of a loop are followed one by one; the others take as long as the last one of
these. Ports serve neighbours between each other's calls; all tasks together keep them busy at
least so long.
"""

from collections.abc import Mapping
from itertools import product
from math import ceil, inf

from isamap.costmodels import Passing, Room, Span, Use, find_span
from isamap.hwdesc import Hardware, Synchronisation
from isamap.ir import Order, accesses, may_touch
from isamap.mapper import Task, TaskLoop, TaskNode, flatten
from isamap.scheduler import place

from .plan import PlannedTask

ROUNDS = 4  # of a loop that are followed one by one

Region = tuple[str, int, int]  # a memory, first byte of a stay in it, end of the last
# a task, its answer's identity, whether it is on the host, cycles, loops in their first round
SpanKey = tuple[int, int, bool, int, frozenset[str]]
Round = tuple[float, list[Span]]  # of a task: when it begins, what it may take
NEVER: Round = 0.0, []
# in the same round of the loops around both tasks, these loops, those of them that hand on
Feeds = tuple[bool, tuple[str, ...], tuple[str, ...]]
Ways = Mapping[int, tuple[PlannedTask, ...]]  # task number -> on the host, off it, or both


class Timeline:
    """The tasks of one tree; what is found for one choice of how they run serves the others.

    Schedules are told apart by identity: `spans` keeps those alive that it knows.
    """

    def __init__(self, nodes: tuple[TaskNode, ...], hw: Hardware) -> None:
        self.nodes = nodes
        self.hw = hw
        self.feeds: dict[tuple[int, int], Feeds] = {}
        self.spans: dict[SpanKey, tuple[PlannedTask, Span]] = {}
        self.regions: dict[int, dict[tuple[str, int], Region]] = {}  # by identity of the answer
        self.delays: dict[tuple[int, int], tuple[float, float]] = {}

    def cycles(self, ways: Ways) -> int:
        """Of all tasks, without what is laid out anew in between; of those with several ways to
        run, no more than the best choice takes."""
        line = _Line(self, ways)
        line.run(self.nodes, ())
        ports: dict[tuple[str, str], int] = {}
        for task in flatten(self.nodes):
            mine = ways[task.number]
            if not any(way.on_host for way in mine):
                for port, cycles in mine[0].best.estimate.port_cycles:
                    ports[port] = ports.get(port, 0) + cycles
        return ceil(max(line.end, *ports.values(), 0))


class _Line:
    """Tasks in their order. `free`: from when on units are; `written`: how tasks ran, in the round
    before the latest and in the latest."""

    def __init__(self, known: Timeline, ways: Ways) -> None:
        self.ways = ways
        self.hw = known.hw
        self.is_token = known.hw.synchronisation is Synchronisation.TOKENS
        self.free: dict[str, float] = {}
        self.written: dict[int, tuple[Round, Round]] = {}
        self.feeds = known.feeds
        self.end = 0.0
        self.spans = known.spans
        self.regions = known.regions
        self.delays = known.delays

    def run(self, nodes: tuple[TaskNode, ...], around: tuple[tuple[str, bool, int], ...]) -> None:
        """One after the other; `around`: loops, whether in their first round, and their extents."""
        for node in nodes:
            if isinstance(node, Task):
                self._place(node, around)
            else:
                self._repeat(node, around)

    def _repeat(self, node: TaskLoop, around: tuple[tuple[str, bool, int], ...]) -> None:
        last = 0.0
        extent = node.loop.extent
        for number in range(min(extent, ROUNDS)):
            begin = self.end
            self.run(node.body, (*around, (node.loop.name, number == 0, extent)))
            last = self.end - begin
        self._skip(max(0, extent - ROUNDS) * last)

    def _skip(self, cycles: float) -> None:
        self.end += cycles
        self.free = {name: time + cycles for name, time in self.free.items()}
        self.written = {
            number: ((old + cycles, before), (new + cycles, latest))
            for number, ((old, before), (new, latest)) in self.written.items()
        }

    def _place(self, task: Task, around: tuple[tuple[str, bool, int], ...]) -> None:
        spans = [self._span(way, around) for way in self.ways[task.number]]
        fresh = frozenset(name for name, is_first, _ in around if is_first)
        is_known = len(spans) == 1
        uses = spans[0].uses if is_known else ()
        ahead = spans[0].ahead if is_known and not self.is_token else None
        fetch = begin = self._roomy(task, spans[0]) if is_known else 0.0
        for use in uses:
            free = self.free.get(use.unit, 0.0) - use.first
            if ahead is not None and use.unit in ahead.units:
                fetch = max(fetch, free)
            else:
                begin = max(begin, free)
        for number, rounds in self.written.items():
            soon, ready = self._ready(number, rounds, task, spans, fresh)
            fetch, begin = max(fetch, soon), max(begin, ready)
        begin = self.end if self.is_token else max(fetch, begin)
        done = begin  # as if everything had begun then
        if ahead is not None:
            fetch = max(fetch, begin - ahead.lead)
            done = max(fetch, begin - ahead.slack)
        for use in uses:
            self.free[use.unit] = done + use.last
            if ahead is not None and use.unit in ahead.units:
                late = begin + use.last - ahead.room_cycles
                self.free[use.unit] = max(fetch + use.first + ahead.busy, late)
        _, latest = self.written.get(task.number, (NEVER, NEVER))
        self.written[task.number] = latest, (done, spans)
        self.end = max(self.end, done + min(span.cycles for span in spans))

    def _roomy(self, task: Task, span: Span) -> float:
        """From when on nobody needs what lies where the task puts its data: tasks begin at the same
        places on chip, but for those under one held loop (`share_chip`)."""
        begin = 0.0
        for number, (_, (start, others)) in self.written.items():
            other = self.ways[number][0].task
            if len(others) == 1 and not set(other.held) & set(task.held) and other != task:
                for old, new in product(others[0].rooms, span.rooms):
                    mine = self._region(task.number, new)
                    theirs = self._region(number, old)
                    begin = max(begin, start + _release(old, theirs, new, mine))
        return begin

    def _region(self, number: int, room: Room) -> Region:
        return self.regions[id(self.ways[number][0].answer)][room.operand, room.residence]

    def _ready(
        self,
        number: int,
        rounds: tuple[Round, Round],
        reader: Task,
        spans: list[Span],
        fresh: frozenset[str],
    ) -> tuple[float, float]:
        """The earliest begins, of units that run ahead and of the others, at which the reader finds
        all that another task writes; `fresh`: loops that are in their first round."""
        before, latest = rounds
        writer = self.ways[number][0].task
        same_round, shared, carriers = self._feeds(writer, reader)
        if not same_round and not carriers:
            return 0.0, 0.0
        next_round = any(
            loop not in fresh and fresh.issuperset(shared[shared.index(loop) + 1 :])
            for loop in carriers
        )
        if number < reader.number:
            begin, written = latest if same_round else before if next_round else NEVER
        else:
            begin, written = latest if next_round else NEVER
        delays = [self._delay(writer, reader, one, span) for one, span in product(written, spans)]
        soon, ready = zip(*delays, strict=True) if delays else ((0.0,), (0.0,))
        return begin + min(soon), begin + min(ready)

    def _delay(self, writer: Task, reader: Task, written: Span, span: Span) -> tuple[float, float]:
        key = id(written), id(span)  # both live in `spans`
        if key not in self.delays:
            self.delays[key] = _delays(writer, reader, written, span)
        return self.delays[key]

    def _feeds(self, writer: Task, reader: Task) -> Feeds:
        """Does the reader depend on the writer in the same round of the loops around both? These
        loops, and those in a later round of which it does, all loops further out being in the
        same one."""
        key = writer.number, reader.number
        if key not in self.feeds:
            shared = tuple(name for name in writer.held if name in reader.held)
            equal = [dict.fromkeys(shared[:depth], Order.EQUAL) for depth in range(len(shared) + 1)]
            same = _reads(writer, reader, equal[-1])
            carriers = tuple(
                loop
                for outside, loop in zip(equal, shared)
                if _reads(writer, reader, outside | {loop: Order.LATER})
            )
            self.feeds[key] = same, shared, carriers
        return self.feeds[key]

    def _span(self, planned: PlannedTask, around: tuple[tuple[str, bool, int], ...]) -> Span:
        """One round of a task."""
        fresh = frozenset(name for name, is_first, _ in around if is_first)
        key = planned.task.number, id(planned.answer), planned.on_host, planned.cycles, fresh
        if key not in self.spans:
            self.spans[key] = planned, self._find_span(planned, around, fresh)
        return self.spans[key][1]

    def _find_span(
        self,
        planned: PlannedTask,
        around: tuple[tuple[str, bool, int], ...],
        fresh: frozenset[str],
    ) -> Span:
        if planned.on_host:
            assert self.hw.host is not None, "only a host runs such tasks"
            cycles: float = planned.cycles
            for _, _, extent in around:
                cycles /= extent
            names = [unit.name for unit in self.hw.units]
            busy = [self.hw.host.unit] if self.hw.host.is_apart else names
            uses = tuple(Use(name, 0.0, cycles) for name in busy)
            touched = (Passing(name, "", 1, 0.0, 0.0) for name in sorted(planned.task.touched))
            target = planned.task.statement.target.buffer
            written = Passing(target, "", 1, cycles, cycles)
            return Span(cycles, uses, (), tuple(touched), (written,))
        best = planned.best
        assert best.solution.tiling is not None, "a schedule has a tiling"
        places = place(best.covering, best.solution.tiling, self.hw)
        assert places is not None, "a schedule has a place"
        self.regions[id(planned.answer)] = {
            (slot.stay.operand, slot.stay.residence): (
                slot.residence.memory, slot.base, slot.base + slot.slot_bytes * slot.stay.slots
            )
            for slot in places.slots
        }  # fmt: skip
        shared = frozenset(name for name, _, _ in around)
        return find_span(best.covering, best.solution.tiling, self.hw, shared, fresh)


def _reads(writer: Task, reader: Task, order: dict[str, Order]) -> bool:
    """Does the reader need what the writer writes, in iterations that `order` relates?"""
    return any(
        may_touch(a, a.target, b, read, order)
        for a, b in product(writer.statements, reader.statements)
        for read in (*accesses(b.value), *((b.target,) if b.update != "=" else ()))
    )


def _release(old: Room, old_region: Region, new: Room, region: Region) -> float:
    """Cycles from the begin of a task to that of one that puts something in the same bytes."""
    low, high = max(old_region[1], region[1]), min(old_region[2], region[2])
    if old_region[0] != region[0] or low >= high:
        return 0.0
    return max(
        _at(byte, old_region, old.freed, old.free_cycles)
        - _at(byte, region, new.filled, new.fill_cycles)
        for byte in (low, high)
    )


def _at(byte: int, region: Region, first: float, cycles: float) -> float:
    _, begin, end = region
    return first + cycles * (byte - begin) / (end - begin)


def _delays(writer: Task, reader: Task, written: Span, span: Span) -> tuple[float, float]:
    """Least cycles from a writer's begin to a reader's, of its units that run ahead and of the
    others."""
    delays = {True: -inf, False: -inf}
    for out, fetch in product(written.written, span.fetched):
        if out.buffer != fetch.buffer:
            continue
        dim = _dim(writer, out)
        delay = out.last - fetch.first
        if dim is not None and dim == _dim(reader, fetch):
            delay = max(
                out.cycle(-(-(part + 1) * out.count // fetch.count) - 1) - fetch.cycle(part)
                for part in range(fetch.count)
            )
        delays[fetch.is_ahead] = max(delays[fetch.is_ahead], delay)
    return delays[True], delays[False]


def _dim(task: Task, passing: Passing) -> int | None:
    """The buffer's dimension through which the task goes part by part."""
    ends = (task.ends.inlet, task.ends.outlet) if task.ends else ()
    own = (task.statement.target, *accesses(task.statement.value))
    dims = {
        next((d for d, i in enumerate(a.indices) if i.terms == ((passing.loop, 1),)), None)
        for a in (*own, *ends)
        if a is not None and a.buffer == passing.buffer
    }
    return dims.pop() if len(dims) == 1 else None
