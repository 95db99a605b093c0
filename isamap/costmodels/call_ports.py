"""Port cycles of the compute calls themselves.

In: a covering, the machine. Out: cycles per port, or of the nearest cache, over all calls. Not its
job: copies (`work`), refills (`caches`).
"""

from collections.abc import Collection, Mapping
from math import gcd, inf, prod

from isamap.hwdesc import Direction, Hardware
from isamap.ir import Role, size_bytes
from isamap.mapper import Covering, OperandPlan, Transfer, call_classes

from .traffic import CallClass, Port, count_ports


def call_ports(
    covering: Covering,
    classes: Collection[CallClass],
    hw: Hardware,
    *,
    partial: Collection[str],
) -> tuple[tuple[Port, float], ...]:
    """What the compute calls take of the ports of the memories whose operands they use, at the unit
    or where they lie.

    `classes`: of the calls of all cores; of memories that each core has, the busiest core's share
    of them is taken. `partial`: loops of which some calls run less.
    """
    instruction = hw.instruction(covering.instruction)
    cycles = dict(count_ports(instruction, classes, hw, partial=partial))
    if covering.shares:
        mine = call_classes(instruction, covering.binding, covering.loops)
        own = count_ports(instruction, mine, hw, partial=partial)
        cycles |= {port: busy for port, busy in own if hw.num_copies(port[0]) > 1}
    return tuple(cycles.items())


def served_cycles(covering: Covering, classes: Collection[CallClass], hw: Hardware) -> float:
    """How long the nearest cache hands calls what they read in place."""
    if not hw.caches or not hw.caches[0].reads_per_cycle:
        return 0.0
    each = 1 / hw.caches[0].reads_per_cycle
    ports = (p for p in hw.caches[0].ports if p.direction is not Direction.WRITE)
    pace = min((port.bytes_per_cycle for port in ports), default=inf)
    direct = [plan for plan in covering.operands if _is_served(plan)]
    return sum(
        times * sum(max(each, _moved_bytes(covering, plan, values, hw) / pace) for plan in direct)
        for times, values in classes
    )


def split_cycles(covering: Covering, plan: OperandPlan, transfer: Transfer, hw: Hardware) -> float:
    """What a call that copies a row into registers waits on average where that lies in two lines of
    the nearest cache: arrays begin on a line, their rows where the row before ends."""
    end = plan.inlet
    fetched = hw.instruction(transfer.instruction)
    target = fetched.semantics.statements[0].target.buffer
    dims = [dim for _, dims in transfer.assigned for dim in dims]
    if (
        not hw.caches
        or not hw.caches[0].split_cycles
        or end is None
        or end.home is not None
        or all(r.memory != hw.external.name for r in fetched.operands if r.name != target)
        or any(dim.source_stride_bytes not in (0, size_bytes(end.layout.dtype)) for dim in dims)
    ):
        return 0.0
    element = size_bytes(end.layout.dtype)
    row = element * prod(dim.extent for dim in dims if dim.source_stride_bytes)
    line = hw.caches[0].granule_bytes
    steps = (
        axis.step(covering.loop(name)) * stride
        for axis, stride in zip(plan.axes, end.axis_strides_bytes, strict=True)
        for name in axis.loops
    )
    starts = range(0, line, gcd(line, *steps))
    return hw.caches[0].split_cycles * sum(at + row > line for at in starts) / len(starts)


def _is_served(plan: OperandPlan) -> bool:
    return plan.role is Role.IN and (not plan.residences or plan.residences[0].is_packed)


def _moved_bytes(
    covering: Covering, plan: OperandPlan, values: Mapping[str, int], hw: Hardware
) -> int:
    """Of one call with these extents."""
    count = size_bytes(plan.dtype)
    for index in hw.instruction(covering.instruction).access(plan.name).indices:
        for loop in index.names:
            count *= values[loop]
    return count
