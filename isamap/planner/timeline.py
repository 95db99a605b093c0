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
from dataclasses import replace
from itertools import product
from math import ceil, inf, prod

from isamap.costmodels import Passing, Room, Span, Use
from isamap.hwdesc import Hardware
from isamap.ir import Loop, Order, accesses, may_touch
from isamap.mapper import Task, TaskLoop, TaskNode, flatten

from .known_spans import KnownSpans, Region, Regions
from .plan import PlannedTask
from .share_chip import lay_behind

ROUNDS = 4  # of a loop that are followed one by one

# a task, its answer's identity, whether it is on the host, cycles, loops in their first round
SpanKey = tuple[int, int, bool, int, frozenset[str]]
Begun = tuple[float, list[Span]]  # a round of a task: when it begins, what it may take
NEVER: Begun = 0.0, []
# in the same round of the loops around both tasks, these loops, those of them that hand on
Feeds = tuple[bool, tuple[str, ...], tuple[str, ...]]
Starts = frozenset[tuple[str, int]]  # first bytes in memories, but for those that are 0
Ways = Mapping[int, tuple[PlannedTask, ...]]  # task number -> on the host, off it, or both


class Timeline:
    """The tasks of one tree; what is found for one choice of how they run serves the others.

    Schedules are told apart by identity: `span_of` keeps those alive that it knows. `spans`: of
    schedules on this machine; grows.
    """

    def __init__(self, nodes: tuple[TaskNode, ...], hw: Hardware, spans: KnownSpans) -> None:
        self.nodes = nodes
        self.hw = hw
        self.tasks = {task.number: task for task in flatten(nodes)}
        self.feeders: dict[int, tuple[tuple[int, Feeds], ...]] = {}  # by the reader's number
        self.apart: dict[int, tuple[int, ...]] = {}
        self.spans = spans
        self.span_of: dict[SpanKey, tuple[PlannedTask, Span]] = {}
        self.delays: dict[tuple[int, int], tuple[float, float]] = {}
        self.room_delays: dict[tuple[int, int, Starts, Starts], float] = {}

    def cycles(self, ways: Ways, *, is_ample: bool = False) -> int:
        """Of all tasks, without what is laid out anew in between; of those with several ways to
        run, no more than the best choice takes. `is_ample`: as if there were room on chip for all
        that units can fetch ahead."""
        line = _Line(self, ways, is_ample)
        line.run(self.nodes, (), frozenset())
        ports: dict[tuple[str, str], int] = {}
        for number in self.tasks:
            mine = ways[number]
            if not any(way.on_host for way in mine):
                for port, cycles in mine[0].best.estimate.port_cycles:
                    ports[port] = ports.get(port, 0) + cycles
        return ceil(max(line.end, *ports.values(), 0))

    def feeding(self, reader: int) -> tuple[tuple[int, Feeds], ...]:
        """The tasks on which another one depends, by their numbers."""
        if reader not in self.feeders:
            found = ((n, _feeds(task, self.tasks[reader])) for n, task in self.tasks.items())
            self.feeders[reader] = tuple((n, f) for n, f in found if f[0] or f[2])
        return self.feeders[reader]

    def not_under(self, number: int) -> tuple[int, ...]:
        """The tasks that share no held loop with another one."""
        if number not in self.apart:
            held = set(self.tasks[number].held)
            self.apart[number] = tuple(
                n for n, task in self.tasks.items() if n != number and not held & set(task.held)
            )
        return self.apart[number]


class _Line:
    """Tasks in their order. `free`: from when on units are; `written`: how tasks ran, in the round
    before the latest and in the latest."""

    def __init__(self, known: Timeline, ways: Ways, is_ample: bool) -> None:
        self.ways = ways
        self.is_ample = is_ample
        self.known = known
        self.hw = known.hw
        self.is_token = known.hw.has_tokens
        self.free: dict[str, float] = {}
        self.written: dict[int, tuple[Begun, Begun]] = {}
        self.end = 0.0
        self.used: dict[str, int] = {}  # up to where memories are, by the latest task
        self.starts: dict[int, Starts] = {}
        self.span_of = known.span_of
        self.delays = known.delays

    def run(
        self, nodes: tuple[TaskNode, ...], around: tuple[Loop, ...], fresh: frozenset[str]
    ) -> None:
        """One after the other, under loops of which some are in their first round."""
        for node in nodes:
            if isinstance(node, Task):
                self._place(node, around, fresh)
            else:
                self._repeat(node, around, fresh)

    def _repeat(self, node: TaskLoop, around: tuple[Loop, ...], fresh: frozenset[str]) -> None:
        last = 0.0
        extent = node.loop.extent
        for number in range(min(extent, ROUNDS)):
            begin = self.end
            first = fresh | {node.loop.name} if number == 0 else fresh
            self.run(node.body, (*around, node.loop), first)
            last = self.end - begin
        self._skip(max(0, extent - ROUNDS) * last)
        self.used = {}

    def _skip(self, cycles: float) -> None:
        self.end += cycles
        self.free = {name: time + cycles for name, time in self.free.items()}
        self.written = {
            number: ((old + cycles, before), (new + cycles, latest))
            for number, ((old, before), (new, latest)) in self.written.items()
        }

    def _place(self, task: Task, around: tuple[Loop, ...], fresh: frozenset[str]) -> None:
        spans = [self._span(way, around, fresh) for way in self.ways[task.number]]
        is_known = len(spans) == 1
        uses = spans[0].uses if is_known else ()
        ahead = spans[0].ahead if is_known and not self.is_token else None
        if ahead is not None and self.is_ample:
            ahead = replace(ahead, room_cycles=inf, lead=inf)
        if is_known and not around:
            self._lay_behind(task.number)
        fetch = begin = self._roomy(task, spans[0]) if is_known and not self.is_ample else 0.0
        for use in uses:
            free = self.free.get(use.unit, 0.0) - use.first
            if ahead is not None and use.unit in ahead.units:
                fetch = max(fetch, free)
            else:
                begin = max(begin, free)
        for number, feeds in self.known.feeding(task.number):
            if number in self.written:
                soon, ready = self._ready(number, feeds, task, spans, fresh)
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

    def _lay_behind(self, number: int) -> None:
        """Where a task outside held loops begins on chip, as `share_chip` lays it."""
        (way,) = self.ways[number]
        if way.on_host or self.is_token:
            return
        starts, self.used = lay_behind(way.piece, self.used, {}, self.hw)
        self.starts[number] = frozenset(pair for pair in starts.items() if pair[1])

    def _roomy(self, task: Task, span: Span) -> float:
        """From when on nobody needs what lies where the task puts its data: tasks under one held
        loop lie apart from each other (`share_chip`)."""
        begin = 0.0
        for number in self.known.not_under(task.number):
            _, (start, others) = self.written.get(number, (NEVER, NEVER))
            if len(others) == 1:
                begin = max(begin, start + self._room_delay(number, others[0], task.number, span))
        return begin

    def _room_delay(self, before: int, old: Span, number: int, new: Span) -> float:
        """Cycles from the begin of a task to that of another one that needs its room."""
        there, here = (self.starts.get(n, frozenset()) for n in (before, number))
        key = id(old), id(new), there, here  # the first two live in `span_of`
        if key not in self.known.room_delays:
            theirs = _behind(self._regions(before), dict(there))
            mine = _behind(self._regions(number), dict(here))
            releases = (
                _release(o, theirs[o.operand, o.residence], n, mine[n.operand, n.residence])
                for o, n in product(old.rooms, new.rooms)
            )
            self.known.room_delays[key] = max(releases, default=-inf)
        return self.known.room_delays[key]

    def _regions(self, number: int) -> Regions:
        (way,) = self.ways[number]
        return {} if way.on_host else self.known.spans.regions(way.best, self.hw)

    def _ready(
        self,
        number: int,
        feeds: Feeds,
        reader: Task,
        spans: list[Span],
        fresh: frozenset[str],
    ) -> tuple[float, float]:
        """The earliest begins, of units that run ahead and of the others, at which the reader finds
        all that another task writes; `fresh`: loops that are in their first round."""
        before, latest = self.written[number]
        writer = self.ways[number][0].task
        same_round, shared, carriers = feeds
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
        key = id(written), id(span)  # both live in `span_of`
        if key not in self.delays:
            self.delays[key] = _delays(writer, reader, written, span)
        return self.delays[key]

    def _span(self, planned: PlannedTask, around: tuple[Loop, ...], fresh: frozenset[str]) -> Span:
        """One round of a task."""
        key = planned.task.number, id(planned.answer), planned.on_host, planned.cycles, fresh
        if key not in self.span_of:
            if planned.on_host:
                span = _host_span(planned, prod(loop.extent for loop in around), self.hw)
            else:
                shared = frozenset(loop.name for loop in around)
                span = self.known.spans.span(planned.best, self.hw, shared, fresh)
            self.span_of[key] = planned, span
        return self.span_of[key][1]


def _host_span(planned: PlannedTask, rounds: int, hw: Hardware) -> Span:
    """One of so many rounds of a task on the host."""
    assert hw.host is not None, "only a host runs such tasks"
    cycles = planned.cycles / rounds
    busy = [hw.host.unit] if hw.host.is_apart else [unit.name for unit in hw.units]
    uses = tuple(Use(name, 0.0, cycles) for name in busy)
    touched = (Passing(name, "", 1, 0.0, 0.0) for name in sorted(planned.task.touched))
    written = Passing(planned.task.statement.target.buffer, "", 1, cycles, cycles)
    return Span(cycles, uses, (), tuple(touched), (written,))


def _feeds(writer: Task, reader: Task) -> Feeds:
    """Does the reader depend on the writer in the same round of the loops around both? These loops,
    and those in a later round of which it does, all loops further out being in the same one."""
    shared = tuple(name for name in writer.held if name in reader.held)
    equal = [dict.fromkeys(shared[:depth], Order.EQUAL) for depth in range(len(shared) + 1)]
    same = _reads(writer, reader, equal[-1])
    carriers = tuple(
        loop
        for outside, loop in zip(equal, shared)
        if _reads(writer, reader, outside | {loop: Order.LATER})
    )
    return same, shared, carriers


def _reads(writer: Task, reader: Task, order: dict[str, Order]) -> bool:
    """Does the reader need what the writer writes, in iterations that `order` relates?"""
    return any(
        may_touch(a, a.target, b, read, order)
        for a, b in product(writer.statements, reader.statements)
        for read in (*accesses(b.value), *((b.target,) if b.update != "=" else ()))
    )


def _behind(regions: Regions, starts: Mapping[str, int]) -> Regions:
    """The regions where memories begin later."""
    return {
        stay: (name, begin + starts.get(name, 0), end + starts.get(name, 0))
        for stay, (name, begin, end) in regions.items()
    }


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
    own = task.statement.accesses
    dims = {
        next((d for d, i in enumerate(a.indices) if i.terms == ((passing.loop, 1),)), None)
        for a in (*own, *ends)
        if a is not None and a.buffer == passing.buffer
    }
    return dims.pop() if len(dims) == 1 else None
