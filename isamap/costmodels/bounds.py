"""What limits a covering: lower bounds of every kind, side by side.

In: a covering, its work, the machine. Out: rows of cycles that no tiling of it goes below, each
with what sets it. Not its job: bounds over all coverings (`roofline`).
"""

from dataclasses import dataclass
from math import ceil, prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, call_classes

from .io_bound import chip_bytes, least_traffic
from .least import SUMMED, least_load, unit_floor
from .occupancy import least_occupancy
from .outlast import port_floor
from .ports import port_cycles
from .work import Work

CRITICAL_PATH = "critical path"
CALLS = "its calls, each copy once"


@dataclass(frozen=True, slots=True)
class Bound:
    """`cycles` that `name` alone takes, and why."""

    name: str
    cycles: int
    reason: str


def find_bounds(covering: Covering, work: Work, hw: Hardware) -> tuple[Bound, ...]:
    """Every unit, every port, memories through which blocks pass, the traffic that the chip's room
    makes necessary, the longest chain of calls that wait for each other; the largest first."""
    load = least_load(covering, work)
    passed = {port: CALLS for port, _ in work.ports}  # by each call again
    rows = [
        Bound(f"unit {name}", ceil(unit_floor(hw, name, c) - SUMMED), CALLS)
        for name, c in load.units
    ]
    for port, busy in load.ports:
        cycles = ceil(port_floor(hw, port, busy) - SUMMED)
        rows.append(Bound(f"port {'.'.join(port)}", cycles, passed.get(port, "each byte once")))
    rows += [
        Bound(f"room of {memory}", ceil(cycles - SUMMED), "blocks come, are used, and go")
        for memory, cycles in least_occupancy(covering, work, hw)
    ]
    rows += _traffic_bounds(covering, hw)
    rows.append(Bound(CRITICAL_PATH, critical_path(covering, hw), "calls that wait for each other"))
    return tuple(sorted(rows, key=lambda row: -row.cycles))


def _traffic_bounds(covering: Covering, hw: Hardware) -> list[Bound]:
    """External ports under the traffic that no program of the kernel goes below."""
    read, written = least_traffic(covering.kernel, hw)
    room = f"{chip_bytes(hw) / 1024:.0f} KiB on chip"
    rows = []
    for port_name, cycles in port_cycles(hw, read, written):
        moved = {"read": read, "write": written}.get(port_name.split()[-1], read + written)
        rows.append(Bound(f"traffic {port_name}", cycles, f"{moved} bytes, {room}"))
    return rows


def critical_path(covering: Covering, hw: Hardware) -> int:
    """Cycles of calls that wait for each other whatever the tiling: the shortest fetch of some
    operand, all updates of one block of the result, the shortest way out.

    Updates follow each other after `accumulate` cycles; in the rounds of a hardware loop they need
    not, so that instructions with such loops count one update.
    """
    instruction = hw.instruction(covering.instruction)
    classes = [values for _, values in call_classes(instruction, covering.binding, covering.loops)]
    latency = min(
        max(instruction.latency_cycles.evaluate(v), instruction.issue_cycles.evaluate(v))
        for v in classes
    )
    fetch = max((_way_in(plan, hw) for plan in covering.operands), default=0)
    out = max((_way_out(plan, hw) for plan in covering.operands), default=0)
    chain = 0
    result = next(plan for plan in covering.operands if plan.name == instruction.result.buffer)
    if not instruction.repeats:
        rounds = prod(x.units for x in covering.loops if x.name not in result.loops)
        apart = instruction.accumulate_cycles
        soonest = min(apart.evaluate(v) for v in classes) if apart else latency
        chain = (rounds - 1) * soonest
    return fetch + chain + latency + out


def _way_in(plan: OperandPlan, hw: Hardware) -> int:
    """The shortest calls that bring a block of an input through its residences."""
    fills = [residence.fill for residence in plan.residences if residence.fill is not None]
    return sum(_shortest(hw, fill.instruction) for fill in fills)


def _way_out(plan: OperandPlan, hw: Hardware) -> int:
    drains = [residence.drain for residence in plan.residences if residence.drain is not None]
    return sum(_shortest(hw, drain.instruction) for drain in drains)


def _shortest(hw: Hardware, name: str) -> int:
    """Cycles until the results of a call of one element are there; 0 where a larger call may be
    shorter."""
    instruction = hw.instruction(name)
    ones = {loop: 1 for loop, _ in instruction.extents} | {r.name: 1 for r in instruction.repeats}
    full = {loop: rule.maximum for loop, rule in instruction.extents} | {
        r.name: 1 for r in instruction.repeats
    }
    times = [instruction.latency_cycles.evaluate(values) for values in (ones, full)]
    return times[0] if times[0] <= times[1] else 0
