"""The timing mode in Python: the same contract as the compiled one, slowly.

In: a Bound program. Out: the numbers that `time_program` names. Not its job: the contract
(docs/timing.md).
Hazards are tracked per granule in NumPy arrays.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import itemgetter

import numpy as np

from isamap.hwdesc import Expression

from .bind import Bound, Extent, takes_turns
from .c_text import Fault
from .c_timing import ENERGY_SCALE
from .cores import num_queues, touched_copies, used_cores
from .faults import show_call
from .python_events import NOBODY, Observer
from .python_exposed import Exposed
from .python_touched import Place, Touched
from .python_walk import Step, step_error, walk_steps
from .region import Region
from .waits import Wait


@dataclass(slots=True)
class _Tracker:
    """Per granule of one memory, all its copies one after the other: when it may next be read,
    written or updated, and by whom it was last touched."""

    granule: int
    finish: np.ndarray
    ended: np.ndarray
    soon: np.ndarray
    tag: np.ndarray
    writer: np.ndarray
    reader: np.ndarray
    owner: np.ndarray


@dataclass(slots=True)
class _State:
    """Everything that changes while the program runs."""

    free: dict[Place, list[int]]  # per copy of a unit, its instances
    last: dict[Place, int]
    done: dict[Place, int]
    busy: dict[Place, int]
    queues: dict[Place, deque[int]]  # per copy of a channel
    ports: dict[Place, list[tuple[int, int]]]  # per copy of a port
    port_busy: dict[Place, int]
    reads: list[int]
    writes: list[int]
    calls: list[int]
    energies: list[int]
    used: list[Place]  # copies of units that some call runs on
    exposed: Exposed
    touched: Touched
    observer: Observer
    total: int = 0
    names: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)


# a region, its memory, its granules, and how long after the call's start it touches each of them
_Touched = tuple[Region, _Tracker, np.ndarray, np.ndarray]


def interpret_timing(bound: Bound) -> tuple[int, ...]:
    """Total, then busy, ports, reads, writes, calls and energies, in the order of the compiled
    execution."""
    state = _interpret(bound, {})
    lists = (state.reads, state.writes, state.calls, state.energies)
    busy = (*state.busy.values(), *state.port_busy.values())
    return (state.total, *busy, *(value for values in lists for value in values))


def interpret_starts(
    bound: Bound, floors: Mapping[str, Mapping[int, int]], kept: int
) -> tuple[list[tuple[int, int]], Mapping[tuple[str, int], int]]:
    """(number of the call, cycle in which it starts), in program order, and entries that are read
    too early for the next one: by memory and number, the cycle before which they must not be."""
    state = _interpret(bound, floors, kept)
    pairs = [(number, start) for (number, _), start in zip(state.names, state.exposed.starts)]
    return pairs, state.exposed.late


def observe_timing(bound: Bound, observer: Observer) -> None:
    """Run the program for what `observer` sees of it."""
    _interpret(bound, {}, observer=observer)


def _interpret(
    bound: Bound,
    floors: Mapping[str, Mapping[int, int]],
    kept: int = 0,
    observer: Observer = NOBODY,
) -> _State:
    hardware = bound.hardware
    trackers = {
        extent.memory: _Tracker(
            extent.granule_bytes,
            *(np.zeros(_num_granules(bound, extent), np.int64) for _ in range(7)),
        )
        for extent in bound.extents
    }
    units = [
        (number, copy)
        for number, unit in enumerate(hardware.units)
        for copy in range(hardware.num_copies(unit.name))
    ]
    ports = [
        (number, copy)
        for number, port in enumerate(bound.ports)
        for copy in range(hardware.num_copies(port.memory))
    ]
    queues = [
        (number, copy)
        for number in range(len(hardware.channels))
        for copy in range(num_queues(hardware, number))
    ]
    state = _State(
        free={place: [0] * hardware.units[place[0]].count for place in units},
        last=dict.fromkeys(units, 0),
        done=dict.fromkeys(units, 0),
        busy=dict.fromkeys(units, 0),
        queues={place: deque() for place in queues},
        ports={place: [] for place in ports},
        port_busy=dict.fromkeys(ports, 0),
        reads=[0] * len(bound.extents),
        writes=[0] * len(bound.extents),
        calls=[0] * len(bound.calls),
        energies=[0] * len(bound.calls),
        used=_used_units(bound),
        exposed=Exposed(bound, floors, kept),
        touched=Touched(bound),
        observer=observer,
    )
    for step in walk_steps(bound):
        _execute(bound, state, trackers, step)
    return state


def _num_granules(bound: Bound, extent: Extent) -> int:
    copies = bound.hardware.num_copies(extent.memory)
    return copies * extent.size_bytes // extent.granule_bytes + 1


def _used_units(bound: Bound) -> list[Place]:
    places = {
        (call.unit, copy)
        for call in bound.calls
        for core in used_cores(call.site, dict(call.loops))
        for copy in touched_copies(bound.hardware, call.instruction.unit, core, (0,))
    }
    return sorted(places)


def _execute(bound: Bound, state: _State, trackers: dict[str, _Tracker], step: Step) -> None:
    call = step.call
    mine = call.unit, touched_copies(bound.hardware, call.instruction.unit, step.core, (0,))[0]
    unit = state.free[mine]
    issue = _cost(call.instruction.issue_cycles, step)
    latency = _cost(call.instruction.latency_cycles, step)
    latency = latency if call.instruction.stream else max(issue, latency)
    which = unit.index(min(unit))
    start = unit[which] if len(unit) == 1 else max(unit[which], state.last[mine])
    see = state.observer
    see.begin(unit[which], start)
    start = _pop(bound, state, step, start)
    if takes_turns(bound, call):
        frees = [free for instances in state.free.values() for free in instances]
        start = see.later(start, max(frees), Wait.TURN)
    state.exposed.read_entry(step)
    asked = state.exposed.timed_start(step, (start, which), state.names)
    touched = [
        (region, trackers[region.memory], *state.touched.granules(step, position))
        for position, region in enumerate(call.regions)
    ]
    is_tokens = bound.hardware.has_tokens
    if asked is not None:
        _check_hazards(bound, state, step, touched, asked)
        state.exposed.check_ports(step, asked, _port_fits(state, step, asked))
        start = see.later(start, asked, Wait.PROGRAM)
    else:
        own = _owner(bound, mine) if is_tokens else None
        ready, wait, operand = _ready(bound, step, touched, own)
        start = see.later(start, ready, wait, operand)
        start = see.later(start, state.exposed.earliest(step), Wait.ENTRY)
    start = _reserve(bound, state, step, start)
    if is_tokens:
        _check_hazards(bound, state, step, touched, start)
    for found in touched:
        when = (start, issue, latency, len(state.names), _owner(bound, mine))
        _mark(bound, step, found, when)
    see.call(step, (mine[1], which), (start, issue, latency), state.touched.port_needs(step))
    see.touch(start, issue, [(region, where) for region, _, where, _ in touched])
    state.exposed.mark(step, (start, which), latency, len(state.names))
    unit[which] = start + issue
    for instances in state.free.values() if takes_turns(bound, call) else ():
        instances[:] = [start + issue] * len(instances)
    state.last[mine] = start
    state.busy[mine] += issue
    state.done[mine] = max(state.done[mine], start + latency)
    state.total = max(state.total, start + latency)
    state.calls[call.number] += 1
    state.names.append((call.number, step.values))
    if call.instruction.energy_pj is not None:
        scaled = call.instruction.energy_pj.scaled(ENERGY_SCALE)
        state.energies[call.number] += _cost(scaled, step)
    for channel in call.pushes:
        for queue in _queues(bound, state, step, channel):
            if len(queue) >= bound.hardware.channels[channel].depth:
                raise step_error(bound, step, Fault.OVERFLOW, channel)
            queue.append(state.done[mine])


def _pop(bound: Bound, state: _State, step: Step, start: int) -> int:
    """When the call's tokens are there, not before `start`."""
    for channel in step.call.pops:
        for queue in _queues(bound, state, step, channel):
            if not queue:
                raise step_error(bound, step, Fault.DEADLOCK, channel)
            start = state.observer.later(start, queue.popleft(), Wait.TOKEN, channel)
    return start


def _ready(
    bound: Bound, step: Step, touched: list[_Touched], own: int | None
) -> tuple[int, Wait, int]:
    """From when on all regions may be touched (`own`: as far as one unit's results go), for whom
    that waits, at which operand."""
    found = 0, Wait.QUEUE, 0
    for region, tracker, where, after in touched:
        rows = _times(bound, step, region, tracker, where)
        for (times, _, units), wait in zip(rows, (Wait.WRITER, Wait.READERS)):
            awaited = times - after if own is None else (times - after)[units == own]
            found = max(
                found, (int(awaited.max(initial=0)), wait, region.operand), key=itemgetter(0)
            )
    return found


def _owner(bound: Bound, place: Place) -> int:
    """A number for a copy of a unit, 0 being nobody."""
    return 1 + place[0] * bound.hardware.num_cores + place[1]


def _queues(bound: Bound, state: _State, step: Step, channel: int) -> list[deque[int]]:
    """The channel's queues of all cores that the call acts on."""
    is_private = num_queues(bound.hardware, channel) > 1
    copies = [step.core + offset for offset in step.call.site.reach] if is_private else [0]
    return [state.queues[channel, copy] for copy in copies]


def _cost(expression: Expression, step: Step) -> int:
    return expression.evaluate({name: step.extents[name] for name in expression.names})


def _times(
    bound: Bound, step: Step, region: Region, tracker: _Tracker, where: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Per granule: from when it may be touched, the serial of the call that decides so, its unit
    (-1: unknown)."""
    is_renamed = bound.hardware.memory(region.memory).never_waits
    if is_renamed and not region.is_read:
        return []
    finish = tracker.finish[where]
    if step.call.accumulates(region):
        is_same = tracker.tag[where] == _tag(bound, step)
        finish = np.where(is_same, tracker.soon[where], finish)
    times = [(finish, tracker.writer[where], tracker.owner[where])]
    if region.is_written and not is_renamed:
        unknown = np.full(where.shape, -1)
        times.append((tracker.ended[where], tracker.reader[where], unknown))
    return times


def _tag(bound: Bound, step: Step) -> int:
    """A number for the sums that the instruction adds to, never 0."""
    return 1 + [i.name for i in bound.hardware.instructions].index(step.call.sums)


def _check_hazards(
    bound: Bound, state: _State, step: Step, touched: list[_Touched], start: int
) -> None:
    for region, tracker, where, after in touched:
        for times, others, _ in _times(bound, step, region, tracker, where):
            late = np.flatnonzero(times - after > start)
            if late.size:
                address = int(where[late[0]]) * tracker.granule
                other = show_call(bound, *state.names[int(others[late[0]])])
                cycles = (int((times - after)[late[0]]), start)
                raise step_error(
                    bound, step, Fault.HAZARD, region.operand, address, 0, other, cycles
                )


def _mark(
    bound: Bound, step: Step, touched: _Touched, when: tuple[int, int, int, int, int]
) -> None:
    region, tracker, where, after = touched
    start, issue, latency, serial, owner = when
    before_end = after.max(initial=0) - after
    if not region.is_written:
        np.maximum.at(tracker.ended, where, start + issue - before_end)
        tracker.reader[where] = serial
        return
    tracker.finish[where] = start + latency - before_end
    tracker.writer[where] = serial
    tracker.owner[where] = owner
    tracker.tag[where] = 0
    accumulate = step.call.instruction.accumulate_cycles
    if step.call.is_continued(region) and accumulate is not None:
        tracker.soon[where] = start + after + _cost(accumulate, step)
        tracker.tag[where] = _tag(bound, step)


def _reserve(bound: Bound, state: _State, step: Step, start: int) -> int:
    """Reserve every port the call needs from the earliest cycle on at which all have room."""
    for region, size in zip(step.call.regions, state.touched.sizes(step)):
        memory = bound.extent_number(region.memory)
        state.reads[memory] += size * region.is_read
        copies = touched_copies(bound.hardware, region.memory, step.core, step.call.site.reach)
        state.writes[memory] += size * region.is_written * len(copies)
    needs = state.touched.port_needs(step)
    before = -1
    while before != start:
        before = start
        for place, length in needs:
            fit = _fit(state.ports[place], start, length)
            start = state.observer.later(start, fit, Wait.PORT, place[0])
        start = state.exposed.fit_slot(step, start)
    for place, length in needs:
        if length:
            state.ports[place].append((start, start + length))
            state.ports[place].sort()
            state.port_busy[place] += length
    idle = min(min(state.free[place]) for place in state.used)
    for place, _ in needs:
        state.ports[place] = [pair for pair in state.ports[place] if pair[1] > idle]
    return start


def _port_fits(state: _State, step: Step, start: int) -> list[tuple[int, int]]:
    """Every port that the call uses, and from when on it has room, not before `start`."""
    return [
        (place[0], _fit(state.ports[place], start, length))
        for place, length in state.touched.port_needs(step)
    ]


def _fit(taken: list[tuple[int, int]], start: int, length: int) -> int:
    """Earliest cycle from `start` on with `length` free cycles; `taken` ascends."""
    if length == 0:
        return start
    for first, end in taken:
        if first >= start + length:
            break
        if end > start:
            start = end
    return start
