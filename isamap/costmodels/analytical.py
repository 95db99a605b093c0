"""The closed-form cost of a tiling: what the solver minimises.

In: a covering, its work, a tiling, the machine. Out: cycles and where they go. Not its job:
executing anything.

Model (contract: docs/timing.md). Every unit and every port is busy for the sum of its calls; with
double buffering they overlap, so the busiest one sets the pace. On top come what cannot overlap:
the first blocks on their way to the first call, the last block on its way out, stays with one slot
whose exchange stops the compute unit, and bursts: fetches that happen only every few tiles and are
longer than the slack of the one tile that hides them.
"""

from dataclasses import dataclass
from math import ceil, prod

from isamap.hwdesc import Hardware, Synchronisation
from isamap.mapper import Covering, OperandPlan, TiledLoop

from .tiling import Stay, Tiling, axis_extent, guards, operand_plan, splits_along, trips
from .work import Flow, Port, Work

OVERLAP_LOSS = (
    512  # of the work that other units hide, one part in so many does delay the computation
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Cycles of a tiling and their parts."""

    cycles: int
    unit_cycles: tuple[tuple[str, int], ...]
    port_cycles: tuple[tuple[Port, int], ...]
    startup_cycles: int
    finish_cycles: int
    stall_cycles: int
    external_bytes: int


def estimate(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> Estimate:
    """Cycles of one tiling under the closed-form model."""
    counts = {unit.name: unit.count for unit in hw.units}
    units: dict[str, float] = {
        work.compute_unit: float(compute_path_cycles(covering, work, tiling))
    }
    ports: dict[Port, float] = {}
    external = 0.0
    for flow in work.flows:
        passes = flow_passes(covering, tiling, flow)
        units[flow.unit] = units.get(flow.unit, 0.0) + passes * flow.pass_cycles / counts[flow.unit]
        external += passes * flow.external_bytes
        for port, cycles in flow.ports:
            ports[port] = ports.get(port, 0.0) + passes * cycles
    stall = sum(stall_cycles(covering, work, tiling, stay, hw) for stay in tiling.stays)
    stall += exchange_cycles(covering, work, tiling, hw)
    busiest = max(*units.values(), *ports.values(), units[work.compute_unit] + stall)
    busiest = max(busiest, ring_cycles(covering, work, tiling, hw))
    hidden = sum(cycles for unit, cycles in units.items() if unit != work.compute_unit)
    busiest += hidden / OVERLAP_LOSS
    startup = startup_cycles(covering, work, tiling, hw)
    finish = finish_cycles(covering, work, tiling, hw)
    return Estimate(
        ceil(busiest + startup + finish),
        tuple((name, ceil(cycles)) for name, cycles in units.items()),
        tuple((port, ceil(cycles)) for port, cycles in ports.items()),
        ceil(startup),
        ceil(finish),
        ceil(stall),
        ceil(external),
    )


def stay_of(tiling: Tiling, flow: Flow) -> Stay:
    """The stay that a flow fills or drains."""
    return next(
        s for s in tiling.stays if (s.operand, s.residence) == (flow.operand, flow.residence)
    )


def flow_passes(covering: Covering, tiling: Tiling, flow: Flow) -> float:
    """How many full passes a flow makes (for windows: passes times positions, overlaps
    included)."""
    stay = stay_of(tiling, flow)
    guard = guards(covering, tiling, stay)
    passes = 1.0
    for loop in guard.refetch_outer:
        twice = loop in guard.refetch_inner
        passes *= covering.loop(loop).units if twice else trips(covering, tiling, loop)
    for loop in guard.refetch_inner:
        if loop not in guard.refetch_outer:
            passes *= tiling.tile(loop)
    plan = operand_plan(covering, flow.operand)
    for name in flow.windows:
        axis = plan.axis(name)
        counts = [trips(covering, tiling, loop) for loop in axis.loops]
        total = prod(counts)
        for number, (loop, span) in enumerate(zip(axis.loops, axis.spans, strict=True)):
            others = prod(counts[:number] + counts[number + 1 :])
            total += span * (covering.loop(loop).extent - counts[number]) * others
        passes *= total
    return passes


def compute_path_cycles(covering: Covering, work: Work, tiling: Tiling) -> int:
    """Compute issue cycles, stretched when too few independent sums hide the accumulation
    latency."""
    if work.accumulate_cycles <= work.issue_cycles:
        return work.compute_cycles
    independent = 1
    for loop in reversed(tiling.inner):
        if covering.loop(loop).is_reduction:
            if tiling.tile(loop) > 1:
                break
        else:
            independent *= tiling.tile(loop)
    chained = ceil(work.calls * work.accumulate_cycles / independent)
    return max(work.compute_cycles, chained)


def fetches(covering: Covering, tiling: Tiling, stay: Stay) -> int:
    """How often the stay's tile is replaced."""
    guard = guards(covering, tiling, stay)
    return prod(trips(covering, tiling, n) for n in tiling.outer if n not in guard.outer)


def stall_cycles(covering: Covering, work: Work, tiling: Tiling, stay: Stay, hw: Hardware) -> float:
    """Cycles that the compute unit waits for this stay because it cannot be prefetched in time.

    Copies on the compute unit itself: their latency every time. A single block: a fetch of latency
    L hides behind the calls on the other slots' blocks. A tile with one slot and nothing to rotate:
    everything moved stops the computation, with its latencies. Otherwise a fetch may run while the
    tile before it is computed and after that tile's own fetches: what does not fit there stops the
    computation.
    """
    mine = [f for f in work.flows if stay_of(tiling, f) == stay]
    flows = [f for f in mine if f.unit != work.compute_unit]
    own = sum(f.latency_cycles for f in mine if f.unit == work.compute_unit)
    waiting = float(own * fetches(covering, tiling, stay)) if stay.level == 1 else 0.0
    if not flows:
        return waiting
    replaced = is_replaced(covering, tiling, stay)
    if stay.level == 0 and not replaced:
        return 0.0
    if stay.level == 0:
        return block_stall_cycles(covering, work, tiling, stay, flows)
    if needs_one_slot(operand_plan(covering, stay.operand), hw):
        return waiting + plane_cycles(covering, work, tiling, stay, mine)
    if replaced and stay.slots == 1 and not is_sliced(covering, tiling, stay, hw):
        moved = max(flow_passes(covering, tiling, f) * f.pass_cycles for f in flows)
        latency = sum(f.latency_cycles for f in flows) + work.latency_cycles
        exposed = moved + latency * fetches(covering, tiling, stay)
        return waiting + max(exposed, burst_cycles(covering, work, tiling, stay, flows))
    burst = burst_cycles(covering, work, tiling, stay, flows)
    return waiting + max(burst, turnaround_cycles(covering, work, tiling, stay, flows))


def turnaround_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, flows: list[Flow]
) -> float:
    """Waiting for a written tile's slot: drained, refilled behind everything its fill unit has
    queued.

    With two slots this must fit into the computation of one tile.
    """
    drain = next((f for f in flows if f.is_drain), None)
    fill = next((f for f in flows if not f.is_drain), None)
    if drain is None or fill is None or stay.slots == 1:
        return 0.0
    if not is_replaced(covering, tiling, stay):
        return 0.0
    moved = flow_passes(covering, tiling, drain) * drain.pass_cycles
    moved += sum(
        flow_passes(covering, tiling, f) * f.pass_cycles
        for f in work.flows
        if f.unit == fill.unit and not f.is_drain
    )
    latency = drain.latency_cycles + fill.latency_cycles + work.latency_cycles
    total = moved + latency * fetches(covering, tiling, stay)
    return max(0.0, (total - work.compute_cycles) / 2)


def plane_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, mine: list[Flow]
) -> float:
    """Waiting while byte planes drain and the compute unit shifts in between.

    In two halves, one shifts while the other drains, unless latencies leave gaps; in one piece they
    alternate.
    """
    drain = next(f for f in mine if f.is_drain and f.unit != work.compute_unit)
    shifts = [f for f in mine if f.is_drain and f.unit == work.compute_unit]
    count = fetches(covering, tiling, stay)
    moved = flow_passes(covering, tiling, drain) * drain.pass_cycles
    shifted = sum(flow_passes(covering, tiling, f) * f.pass_cycles for f in shifts)
    every = drain.latency_cycles + work.latency_cycles
    plan = operand_plan(covering, stay.operand)
    if splits_along(covering, tiling, plan) is None:
        return moved + every * count
    once = drain_latency_cycles(plan, drain) + work.latency_cycles
    return max(moved - shifted + once * count, (moved - shifted) / 2 + every * count)


def drain_latency_cycles(plan: OperandPlan, drain: Flow) -> float:
    """Latency of a single plane's drain."""
    transfer = plan.residences[drain.residence].drain
    assert transfer is not None
    return drain.latency_cycles / transfer.planes


def block_stall_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, flows: list[Flow]
) -> float:
    """Waiting for single blocks (see `block_wait`), summed over all fetches.

    With one loop that reuses blocks, its last tile is counted as it is, shorter and with a partial
    last unit; with several, all tiles count as full.
    """
    plan = operand_plan(covering, stay.operand)
    resting = [x for x in covering.loops if x.units > 1 and x.name not in plan.loops]
    kept = guards(covering, tiling, stay).inner
    if len(resting) == 1:
        name = resting[0].name
        tile = tiling.tile(name) if name in kept else 1
        return (
            work.calls // resting[0].units * sweep_wait(work, flows, stay.slots, resting[0], tile)
        )
    uses = prod(tiling.tile(n) for n in kept)
    return work.calls / uses * block_wait(flows, stay.slots, uses * work.issue_cycles)


def block_wait(flows: list[Flow], slots: int, use_cycles: float) -> float:
    """Waiting per fetch of a block that is then used for `use_cycles`.

    With s slots, s fetches take at least one latency and one use; no fetch is faster than its unit.
    """
    latency = sum(f.first_cycles + f.latency_cycles for f in flows)
    pace = max(f.first_cycles for f in flows) if slots > 1 else 0.0
    return max(0.0, (latency - (slots - 1) * use_cycles) / slots, pace - use_cycles)


def sweep_wait(work: Work, flows: list[Flow], slots: int, loop: TiledLoop, tile: int) -> float:
    """Waiting during one sweep over `loop`, whose units reuse a block `tile` at a time."""
    count = -(-loop.units // tile)
    last = loop.units - (count - 1) * tile
    full_use = tile * work.issue_cycles
    last_use = (last - 1) * work.issue_cycles + dict(work.last_issues)[loop.name]
    full_wait = block_wait(flows, slots, full_use) if count > 1 else 0.0
    return (count - 1) * full_wait + block_wait(flows, slots, last_use)


def ring_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Least cycles of the fetches' round trips: a slot is fetched, computed on and (if written)
    drained in turn."""
    if hw.synchronisation is Synchronisation.TOKENS:
        return 0.0
    longest = 0.0
    for stay in tiling.stays:
        if stay.level == 1:
            trip = round_trip_cycles(work, stay.operand, stay.residence)
            places = stay.slots * prod(trips(covering, tiling, n) for n in stay.kept)
            longest = max(longest, trip * fetches(covering, tiling, stay) / places)
    return longest


def round_trip_cycles(work: Work, operand: str, residence: int) -> float:
    """Cycles from the start of a block's fetch until its slot is free again."""
    flows = [f for f in work.flows if (f.operand, f.residence) == (operand, residence)]
    trip = sum(f.first_cycles + f.latency_cycles for f in flows)
    is_written = any(f.is_drain for f in flows)
    return trip + (work.latency_cycles if is_written else work.issue_cycles)


def burst_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, flows: list[Flow]
) -> float:
    """What a fetch that happens only once in several tiles exceeds the slack of one tile by, in
    all."""
    kept = prod(trips(covering, tiling, n) for n in guards(covering, tiling, stay).outer)
    fill = next((f for f in flows if not f.is_drain), None)
    if kept == 1 or fill is None:
        return 0.0
    others = sum(
        flow_passes(covering, tiling, f) * f.pass_cycles
        for f in work.flows
        if f.unit == fill.unit and f != fill
    )
    moved = flow_passes(covering, tiling, fill) * fill.pass_cycles
    return max(0.0, moved - max(0.0, work.compute_cycles - others) / kept)


def exchange_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Waiting for tokens: with two credits, two tiles take at least one round trip of fill and
    compute."""
    if hw.synchronisation is not Synchronisation.TOKENS:
        return 0.0
    steps = prod(trips(covering, tiling, loop) for loop in tiling.outer)
    worst = 0.0
    for unit in fill_units(work):
        flows = [f for f in work.flows if f.unit == unit and not f.is_drain]
        moved = sum(flow_passes(covering, tiling, f) * f.pass_cycles for f in flows)
        latency = max(f.latency_cycles for f in flows) + work.latency_cycles
        worst = max(worst, (steps * latency + moved - work.compute_cycles) / 2)
    return worst


def fill_units(work: Work) -> tuple[str, ...]:
    """Units other than the compute unit that fill stays."""
    units = (f.unit for f in work.flows if not f.is_drain and f.unit != work.compute_unit)
    return tuple(dict.fromkeys(units))


def needs_one_slot(plan: OperandPlan, hw: Hardware) -> bool:
    """Byte planes on a machine with tokens: credits and plane hand-overs share one channel."""
    drains = [r.drain for r in plan.residences if r.drain is not None]
    is_token = hw.synchronisation is Synchronisation.TOKENS
    return is_token and any(drain.planes > 1 for drain in drains)


def is_replaced(covering: Covering, tiling: Tiling, stay: Stay) -> bool:
    """Does the stay ever hold different data?"""
    guard = guards(covering, tiling, stay)
    if guard.refetch_outer or guard.refetch_inner:
        return True
    moving = operand_plan(covering, stay.operand).loops
    return any(
        (trips(covering, tiling, n) > 1 and n not in stay.kept)
        or (stay.level == 0 and tiling.tile(n) > 1)
        for n in moving
    )


def is_sliced(covering: Covering, tiling: Tiling, stay: Stay, hw: Hardware) -> bool:
    """Do the parts of the tile serve as buffers for each other?

    True when blocks move one by one and the outermost unit loop that touches the tile changes
    blocks, or when kept tiles rotate through more than one place.
    """
    plan = operand_plan(covering, stay.operand)
    if plan.is_output:
        return False
    is_token = hw.synchronisation is Synchronisation.TOKENS
    is_kept = any(trips(covering, tiling, loop) > 1 for loop in stay.kept)
    if is_kept and (is_token or moves_blocks(covering, stay, hw)):
        return True
    if not moves_blocks(covering, stay, hw):
        return False
    active = [loop for loop in tiling.inner if tiling.tile(loop) > 1]
    return bool(active) and active[0] in plan.loops


def startup_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Cycles until the computation runs at full pace: all first fetches in a row, the longest
    latency, the edge."""
    fills = [f for f in work.flows if not f.is_drain and f.unit != work.compute_unit]
    latency = max((flow.latency_cycles for flow in fills), default=0)
    return latency + sum(
        first_fetch_cycles(covering, tiling, f, hw) + edge_cycles(covering, work, tiling, f, hw)
        for f in fills
    )


def finish_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Cycles from the last call's last issue slot to the last byte written."""
    last = 0.0
    for flow in work.flows:
        exposed = needs_one_slot(operand_plan(covering, flow.operand), hw)
        if (
            flow.is_drain and not exposed
        ):  # an exposed drain is waited for every time, the last included
            fetch = first_fetch_cycles(covering, tiling, flow, hw)
            edge = edge_cycles(covering, work, tiling, flow, hw)
            last = max(last, fetch + flow.latency_cycles + edge)
    return last + work.latency_cycles - work.issue_cycles


def edge_cycles(covering: Covering, work: Work, tiling: Tiling, flow: Flow, hw: Hardware) -> float:
    """What the first (last) tile of an output adds: its blocks all move within one pass over the
    tile.

    A pass computes one call per block; moving a block takes longer than a call when it is positive.
    """
    stay = stay_of(tiling, flow)
    plan = operand_plan(covering, flow.operand)
    if stay.level == 0 or not plan.is_output or not moves_blocks(covering, stay, hw):
        return 0.0
    blocks = prod(tiling.tile(loop) for loop in plan.loops)
    return (blocks - 1) * max(0.0, flow.first_cycles - work.issue_cycles)


def moves_blocks(covering: Covering, stay: Stay, hw: Hardware) -> bool:
    """Are blocks moved one by one inside the unit loops (else whole tiles before and after
    them)?"""
    plan = operand_plan(covering, stay.operand)
    has_window = any(axis.is_window for axis in plan.axes)
    is_interlocked = hw.synchronisation is Synchronisation.INTERLOCKED
    return stay.level == 0 or (is_interlocked and not has_window)


def first_fetch_cycles(covering: Covering, tiling: Tiling, flow: Flow, hw: Hardware) -> float:
    """Cycles of one fetch: a block where blocks move one by one, else the whole tile."""
    stay = stay_of(tiling, flow)
    if moves_blocks(covering, stay, hw):
        return flow.first_cycles
    plan = operand_plan(covering, flow.operand)
    held = Stay(stay.operand, stay.residence, stay.level, 1)
    share = 1.0
    for axis in plan.axes:
        extent = axis_extent(covering, tiling, held, axis)
        share *= extent if axis.is_window else extent / covering.loop(axis.loops[0]).units
    return flow.pass_cycles * share
