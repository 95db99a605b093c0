"""What waits behind results in a queue that takes them out and brings data in, too.

In: a covering, its work, a tiling, the machine. Out: how long one drain holds up what is queued
behind it, and how often. Not its job: one tile of sums after the other (`waiting.swap_limits`).
"""

from dataclasses import dataclass
from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan

from .chains import independent_loops
from .flow import Flow
from .passes import fetches, flow_cycles, flow_passes, may_leave_late, moves_blocks
from .tiling import Stay, Tiling, guards, trips
from .work import Work


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Per drain that stands in the queue before the fills of what is computed next: `idle_cycles`
    of the queue, from its last fill until the result is there; `waiting_cycles` of the computing
    unit, until the first fill behind the drain has arrived. `is_apart`: must it keep a distance
    from all computing before it, that of later tiles included? `is_onward`: it goes on from a
    passage, one block late, so that of a tile's blocks the last but one stands before fills;
    `each_cycles`: for every other one of those that are completed by a call each, more. `is_own`:
    all that its queue brings in are sums to begin from, of the same operand."""

    drain: Flow
    idle_cycles: float
    waiting_cycles: float
    is_apart: bool
    is_onward: bool = False
    is_own: bool = False
    each_cycles: float = 0.0


def find_held_up(work: Work, plan: OperandPlan, residence: int, hw: Hardware) -> HeldUp | None:
    """None where nothing else is queued, or nobody waits for an earlier use."""
    never_waits = hw.memory(plan.residences[residence].memory).never_waits
    if never_waits or hw.has_tokens:
        return None
    mine = (f for f in work.flows_at(plan.name, residence) if f.unit != work.compute_unit)
    drain = next((f for f in mine if f.is_drain), None)
    if drain is None:
        return None
    transfer = plan.residences[residence].drain
    assert transfer is not None, "it has a flow"
    others = _other_fills(work, plan, drain)
    if transfer.onward is not None:
        onward = _held_up_onward(work, plan, residence)
        if onward is not None or others:
            return onward
    own = [f for f in work.flows_at(plan.name, residence) if f.unit == drain.unit]
    fills = others or [f for f in own if not f.is_drain]
    if not fills:
        return None
    way = max(f.lead_cycles - f.first_cycles for f in fills)
    latency = max(work.latency_cycles, drain.apart_cycles)
    waiting = latency - work.issue_cycles + drain.first_cycles
    waiting += min(f.lead_cycles for f in fills)
    is_apart = drain.apart_cycles > 0
    return HeldUp(drain, latency + way, waiting, is_apart, is_own=not others)


def _held_up_onward(work: Work, plan: OperandPlan, residence: int) -> HeldUp | None:
    """Waiting alone: while the last block of a tile is computed, that before it goes its way."""
    drains = [f for f in work.flows_at(plan.name, residence) if f.is_drain]
    onward = next(f for f in drains if f.is_onward)
    fills = _other_fills(work, plan, onward)
    if not fills or onward.unit == work.compute_unit:
        return None
    way = sum(f.lead_cycles for f in drains if f != onward) + onward.first_cycles
    waiting = work.latency_cycles - work.issue_cycles + way + min(f.lead_cycles for f in fills)
    call = work.call_cycles
    each = 0.0 if plan.has_window else max(0.0, onward.first_cycles - call)
    waiting = max(0.0, waiting - call)
    return HeldUp(onward, 0.0, waiting, False, is_onward=True, each_cycles=each)


def _other_fills(work: Work, plan: OperandPlan, drain: Flow) -> list[Flow]:
    """What the queue of a drain brings in of other operands."""
    flows = (f for f in work.flows if f.unit == drain.unit != work.compute_unit)
    return [f for f in flows if not f.is_drain and f.operand != plan.name]


def idle_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, held_up: HeldUp, hw: Hardware
) -> float:
    """Of the queue in all. Behind a tile's fills come the drains of the tile before, the next
    tile's fills, and then its own drains, if it leaves late."""
    if held_up.is_own or held_up.is_apart or not leaves_late(covering, tiling, stay):
        return held_up.idle_cycles * times_held_up(covering, tiling, stay, held_up, hw)
    moved = sum(
        flow_cycles(covering, tiling, f) for f in work.flows if f.unit == held_up.drain.unit
    )
    count = hw.num_units(held_up.drain.unit)
    return max(0.0, held_up.idle_cycles * fetches(covering, tiling, stay) - moved / count)


def waiting_behind(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, hw: Hardware
) -> float:
    """Cycles that the computing unit waits for what is queued behind the stay's drains."""
    plan = covering.operand(stay.operand)
    held_up = find_held_up(work, plan, stay.residence, hw)
    if held_up is None:
        return 0.0
    times = times_held_up(covering, tiling, stay, held_up, hw)
    every = held_up.waiting_cycles
    if held_up.each_cycles and not stay.kept:
        together = prod(tiling.tile(name) for name in independent_loops(covering, tiling))
        every += held_up.each_cycles * (together - 1)
    return every * times


def times_held_up(
    covering: Covering, tiling: Tiling, stay: Stay, held_up: HeldUp, hw: Hardware
) -> float:
    """How often a drain waits and stands before other fills: where tiles leave late, never, or with
    every tile from which it must keep a distance; from a passage on, with every tile; else with
    every block where blocks move one by one, as if each brought new operands. Behind the last one
    comes nothing."""
    if held_up.is_onward:
        return fetches(covering, tiling, stay) - 1 if stay.level else 0.0
    if held_up.is_own:
        return _times_behind_own(covering, tiling, stay, held_up, hw)
    is_late = leaves_late(covering, tiling, stay)
    if is_late and not held_up.is_apart:
        return 0.0
    if is_late or not moves_blocks(covering, stay, hw):
        return fetches(covering, tiling, stay) - 1
    blocks = prod(covering.loop(name).units for name in covering.operand(stay.operand).loops)
    return flow_passes(covering, tiling, held_up.drain) * blocks - 1


def _times_behind_own(
    covering: Covering, tiling: Tiling, stay: Stay, held_up: HeldUp, hw: Hardware
) -> float:
    """How often sums begin behind others in their queue: within a tile, these are done before the
    next ones begin where a loop over them lies outside all loops that add them up."""
    plan = covering.operand(stay.operand)
    units = {name: covering.loop(name).units for name in plan.loops}
    if stay.level == 0:
        return flow_passes(covering, tiling, held_up.drain) * prod(units.values()) - 1
    is_late = leaves_late(covering, tiling, stay)
    if is_late or guards(covering, tiling, stay).outer or not moves_blocks(covering, stay, hw):
        return 0.0
    active = [name for name in tiling.inner if tiling.tile(name) > 1]
    sums = (number for number, name in enumerate(active) if name not in units)
    outside = active[: next(sums, None)]
    return prod(units[n] if n in outside else trips(covering, tiling, n) for n in tiling.outer) - 1


def leaves_late(covering: Covering, tiling: Tiling, stay: Stay) -> bool:
    """Is a tile in one of several slots taken out behind the fills of the next one, where their
    queue also does other work?"""
    if stay.level == 0 or stay.slots == 1 or stay.kept:
        return False
    rests = guards(covering, tiling, stay).outer
    moving = (n for n in tiling.outer if trips(covering, tiling, n) > 1 and n not in rests)
    return (
        may_leave_late(covering.operand(stay.operand), stay.residence)
        and not set(rests) & set(covering.held)
        and any(name not in covering.held for name in moving)
    )
