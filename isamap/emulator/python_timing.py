"""The timing mode in Python: the same contract as the compiled one, slowly.

In: a Bound program. Out: the numbers that `time_program` names. Not its job: the contract
(docs/timing.md).
Hazards are tracked per granule in NumPy arrays.
"""

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from isamap.hwdesc import Expression, Synchronisation

from .bind import Bound
from .c_text import Fault
from .c_timing import ENERGY_SCALE
from .faults import show_call
from .python_walk import Step, step_error, walk_steps
from .region import Region


@dataclass(slots=True)
class _Tracker:
    """Per granule of one memory: when it may next be read, written or updated, and by whom it was
    last touched."""

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

    free: list[list[int]]
    last: list[int]
    done: list[int]
    busy: list[int]
    queues: list[deque[int]]
    ports: list[list[tuple[int, int]]]
    port_busy: list[int]
    reads: list[int]
    writes: list[int]
    calls: list[int]
    energies: list[int]
    total: int = 0
    names: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)


def interpret_timing(bound: Bound) -> tuple[int, ...]:
    """Total, then busy, ports, reads, writes, calls and energies, in the order of the compiled
    execution."""
    hardware = bound.hardware
    trackers = {
        extent.memory: _Tracker(
            extent.granule_bytes,
            *(np.zeros(extent.size_bytes // extent.granule_bytes + 1, np.int64) for _ in range(7)),
        )
        for extent in bound.extents
    }
    state = _State(
        free=[[0] * unit.count for unit in hardware.units],
        last=[0] * len(hardware.units),
        done=[0] * len(hardware.units),
        busy=[0] * len(hardware.units),
        queues=[deque() for _ in hardware.channels],
        ports=[[] for _ in bound.ports],
        port_busy=[0] * len(bound.ports),
        reads=[0] * len(bound.extents),
        writes=[0] * len(bound.extents),
        calls=[0] * len(bound.calls),
        energies=[0] * len(bound.calls),
    )
    for step in walk_steps(bound):
        _execute(bound, state, trackers, step)
    lists = (state.busy, state.port_busy, state.reads, state.writes, state.calls, state.energies)
    return (state.total, *(value for values in lists for value in values))


def _execute(bound: Bound, state: _State, trackers: dict[str, _Tracker], step: Step) -> None:
    call = step.call
    unit = state.free[call.unit]
    issue = _cost(call.instruction.issue_cycles, step)
    latency = max(issue, _cost(call.instruction.latency_cycles, step))
    which = unit.index(min(unit))
    start = unit[which] if len(unit) == 1 else max(unit[which], state.last[call.unit])
    for channel in call.pops:
        if not state.queues[channel]:
            raise step_error(bound, step, Fault.DEADLOCK, channel)
        start = max(start, state.queues[channel].popleft())
    is_tokens = bound.hardware.synchronisation is Synchronisation.TOKENS
    touched = [
        (region, trackers[region.memory], _granules(bound, step, region)) for region in call.regions
    ]
    for region, tracker, where in touched:
        for times, _, units in _times(step, region, tracker, where):
            awaited = times[units == call.unit] if is_tokens else times
            start = max(start, int(awaited.max(initial=0)))
    start = _reserve(bound, state, step, start)
    if is_tokens:
        for region, tracker, where in touched:
            _check_hazard(bound, state, step, (region, tracker, where), start)
    for region, tracker, where in touched:
        _mark(step, region, tracker, where, (start, issue, latency, len(state.names)))
    unit[which] = start + issue
    state.last[call.unit] = start
    state.busy[call.unit] += issue
    state.done[call.unit] = max(state.done[call.unit], start + latency)
    state.total = max(state.total, start + latency)
    state.calls[call.number] += 1
    state.names.append((call.number, step.values))
    if call.instruction.energy_pj is not None:
        scaled = call.instruction.energy_pj.scaled(ENERGY_SCALE)
        state.energies[call.number] += _cost(scaled, step)
    for channel in call.pushes:
        if len(state.queues[channel]) >= bound.hardware.channels[channel].depth:
            raise step_error(bound, step, Fault.OVERFLOW, channel)
        state.queues[channel].append(state.done[call.unit])


def _cost(expression: Expression, step: Step) -> int:
    return expression.evaluate({name: step.extents[name] for name in expression.names})


def _granules(bound: Bound, step: Step, region: Region) -> np.ndarray:
    """Numbers of all granules a region touches."""
    granule = bound.extent(region.memory).granule_bytes
    offsets = np.arange(0, region.item_bytes, 1)
    for dim in region.all_dims:
        steps = np.arange(dim.count(step.extents)) * dim.stride_bytes
        offsets = (steps[:, None] + offsets).ravel()
    return np.unique((offsets + step.addresses[region.operand] + region.start_bytes) // granule)


def _times(
    step: Step, region: Region, tracker: _Tracker, where: np.ndarray
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Per granule: from when it may be touched, the serial of the call that decides so, its unit
    (-1: unknown)."""
    finish = tracker.finish[where]
    if step.call.accumulates(region):
        is_same = tracker.tag[where] == _tag(step)
        finish = np.where(is_same, tracker.soon[where], finish)
    times = [(finish, tracker.writer[where], tracker.owner[where])]
    if region.is_written:
        unknown = np.full(where.shape, -1)
        times.append((tracker.ended[where], tracker.reader[where], unknown))
    return times


def _tag(step: Step) -> int:
    """A number for the instruction, never 0; calls share their machine's objects."""
    return id(step.call.instruction)


def _check_hazard(
    bound: Bound,
    state: _State,
    step: Step,
    touched: tuple[Region, _Tracker, np.ndarray],
    start: int,
) -> None:
    region, tracker, where = touched
    for times, others, _ in _times(step, region, tracker, where):
        late = np.flatnonzero(times > start)
        if late.size:
            address = int(where[late[0]]) * tracker.granule
            other = show_call(bound, *state.names[int(others[late[0]])])
            raise step_error(bound, step, Fault.HAZARD, region.operand, address, 0, other)


def _mark(
    step: Step,
    region: Region,
    tracker: _Tracker,
    where: np.ndarray,
    when: tuple[int, int, int, int],
) -> None:
    start, issue, latency, serial = when
    if not region.is_written:
        tracker.ended[where] = np.maximum(tracker.ended[where], start + issue)
        tracker.reader[where] = serial
        return
    tracker.finish[where] = start + latency
    tracker.writer[where] = serial
    tracker.owner[where] = step.call.unit
    tracker.tag[where] = 0
    accumulate = step.call.instruction.accumulate_cycles
    if step.call.accumulates(region) and accumulate is not None:
        tracker.soon[where] = start + _cost(accumulate, step)
        tracker.tag[where] = _tag(step)


def _reserve(bound: Bound, state: _State, step: Step, start: int) -> int:
    """Reserve every port the call needs from the earliest cycle on at which all have room."""
    sizes = [region.num_bytes(step.extents) for region in step.call.regions]
    for region, size in zip(step.call.regions, sizes):
        memory = [extent.memory for extent in bound.extents].index(region.memory)
        state.reads[memory] += size * region.is_read
        state.writes[memory] += size * region.is_written
    needs: list[tuple[int, int]] = []
    for use in step.call.ports:
        total = sum(sizes[region] for region in use.regions)
        rate = bound.ports[use.port].rate
        needs.append((use.port, -(-total * rate.denominator // rate.numerator)))
    before = -1
    while before != start:
        before = start
        for port, length in needs:
            start = _fit(state.ports[port], start, length)
    for port, length in needs:
        if length:
            state.ports[port].append((start, start + length))
            state.ports[port].sort()
            state.port_busy[port] += length
    idle = min(
        min(instances)
        for number, instances in enumerate(state.free)
        if any(call.unit == number for call in bound.calls)
    )
    for port, _ in needs:
        state.ports[port] = [pair for pair in state.ports[port] if pair[1] > idle]
    return start


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
