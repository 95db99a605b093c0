"""Least cycles in which a few places are filled and freed in turn.

In: a covering, its work, a tiling, the machine. Out: per stay and passage, the cycles of its rounds
and what lies around them. Not its job: waiting of the compute unit (`waiting`), `ends`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, Passage

from .bursts import excess_of_bursts
from .ends import onward_cycles, passage_ends
from .exchange_waits import fed_cycles
from .flow import Flow
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
from .sum_rings import find_sum_ring
from .tiling import Stay, Tiling, guards, last_units, trips
from .traffic import Port
from .work import Ends, Work


@dataclass(frozen=True, slots=True)
class PassageRound:
    """Blocks of a flow that pass a memory: `cycles` per pass over the operand that a place is
    taken, in all its places."""

    flow: Flow
    cycles: float
    ends: Ends


def round_cycles(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware
) -> Iterator[tuple[float, Ends]]:
    """What takes turns: slots of tiles, and places of passages."""
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        if is_renamed(plan, stay.residence, hw):
            continue
        turn = find_turn(work, stay.operand, stay.residence)
        if turn is not None and not hw.has_tokens:
            yield turnaround_cycles(covering, work, tiling, stay, turn, hw), turn.ends
        if stay.level == 0:
            continue
        places = stay.slots * prod(trips(covering, tiling, n) for n in stay.kept)
        ends = ring_ends(work, stay.operand, stay.residence)
        if not hw.has_tokens:
            trip = round_trip_cycles(work, stay.operand, stay.residence)
            yield trip * fetches(covering, tiling, stay) / places, ends
        if may_occupy(covering, stay, hw) and places == stay.slots:
            yield occupied_cycles(covering, work, tiling, stay, hw) / places, ends
    yield from fed_cycles(covering, work, tiling, hw)
    for passing in passage_rounds(covering, work):
        yield flow_passes(covering, tiling, passing.flow) * passing.cycles, passing.ends


@dataclass(frozen=True, slots=True)
class Turn:
    """How a written tile makes room for another one: its way in and out, what every tile waits for
    beside what is moved and computed, what follows the last one."""

    fill: Flow
    drain: Flow
    latency_cycles: float
    ends: Ends


def find_turn(work: Work, operand: str, residence: int) -> Turn | None:
    """None where it is not both fetched and drained by other units."""
    flows = [f for f in work.flows_at(operand, residence) if f.unit != work.compute_unit]
    drain = next((f for f in flows if f.is_drain), None)
    fill = next((f for f in flows if not f.is_drain), None)
    if drain is None or fill is None:
        return None
    inner = [f for f in flows if not f.is_drain and f.is_again == fill.is_again and f != fill]
    latency = float(drain.latency_cycles + fill.latency_cycles + work.latency_cycles)
    latency += sum(f.lead_cycles for f in inner)
    return Turn(fill, drain, latency, Ends(False, 0.0, onward_cycles(work, drain)))


def turnaround_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, turn: Turn, hw: Hardware
) -> float:
    """Least cycles in which two slots of a written tile take turns: each is filled behind all that
    its fill unit has queued, computed on, and drained.

    Draining one and refilling the other run beside each other, block by block, unless both need the
    same port. What the queue brings only once in several tiles comes on top, but for what a turn
    leaves it to spare.
    """
    if stay.slots == 1 or stay.level == 0 or not is_replaced(covering, tiling, stay):
        return 0.0
    own = flow_cycles(covering, tiling, turn.drain), flow_cycles(covering, tiling, turn.fill)
    ported = (
        sum(flow_passes(covering, tiling, f) * dict(f.ports)[port] for f in (turn.drain, turn.fill))
        for port in shared_ports(turn)
    )
    moved = max(*own, *ported)
    queued = sum(
        flow_cycles(covering, tiling, f)
        for f in work.flows
        if f.unit == turn.fill.unit and not f.is_drain
    )
    rest = turn.latency_cycles * fetches(covering, tiling, stay) + work.shared_cycles
    alone = (moved + rest) / 2
    bursts = sum(
        excess_of_bursts(covering, work, tiling, f, alone, hw)
        for f in inputs_beside(covering, work, turn)
        if stay_of(tiling, f).level
    )
    return max((queued + rest) / 2, alone + bursts)


def shared_ports(turn: Turn) -> tuple[Port, ...]:
    """Ports through which tiles come as well as go."""
    coming = dict(turn.fill.ports)
    return tuple(port for port, _ in turn.drain.ports if port in coming)


def inputs_beside(covering: Covering, work: Work, turn: Turn) -> tuple[Flow, ...]:
    """What the queue that fills a written tile brings of inputs."""
    return tuple(
        f
        for f in work.flows
        if f.unit == turn.fill.unit and not f.is_drain
        if not covering.operand(f.operand).is_output
    )


def may_occupy(covering: Covering, stay: Stay, hw: Hardware) -> bool:
    """Is a tile that takes turns with nothing but its like moved as a whole, and computed on as a
    whole? An input behind a window; with tokens, what is written (`exchange_cycles` waits for
    inputs)."""
    plan = covering.operand(stay.operand)
    if hw.has_tokens:
        return plan.is_output and not needs_one_slot(plan, hw)  # whose halves take turns
    whole = Stay(stay.operand, stay.residence, 1, 1)
    return not plan.is_output and not moves_blocks(covering, whole, hw)


def occupied_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, hw: Hardware
) -> float:
    """Cycles that all the stay's slots together hold tiles that arrive, are computed on or
    leave."""
    flows, latency = occupying(work, covering.operand(stay.operand), stay.residence, hw)
    moved = sum(flow_cycles(covering, tiling, f) / hw.num_units(f.unit) for f in flows)
    return moved + latency * fetches(covering, tiling, stay) + work.shared_cycles


def occupying(
    work: Work, plan: OperandPlan, residence: int, hw: Hardware
) -> tuple[tuple[Flow, ...], int]:
    """What brings a stay's tiles, and takes them out of its slots; latencies of all that happens to
    a tile, with the last call where it is written."""
    ring = find_sum_ring(work, plan, residence, hw)
    if ring is not None:
        return ring.flows, ring.latency_cycles
    flows = tuple(flow for flow in work.flows_at(plan.name, residence) if not flow.is_onward)
    latency = sum(flow.latency_cycles for flow in flows)
    is_written = any(flow.is_drain for flow in flows)
    return flows, latency + (work.latency_cycles - work.issue_cycles if is_written else 0)


def ring_ends(work: Work, operand: str, residence: int) -> Ends:
    """The finish comes behind the last round trip where it does not write back itself."""
    flows = work.flows_at(operand, residence)
    return Ends(not any(flow.is_drain for flow in flows), 0.0, 0.0)


def round_trip_cycles(work: Work, operand: str, residence: int) -> float:
    """Cycles from the start of a block's fetch until its slot is free again: from a passage on and
    as far as another one, where it comes and goes through them."""
    mine = work.flows_at(operand, residence)
    flows = [flow for flow in mine if not (flow.is_inward or flow.is_onward)]
    trip = sum(f.lead_cycles for f in flows)
    is_written = any(f.is_drain for f in flows)
    return trip + (work.latency_cycles if is_written else work.issue_cycles)


def swept_cycles(covering: Covering, work: Work, tiling: Tiling, flow: Flow, hw: Hardware) -> float:
    """Computing that is left in the last tile when all its sums have been fetched, beside its other
    fetches and its drains on the same unit: later sweeps need no sums, and no next tile is there to
    fetch for.

    Counted where a sum's loop is outermost within the tile.
    """
    stay = tiling.stay(flow.operand, flow.residence)
    if stay.level == 0 or not may_sweep(covering, flow, hw):
        return 0.0
    outermost = next((name for name in tiling.inner if tiling.tile(name) > 1), None)
    if outermost is None or outermost in covering.operand(flow.operand).loops:
        return 0.0
    last = {x.name: last_units(covering, tiling, x) for x in covering.loops}
    first_sweep = prod(units for name, units in last.items() if name != outermost)
    others = sum(
        tile_cycles(covering, tiling, f)
        for f in work.flows
        if f.unit == flow.unit and f != flow
        if f.is_drain or not guards(covering, tiling, stay_of(tiling, f)).outer  # else data rest
    )
    return work.call_cycles * (prod(last.values()) - first_sweep) - others


def may_sweep(covering: Covering, flow: Flow, hw: Hardware) -> bool:
    """Does the flow fetch sums, block by block?"""
    plan = covering.operand(flow.operand)
    is_fetched = plan.is_output and not flow.is_drain
    return is_fetched and moves_blocks(covering, Stay(flow.operand, flow.residence, 1, 1), hw)


def passage_rounds(covering: Covering, work: Work) -> Iterator[PassageRound]:
    """Passages whose places a block takes from its arrival until it is taken on; tiles are counted
    by `exchange_waits`."""
    for plan in covering.operands:
        for number, residence in enumerate(plan.residences):
            ways = (residence.fill, False), (residence.drain, True)
            for transfer, is_drain in ways:
                passage = None if transfer is None else transfer.onward or transfer.inward
                if passage is None or passage.holds_tiles:
                    continue
                flows = [f for f in work.flows_at(plan.name, number) if f.is_drain == is_drain]
                if flows:
                    yield _passage_round(covering, work, flows, passage)


def _passage_round(
    covering: Covering, work: Work, flows: list[Flow], passage: Passage
) -> PassageRound:
    arriving, leaving, *_ = flows  # in the order in which a block goes through them
    plan = covering.operand(arriving.operand)
    blocks = prod(covering.loop(name).units for name in plan.loops)
    trip = arriving.first_cycles + arriving.latency_cycles + leaving.first_cycles
    ends = passage_ends(work, arriving, leaving)
    return PassageRound(arriving, trip * blocks / passage.slots, ends)
