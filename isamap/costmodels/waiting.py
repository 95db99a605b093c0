"""Cycles that the compute unit waits because something cannot be prefetched in time.

In: a covering, its work, a tiling, the machine. Out: waiting per stay, per token exchange. Not its
job: busy times, startup, finish (`analytical`), places that take turns (`rounds`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, TiledLoop

from .block_waits import block_stall_cycles
from .bursts import burst_cycles
from .exchanges import has_one_credit
from .flow import Flow
from .in_order import leaves_late, waiting_behind
from .passes import (
    fetches,
    flow_cycles,
    flow_passes,
    is_renamed,
    is_replaced,
    moves_blocks,
    needs_one_slot,
    stay_of,
    tile_cycles,
)
from .sum_rings import SumRing, find_sum_ring
from .tiling import Stay, Tiling, guards, last_units, splits_along, trips
from .traffic import Port
from .work import Work


def stall_cycles(covering: Covering, work: Work, tiling: Tiling, stay: Stay, hw: Hardware) -> float:
    """Cycles that the compute unit waits for this stay because it cannot be moved in time: itself,
    or what is queued behind it."""
    stall = _own_stall_cycles(covering, work, tiling, stay, hw)
    return max(stall, waiting_behind(covering, work, tiling, stay, hw))


def _own_stall_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, hw: Hardware
) -> float:
    """Cycles that the compute unit waits for this stay because it cannot be prefetched in time.

    Copies on the compute unit itself: their latency every time. A single block: a fetch of latency
    L hides behind the calls on the other slots' blocks. A tile with one slot and nothing to rotate:
    everything moved stops the computation, with its latencies. Otherwise a fetch may run while the
    tile before it is computed and after that tile's own fetches: what does not fit there stops the
    computation.
    """
    mine = work.flows_at(stay.operand, stay.residence)
    if is_renamed(covering.operand(stay.operand), stay.residence, hw):
        return 0.0
    flows = [f for f in mine if f.unit != work.compute_unit]
    own = sum(f.latency_cycles for f in mine if f.unit == work.compute_unit)
    waiting = float(own * fetches(covering, tiling, stay)) if stay.level == 1 else 0.0
    if not flows:
        return waiting
    replaced = is_replaced(covering, tiling, stay)
    if stay.level == 0 and not replaced:
        return 0.0
    if stay.level == 0:
        return block_stall_cycles(covering, work, tiling, stay, flows, work.call_cycles)
    if needs_one_slot(covering.operand(stay.operand), hw):
        return waiting + plane_cycles(covering, work, tiling, stay, mine)
    ring = find_sum_ring(work, covering.operand(stay.operand), stay.residence, hw)
    if ring is not None:
        exposed = ring_cycles(covering, tiling, stay, ring) if stay.slots == 1 else 0.0
        return waiting + max(exposed, burst_cycles(covering, work, tiling, flows, hw))
    swap = swap_limits(covering, work, covering.operand(stay.operand), stay.residence, hw)
    is_alone = stay.slots == 1 and not is_sliced(covering, tiling, stay, hw)
    if swap is not None and (replaced or stay.kept):
        in_turn = comes_and_goes(covering, tiling, stay)
        waits = swap.waits if replaced and is_alone else swap.in_order if in_turn else ()
        return waiting + max(
            swap_cycles(covering, tiling, stay, swap.drain, waits),
            burst_cycles(covering, work, tiling, flows, hw),
        )
    if replaced and is_alone and not is_handed_on(stay.residence, hw):
        moved = max(flow_cycles(covering, tiling, f) for f in flows)
        latency = sum(f.latency_cycles for f in flows) + work.latency_cycles
        exposed = moved + latency * fetches(covering, tiling, stay)
        return waiting + max(exposed, burst_cycles(covering, work, tiling, flows, hw))
    return waiting + burst_cycles(covering, work, tiling, flows, hw)


def ring_cycles(covering: Covering, tiling: Tiling, stay: Stay, ring: SumRing) -> float:
    """Waiting while sums leave their only place and the next ones come, between every two tiles."""
    moved = sum(
        flow_cycles(covering, tiling, f) - tile_cycles(covering, tiling, f) for f in ring.flows
    )
    return moved + ring.latency_cycles * (fetches(covering, tiling, stay) - 1)


@dataclass(frozen=True, slots=True)
class Swap:
    """Exchange of a written tile, block by block: `drain` (and fill). `waits` of the computation
    between two tiles in one slot, each (once, and more per block of the old tile); `in_order`: in
    any number of slots, where fills queue behind drains that do not leave late."""

    drain: Flow
    waits: tuple[tuple[float, float], ...]
    in_order: tuple[tuple[float, float], ...]


def swap_limits(
    covering: Covering, work: Work, plan: OperandPlan, residence: int, hw: Hardware
) -> Swap | None:
    """How written blocks make room for the next tile's; None where blocks do not move one by one.

    A fill may begin when the drain has read (docs/timing.md, section 4), not when it is finished;
    on the same unit, behind the drains of all blocks, of which those that find no place in the
    passage on their way out wait for it.
    """
    flows = [
        f
        for f in work.flows
        if (f.operand, f.residence) == (plan.name, residence) and f.unit != work.compute_unit
    ]
    drain = next((f for f in flows if f.is_drain), None)
    if drain is None or not moves_blocks(covering, Stay(plan.name, residence, 1, 1), hw):
        return None
    call = work.call_cycles
    fills = [f for f in flows if not f.is_drain][-1:]  # from a passage on, where there is one
    way_in = work.latency_cycles + sum(f.lead_cycles for f in fills)
    pace = max(call, *(f.first_cycles for f in (drain, *fills)), _port_pace((drain, *fills)))
    # one sweep over the old tile's blocks and one over the new ones' run meanwhile
    waits = (way_in + drain.first_cycles - pace + call, pace - 2 * call)
    in_order = []
    if any(f.unit == drain.unit for f in fills):
        in_order.append((way_in, max(0.0, drain.first_cycles - call)))
        transfer = plan.residences[residence].drain
        for onward in (f for f in flows if f.is_drain and f.is_onward):
            assert transfer is not None and transfer.onward is not None, "it goes on from there"
            places = transfer.onward.slots * onward.first_cycles
            once = way_in + drain.lead_cycles + drain.first_cycles - places
            in_order.append((once, onward.first_cycles - call))
    return Swap(drain, (waits, *in_order), tuple(in_order))


def _port_pace(flows: tuple[Flow, ...]) -> float:
    """Cycles in which the busiest port moves a block of each."""
    busy: dict[Port, float] = {}
    for flow in flows:
        for port, cycles in flow.ports:
            block = cycles * flow.first_cycles / flow.pass_cycles
            busy[port] = busy.get(port, 0.0) + block
    return max(busy.values(), default=0.0)


def swap_cycles(
    covering: Covering,
    tiling: Tiling,
    stay: Stay,
    drain: Flow,
    waits: tuple[tuple[float, float], ...],
) -> float:
    """Waiting while the blocks of a tile are drained and the next tile's come, between every two
    tiles."""
    plan = covering.operand(stay.operand)
    count = fetches(covering, tiling, stay)
    blocks = prod(covering.loop(name).units for name in plan.loops)
    moved = flow_passes(covering, tiling, drain) * blocks
    old = moved - tile_blocks(covering, tiling, stay)
    return max(0.0, *((count - 1) * once + old * each for once, each in waits), 0.0)


def comes_and_goes(covering: Covering, tiling: Tiling, stay: Stay) -> bool:
    """Is each tile drained before the next one is filled? Not where it leaves late, nor where tiles
    are kept side by side over a loop outside them that sums them up: its first round fills all, its
    last drains all."""
    if leaves_late(covering, tiling, stay):
        return False
    rests = guards(covering, tiling, stay).outer
    kept = [name for name in stay.kept if trips(covering, tiling, name) > 1]
    order = tiling.outer.index
    return not any(order(rest) < order(name) for rest in rests for name in kept)


def plane_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, mine: tuple[Flow, ...]
) -> float:
    """Waiting while byte planes drain and the compute unit shifts in between.

    In two halves, one shifts while the other drains, unless latencies leave gaps; in one piece they
    alternate.
    """
    drain = next(f for f in mine if f.is_drain and f.unit != work.compute_unit)
    shifts = [f for f in mine if f.is_drain and f.unit == work.compute_unit]
    count = fetches(covering, tiling, stay)
    moved = flow_cycles(covering, tiling, drain)
    shifted = sum(flow_cycles(covering, tiling, f) for f in shifts)
    every = drain.latency_cycles + work.latency_cycles
    plan = covering.operand(stay.operand)
    if splits_along(covering, tiling, plan) is None:
        return moved + every * count
    once = drain_latency_cycles(plan, drain) + work.latency_cycles
    return max(moved - shifted + once * count, (moved - shifted) / 2 + every * count)


def starved_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Least cycles of a fill unit that idles while byte planes drain.

    While the compute unit exchanges an output tile it frees no slot, and a unit that is the
    bottleneck is not ahead: it fills one tile more, the rest of the exchange is lost to it. All of
    it is lost where not even that tile's calls find the port free.
    """
    longest = 0.0
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        if not needs_one_slot(plan, hw):
            continue
        rounds = prod(trips(covering, tiling, n) for n in guards(covering, tiling, stay).outer)
        waiting = stall_cycles(covering, work, tiling, stay, hw) + sum(
            flow_cycles(covering, tiling, f)
            for f in work.flows
            if f.unit == work.compute_unit and stay_of(tiling, f) == stay
        )
        for unit in work.fill_units:
            moved = sum(flow_cycles(covering, tiling, f) for f in work.flows if f.unit == unit)
            ahead = 0.0 if waits_for_port(work, unit, plan) else moved / rounds
            longest = max(longest, moved + waiting - ahead)
    return longest


def waits_for_port(work: Work, unit: str, plan: OperandPlan) -> bool:
    """Do a fill unit's calls share a port with the drains of an operand's planes, and fit into none
    of the gaps that these leave? (A port is reserved in one piece: docs/timing.md, section 5.)"""
    drain = next(f for f in work.flows if f.operand == plan.name and f.is_drain)
    fills = [f for f in work.flows if f.unit == unit and not f.is_drain]
    shared = dict(drain.ports).keys()
    longest = [f.first_cycles for f in fills if any(port in shared for port, _ in f.ports)]
    return max(longest, default=0.0) > drain_latency_cycles(plan, drain)


def drain_latency_cycles(plan: OperandPlan, drain: Flow) -> float:
    """Latency of a single plane's drain."""
    transfer = plan.residences[drain.residence].drain
    assert transfer is not None
    return drain.latency_cycles / transfer.planes


def uneven_cycles(
    covering: Covering,
    work: Work,
    tiling: Tiling,
    hw: Hardware,
    passes: Sequence[float],
    unit_cycles: Mapping[str, float],
) -> float:
    """Least cycles where the last, shorter tile of a loop keeps a fill unit longer than the others;
    0 where it takes no longer than the computation.

    What does not depend on the loop is fetched for a short tile as for a full one, and nothing
    fetches ahead over many tiles: a fill unit may set the pace there, the computation elsewhere.
    `passes`: of each flow; `unit_cycles`: of all that each unit does.
    """
    longest = 0.0
    for loop in covering.loops:
        count = trips(covering, tiling, loop.name)
        last = last_units(covering, tiling, loop)
        computing = work.shared_cycles * last / loop.units
        for unit in work.fill_units if count > 1 else ():
            if unit_cycles[unit] / count > computing:  # a last tile fetches no more than the others
                fetched = sum(
                    last_passes(covering, tiling, f, loop, last, whole) * f.pass_cycles
                    for f, whole in zip(work.flows, passes, strict=True)
                    if f.unit == unit and not f.windows
                )
                beside = work.shared_cycles - computing
                longest = max(longest, beside + fetched / hw.num_units(unit))
    return longest


def last_passes(
    covering: Covering, tiling: Tiling, flow: Flow, loop: TiledLoop, last: int, passes: float
) -> float:
    """Of all `passes` of a flow, those during the last tiles of `loop`, which have `last` units."""
    guard = guards(covering, tiling, stay_of(tiling, flow))
    if loop.name in covering.operand(flow.operand).loops or loop.name in guard.refetch_inner:
        return passes * last / loop.units
    is_again = loop.name in guard.refetch_outer
    return passes / trips(covering, tiling, loop.name) if is_again else 0.0


def resumed_cycles(covering: Covering, work: Work, tiling: Tiling) -> float:
    """Waiting where a loop of the sum outside advances: the first tile then fetches everything.

    Unlike the tiles after it, it needs new inputs as well as sums that were written before, behind
    the drain of the tile two before it; one tile's computation hides that much.
    """
    waiting = 0.0
    for stay in tiling.stays:
        again = guards(covering, tiling, stay).refetch_outer
        if not covering.operand(stay.operand).is_output or not again:
            continue
        mine = work.flows_at(stay.operand, stay.residence)
        fill = next((f for f in mine if not f.is_drain and f.unit != work.compute_unit), None)
        if fill is None:
            continue
        fetched = sum(
            f.first_cycles * tile_blocks(covering, tiling, stay_of(tiling, f))
            for f in work.flows
            if f.unit == fill.unit and not f.is_drain
        )
        latency = sum(f.latency_cycles for f in mine) + work.latency_cycles
        calls = prod(tiling.tile(loop.name) for loop in covering.loops)
        excess = max(0.0, fetched + latency - calls * work.call_cycles)
        waiting += excess * (prod(trips(covering, tiling, n) for n in again) - 1)
    return waiting


def tile_blocks(covering: Covering, tiling: Tiling, stay: Stay) -> int:
    """Blocks that a fetch of the stay brings; window axes count as one."""
    axes = covering.operand(stay.operand).axes
    if stay.level == 0:
        return 1
    return prod(tiling.tile(axis.loops[0]) for axis in axes if not axis.is_window)


def is_handed_on(residence: int, hw: Hardware) -> bool:
    """Does another unit take tiles to where calls read them, so that these do not hold the only
    slot? (See `exchange_waits` for what they wait for.)"""
    return hw.has_tokens and residence > 0


def is_sliced(covering: Covering, tiling: Tiling, stay: Stay, hw: Hardware) -> bool:
    """Do the parts of the tile serve as buffers for each other?

    True when blocks move one by one and the outermost unit loop that touches the tile changes
    blocks, or when kept tiles rotate through more than one place.
    """
    plan = covering.operand(stay.operand)
    if plan.is_output:
        return False
    is_kept = any(trips(covering, tiling, loop) > 1 for loop in stay.kept)
    if hw.has_tokens:
        return is_kept and not has_one_credit(covering, (stay.operand, stay.residence), hw)
    if is_kept and moves_blocks(covering, stay, hw):
        return True
    if not moves_blocks(covering, stay, hw):
        return False
    active = [loop for loop in tiling.inner if tiling.tile(loop) > 1]
    return bool(active) and active[0] in plan.loops
