"""How long tasks take one after the other, each as early as units and data let it.

In: the tree of tasks, how each of them runs or may run, the machine. Out: cycles, or what no choice
goes below. Not its job: the program (`compose`), what a task takes by itself (`costmodels`).

A task keeps its shape (`Span`) and begins when every unit it needs is done with what came before,
what it fetches has been written and what it overwrites has been read, part by part where both go
through a buffer in the same order, or all of it, and its room on chip is free. With tokens
everybody waits for a task to end.
The first rounds of a loop are followed one by one; the others take as long as the last one of
these. Ports serve neighbours between each other's calls; all tasks together keep them busy at
least so long.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import product
from math import ceil, inf, prod

from isamap.costmodels import Passing, Room, Span, Use
from isamap.hwdesc import Hardware
from isamap.ir import Loop
from isamap.mapper import Task, TaskLoop, TaskNode, flatten

from .hazards import Delays, Hazard, find_delays, find_hazards
from .known_spans import KnownSpans, Region, Regions
from .plan import PlannedTask
from .share_chip import lay_behind

ROUNDS = 4  # of a loop that are followed one by one

# a task, its answer's identity, whether it is on the host, cycles, loops in their first round
SpanKey = tuple[int, int, bool, int, frozenset[str]]
# a round of a task: when it begins, by how much its results lag, what it may take
Begun = tuple[float, float, list[Span]]
NEVER: Begun = 0.0, 0.0, []
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
        # by the later task's number: the earlier one's
        self.hazards: dict[int, tuple[tuple[int, Hazard], ...]] = {}
        self.apart: dict[int, tuple[int, ...]] = {}
        self.spans = spans
        self.span_of: dict[SpanKey, tuple[PlannedTask, Span]] = {}
        self.calls: dict[tuple[int, ...], Span] = {}  # of several tasks, by those of each
        self.carried: dict[tuple[int, frozenset[str]], bool] = {}  # by a hazard's identity
        self.delays: dict[tuple[int, int, int], Delays] = {}  # by two spans and a hazard
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

    def before(self, number: int) -> tuple[tuple[int, Hazard], ...]:
        """The tasks on which another one depends, by their numbers, and why."""
        if number not in self.hazards:
            self.hazards[number] = tuple(
                (first, hazard)
                for first, task in self.tasks.items()
                for hazard in find_hazards(task, self.tasks[number])
            )
        return self.hazards[number]

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

    def run(
        self, nodes: tuple[TaskNode, ...], around: tuple[Loop, ...], fresh: frozenset[str]
    ) -> None:
        """One after the other, under loops of which some are in their first round."""
        for place, node in enumerate(nodes):
            if not isinstance(node, Task):
                self._repeat(node, around, fresh)
            elif not self._goes_on(node):
                self._place((node, *self._going_on(nodes[place + 1 :])), around, fresh)

    def _goes_on(self, task: Task) -> bool:
        """Does it run in the host's call of the one before it?"""
        way, *others = self.ways[task.number]
        return not others and way.goes_on is not None

    def _going_on(self, nodes: tuple[TaskNode, ...]) -> Iterator[Task]:
        """The tasks that run in the call of the one before these nodes."""
        for node in nodes:
            if not isinstance(node, Task) or not self._goes_on(node):
                return
            yield node

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
            number: (_later(before, cycles), _later(latest, cycles))
            for number, (before, latest) in self.written.items()
        }

    def _place(
        self, tasks: tuple[Task, ...], around: tuple[Loop, ...], fresh: frozenset[str]
    ) -> None:
        """A task, or several that the host runs in one call."""
        task, *others = tasks
        spans = [self._span(way, around, fresh) for way in self.ways[task.number]]
        if others:
            spans = [self._call_span(tasks, around, fresh)]
        is_known = len(spans) == 1
        uses = spans[0].uses if is_known else ()
        ahead = spans[0].ahead if is_known and not self.is_token else None
        if ahead is not None and self.is_ample:
            ahead = replace(ahead, room_cycles=inf, lead=inf)
        if is_known and not around:
            self._lay_behind(task.number)
        behind = spans[0].behind if is_known and not self.is_token else None
        fetch = begin = self._roomy(task, spans[0]) if is_known and not self.is_ample else 0.0
        ready = self._ready(tasks, spans, fresh)
        late = ready.behind
        for use in uses:
            free = self.free.get(use.unit, 0.0) - use.first
            if ahead is not None and use.unit in ahead.units:
                fetch = max(fetch, free)
            elif behind is not None and use.unit in behind.units:
                late = max(late, free - behind.pause_cycles)
            else:
                begin = max(begin, free)
        if is_known and around and not self.is_ample and task.number in self.written:
            _, (before, _, _) = self.written[task.number]
            begin = max(begin, before + spans[0].pace_cycles)
        waits = late - behind.room_cycles if behind is not None else late
        fetch, begin = max(fetch, ready.ahead), max(begin, ready.others, waits)
        begin = self.end if self.is_token else max(fetch, begin)
        done = begin  # as if everything had begun then
        if ahead is not None:
            fetch = max(fetch, begin - ahead.lead)
            done = max(fetch, begin - ahead.slack)
        lag = max(0.0, late - done) if behind is not None else 0.0
        for use in uses:
            self.free[use.unit] = done + use.last
            if ahead is not None and use.unit in ahead.units:
                room = begin + use.last - ahead.room_cycles
                self.free[use.unit] = max(fetch + use.first + ahead.busy, room)
            elif behind is not None and use.unit in behind.units:
                self.free[use.unit] += lag
        for one in tasks:
            _, latest = self.written.get(one.number, (NEVER, NEVER))
            self.written[one.number] = latest, (done, lag, spans)
        self.end = max(self.end, done + lag + min(span.cycles for span in spans))

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
            _, (start, _, others) = self.written.get(number, (NEVER, NEVER))
            if len(others) == 1:
                begin = max(begin, start + self._room_delay(number, others[0], task.number, span))
        return begin

    def _room_delay(self, before: int, old: Span, number: int, new: Span) -> float:
        """Cycles from the begin of a task to that of another one that needs its room."""
        there, here = (self.starts.get(n, frozenset()) for n in (before, number))
        key = id(old), id(new), there, here  # the first two are kept
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

    def _ready(self, tasks: tuple[Task, ...], spans: list[Span], fresh: frozenset[str]) -> Delays:
        """The earliest begins at which tasks in one call find the others to be done with what they
        touch; `fresh`: loops that are in their first round."""
        found = Delays()
        inside = {task.number for task in tasks}
        for task in tasks:
            for number, hazard in self.known.before(task.number):
                if number not in self.written:
                    continue
                before, latest = self.written[number]
                carried = self._is_carried(hazard, fresh)
                if number < task.number and number not in inside:
                    begin, lag, old = latest if hazard.in_round else before if carried else NEVER
                else:
                    begin, lag, old = latest if carried else NEVER
                if old:
                    first = self.known.tasks[number]
                    ways = (self._delay(first, task, o, n, hazard) for o, n in product(old, spans))
                    done = begin + (lag if hazard.has_written else 0.0)
                    found = found.both(reduce(Delays.either, ways).after(done))
        return found

    def _is_carried(self, hazard: Hazard, fresh: frozenset[str]) -> bool:
        key = id(hazard), fresh  # which live in `before`
        if key not in self.known.carried:
            self.known.carried[key] = hazard.is_carried(fresh)
        return self.known.carried[key]

    def _delay(self, first: Task, then: Task, old: Span, new: Span, hazard: Hazard) -> Delays:
        key = id(old), id(new), id(hazard)  # which is one of these two tasks alone
        if key not in self.known.delays:
            self.known.delays[key] = find_delays(first, then, old, new, hazard)
        return self.known.delays[key]

    def _call_span(
        self, tasks: tuple[Task, ...], around: tuple[Loop, ...], fresh: frozenset[str]
    ) -> Span:
        """One round of what the host runs in one call."""
        spans = [self._span(self.ways[task.number][0], around, fresh) for task in tasks]
        key = tuple(map(id, spans))  # which live in `span_of`
        if key not in self.known.calls:
            self.known.calls[key] = _call_span(spans)
        return self.known.calls[key]

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


def _later(begun: Begun, cycles: float) -> Begun:
    begin, lag, spans = begun
    return begin + cycles, lag, spans


def _call_span(spans: Sequence[Span]) -> Span:
    """Of a call of the host for several tasks: it touches all of its operands, all the time."""
    cycles = sum(span.cycles for span in spans)
    uses = tuple(replace(use, last=cycles) for use in spans[0].uses)
    read, written = (
        tuple(replace(one, first=cycles, last=cycles) for one in passings)
        for passings in (
            [one for span in spans for one in span.read],
            [one for span in spans for one in span.written],
        )
    )
    fetched = tuple(one for span in spans for one in span.fetched)
    begun = tuple(one for span in spans for one in span.begun)
    return Span(cycles, uses, (), fetched, read, begun, written)


def _host_span(planned: PlannedTask, rounds: int, hw: Hardware) -> Span:
    """One of so many rounds of a task on the host."""
    assert hw.host is not None, "only a host runs such tasks"
    cycles = planned.cycles / rounds
    busy = [hw.host.unit] if hw.host.is_apart else [unit.name for unit in hw.units]
    uses = tuple(Use(name, 0.0, cycles) for name in busy)
    fetched = tuple(Passing(name, "", 1, 0.0, 0.0) for name in sorted(planned.task.touched))
    read = tuple(replace(one, first=cycles, last=cycles) for one in fetched)
    begun = Passing(planned.task.statement.target.buffer, "", 1, 0.0, 0.0)
    written = replace(begun, first=cycles, last=cycles)
    return Span(cycles, uses, (), fetched, read, (begun,), (written,))


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
