"""What tasks fetch at least again over held loops, because no memory holds all of it.

In: how tasks run. Out: the load beyond one pass of every flow. Not its job: that one pass
(`least_load`).

An input that does not change over the T iterations of the outermost held loops is used whole in
each of them. What its memories on the way to the unit, up to where a flow brings it, cannot hold
comes through that flow again in every iteration but the first. Flows of several tasks into the same
memories share that room; flows into different ones cannot hold more than all of these together.
Source: Hong and Kung, I/O complexity: the red-blue pebble game; here for one reuse.
"""

from dataclasses import dataclass
from itertools import takewhile
from math import prod

from isamap.costmodels import Flow, Load
from isamap.hwdesc import Hardware
from isamap.ir import Role, size_bytes
from isamap.mapper import Covering, OperandPlan

from .plan import PlannedTask

Memories = tuple[str, ...]  # that a flow passes from the unit outwards


@dataclass(frozen=True, slots=True)
class _Again:
    """A flow that brings the same `size_bytes` in every iteration, unless they stay."""

    flow: Flow
    size_bytes: int


def held_load(planned: tuple[PlannedTask, ...], hw: Hardware) -> list[Load]:
    """One load per unit that fetches, and per number of iterations; none on machines of several
    cores, whose room is shared out."""
    if hw.cores is not None:
        return []
    groups: dict[tuple[int, str], dict[Memories, list[_Again]]] = {}
    for task in planned:
        if not task.on_host and task.task.held:
            covering, work = task.best.covering, task.best.work
            for flow in work.flows:
                operand = covering.operand(flow.operand)
                times = _times(operand, flow, covering)
                if times > 1:
                    memories = tuple(r.memory for r in operand.residences[: flow.residence + 1])
                    again = _Again(flow, _bytes(operand, flow.residence, covering))
                    rows = groups.setdefault((times, flow.unit), {})
                    rows.setdefault(memories, []).append(again)
    return [_load(key, rows, hw) for key, rows in groups.items()]


def _times(operand: OperandPlan, flow: Flow, covering: Covering) -> int:
    """How often all of it is used: in every iteration of held loops around those that move it."""
    if operand.role is not Role.IN or flow.is_drain or flow.windows:
        return 1
    around = takewhile(lambda name: name not in operand.loops, covering.held)
    return prod(covering.loop(name).kernel_extent for name in around)


def _bytes(operand: OperandPlan, last: int, covering: Covering) -> int:
    """Of the whole operand where it takes the least, in residences up to the `last`."""
    elements = prod(covering.loop(name).kernel_extent for name in operand.loops)
    return elements * min(size_bytes(r.dtype) for r in operand.residences[: last + 1])


def _load(key: tuple[int, str], rows: dict[Memories, list[_Again]], hw: Hardware) -> Load:
    """The least that the flows bring again: those into each memory, or all of them together; of
    the cheapest of them."""
    times, unit = key
    apart = [_excess(memories, group, hw) for memories, group in rows.items()]
    every = [again for group in rows.values() for again in group]
    union = tuple(dict.fromkeys(name for memories in rows for name in memories))
    excess = (times - 1) * max(sum(apart), _excess(union, every, hw))
    rate = min(again.flow.pass_cycles / again.size_bytes for again in every)
    ports = {port for again in every for port, _ in again.flow.ports}
    rates = {
        port: min(dict(again.flow.ports).get(port, 0.0) / again.size_bytes for again in every)
        for port in sorted(ports)
    }
    return Load(((unit, excess * rate),), tuple((p, excess * r) for p, r in rates.items()))


def _excess(memories: Memories, group: list[_Again], hw: Hardware) -> int:
    """Bytes that these memories cannot hold."""
    room = sum(hw.memory(name).size_bytes for name in memories)
    return max(0, sum(again.size_bytes for again in group) - room)
