"""What tasks fetch at least again over held loops, because no memory holds all of it.

In: how tasks run. Out: the load beyond one pass of every flow. Not its job: that one pass
(`least_load`).

An input that does not change over the T iterations of held loops is used whole in each of them.
What its memories on the way to the unit, up to where a flow brings it, cannot hold comes through
that flow again in every iteration but the first. Flows of several tasks into the same memories
share that room.
Source: Hong and Kung, I/O complexity: the red-blue pebble game; here for one reuse.
"""

from dataclasses import dataclass
from math import prod

from isamap.costmodels import Flow, Load, operand_plan
from isamap.hwdesc import Hardware
from isamap.ir import Role, size_bytes
from isamap.mapper import Covering, OperandPlan

from .plan import PlannedTask

# iterations, the memories that it passes from the unit outwards, the unit that fetches
FlowKey = tuple[int, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class _Again:
    """A flow that brings the same `size_bytes` in every iteration, unless they stay."""

    flow: Flow
    size_bytes: int


def held_load(planned: tuple[PlannedTask, ...], hw: Hardware) -> list[Load]:
    """One load per set of memories; none on machines of several cores, whose room is shared out."""
    if hw.cores is not None:
        return []
    groups: dict[FlowKey, list[_Again]] = {}
    for task in planned:
        if not task.on_host and task.task.held:
            covering, work = task.best.covering, task.best.work
            times = prod(covering.loop(name).kernel_extent for name in covering.held)
            for flow in work.flows:
                operand = operand_plan(covering, flow.operand)
                if _comes_again(operand, flow, covering):
                    memories = tuple(r.memory for r in operand.residences[: flow.residence + 1])
                    again = _Again(flow, _bytes(operand, covering))
                    groups.setdefault((times, memories, flow.unit), []).append(again)
    return [_load(key, group, hw) for key, group in groups.items()]


def _comes_again(operand: OperandPlan, flow: Flow, covering: Covering) -> bool:
    is_same = not set(covering.held) & set(operand.loops)
    return operand.role is Role.IN and not flow.is_drain and not flow.windows and is_same


def _bytes(operand: OperandPlan, covering: Covering) -> int:
    elements = prod(covering.loop(name).kernel_extent for name in operand.loops)
    return elements * size_bytes(operand.dtype)


def _load(key: FlowKey, group: list[_Again], hw: Hardware) -> Load:
    """The least that the flows bring again: of the cheapest of them."""
    times, memories, unit = key
    room = sum(hw.memory(name).size_bytes for name in memories)
    excess = (times - 1) * max(0, sum(again.size_bytes for again in group) - room)
    rate = min(again.flow.pass_cycles / again.size_bytes for again in group)
    ports = {port for again in group for port, _ in again.flow.ports}
    rates = {
        port: min(dict(again.flow.ports).get(port, 0.0) / again.size_bytes for again in group)
        for port in sorted(ports)
    }
    return Load(((unit, excess * rate),), tuple((p, excess * r) for p, r in rates.items()))
