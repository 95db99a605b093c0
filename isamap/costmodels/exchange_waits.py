"""Waiting for tokens, and how tiles come from unit to unit before the first call.

In: a covering, its work, a tiling, the machine. Out: cycles. Not its job: which units exchange
tokens (`exchanges`), tiles in one slot that calls read or write (`waiting`).

With two credits, two tiles take at least one round trip through each exchange: written, taken from
there, and the latencies of both. With one credit, each tile does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .ends import before_drain
from .exchanges import Exchange, Spot, find_exchanges
from .flow import Flow
from .passes import fetches, flow_cycles, flow_passes, is_replaced, stay_of
from .sum_rings import find_sum_ring
from .tiling import Stay, Tiling, trips
from .traffic import Port
from .work import Ends, Work

KNOWN = 1 << 8  # units: every estimate asks again
MAX_CREDITS = 2  # two tiles in flight


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """An exchange, what its writer and its reader move; nothing where calls read."""

    exchange: Exchange
    written: tuple[Flow, ...]
    taken: tuple[Flow, ...]
    latency_cycles: int  # beside what is moved and computed

    @property
    def is_fed(self) -> bool:
        """Does another unit than the one that computes take the tiles?"""
        return bool(self.taken)


def find_round_trips(covering: Covering, work: Work, hw: Hardware) -> tuple[RoundTrip, ...]:
    """Those of what comes in, and of what passes a memory on its way out; not those of sums (see
    `rounds.occupied_cycles`, `waiting.plane_cycles`)."""
    found = []
    for exchange in find_exchanges(covering, hw):
        if exchange.is_ring or (exchange.is_outward and not exchange.is_passage):
            continue
        pairs = [_flows_of(work, exchange, place) for place in exchange.places]
        written = tuple(flow for flow, _ in pairs if flow is not None)
        taken = tuple(flow for _, flow in pairs if flow is not None)
        if written:  # else it lies there from before
            latency = max(flow.latency_cycles for flow in written)
            latency += max((flow.latency_cycles for flow in taken), default=work.latency_cycles)
            found.append(RoundTrip(exchange, written, taken, latency))
    return tuple(found)


def _flows_of(work: Work, exchange: Exchange, place: Spot) -> tuple[Flow | None, Flow | None]:
    """What the writer and the reader move of a place."""
    operand, number = place
    ways = [f for f in work.flows_at(*place) if f.is_drain is exchange.is_outward]
    if exchange.is_passage:
        return (ways[0], ways[-1]) if ways else (None, None)
    further = [f for f in work.flows_at(operand, number - 1) if not f.is_drain] if number else []
    is_fed = exchange.reader != work.compute_unit
    return (ways[-1] if ways else None, further[0] if is_fed and further else None)


def exchange_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Waiting of the compute unit for what is handed to it. The first tile's latency is part of the
    startup."""
    if not hw.has_tokens:
        return 0.0
    worst = 0.0
    steps = prod(trips(covering, tiling, loop) for loop in tiling.outer)
    for trip in find_round_trips(covering, work, hw):
        if not trip.is_fed:
            moved = sum(flow_cycles(covering, tiling, f) for f in trip.written)
            around = (steps - 1) * trip.latency_cycles + moved
            worst = max(worst, (around - work.shared_cycles) / 2)
    return worst


def fed_cycles(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware
) -> Iterator[tuple[float, Ends]]:
    """Least cycles of all round trips between two units that only move data."""
    for trip in find_round_trips(covering, work, hw):
        if not trip.is_fed:
            continue
        moved = sum(flow_cycles(covering, tiling, f) for f in (*trip.written, *trip.taken))
        for flow, port in met_by(covering, work, trip, hw):
            if port is None:
                moved += flow_cycles(covering, tiling, flow)
            else:
                moved += flow_passes(covering, tiling, flow) * dict(flow.ports)[port]
        queued = queued_with(covering, work, trip, hw)
        for place in trip.exchange.places:
            stay = tiling.stay(*place)
            times = fetches(covering, tiling, stay) - 1
            tiles = most_credits(hw, trip.exchange)
            if not trip.exchange.is_passage:
                tiles = min(tiles, tiles_ahead(covering, tiling, stay))
            beside = sum(
                flow_cycles(covering, tiling, flow)
                for flow in queued
                if fetches(covering, tiling, stay_of(tiling, flow)) <= times
            )
            around = (moved + times * trip.latency_cycles) / tiles
            yield around + beside, trip_ends(work, trip)


def queued_with(covering: Covering, work: Work, trip: RoundTrip, hw: Hardware) -> tuple[Flow, ...]:
    """What the unit that brings sums to a passage also brings: where that comes more rarely, it is
    beside none of their waiting."""
    if trip.exchange.is_outward or not _is_of_sums(covering, work, trip, hw):
        return ()
    unit = trip.exchange.writer
    flows = (f for f in work.flows if f.unit == unit and f not in trip.written)
    return tuple(flow for flow in flows if not flow.is_drain)


def _is_of_sums(covering: Covering, work: Work, trip: RoundTrip, hw: Hardware) -> bool:
    places = ((covering.operand(operand), number) for operand, number in trip.exchange.places)
    rings = (find_sum_ring(work, plan, number, hw) for plan, number in places)
    return trip.exchange.is_passage and all(ring is not None for ring in rings)


def met_by(
    covering: Covering, work: Work, trip: RoundTrip, hw: Hardware
) -> Iterator[tuple[Flow, Port | None]]:
    """What tiles of sums that pass a memory meet on their way there of those that go the other
    way: in the queue of the same unit (None), or at a port."""
    if not _is_of_sums(covering, work, trip, hw):
        return
    mine = (*trip.written, *trip.taken)
    units, ports = {f.unit for f in mine}, {port for f in mine for port, _ in f.ports}
    for flow in (f for place in trip.exchange.places for f in work.flows_at(*place)):
        if flow.is_drain is trip.exchange.is_outward:
            continue
        if flow.unit in units:
            yield flow, None
        else:
            yield from ((flow, port) for port, _ in flow.ports[:1] if port in ports)


def trip_ends(work: Work, trip: RoundTrip) -> Ends:
    """Of all round trips of an exchange between two units that only move data."""
    if trip.exchange.is_outward:
        return Ends(False, before_drain(work, trip.written), 0.0)
    return Ends(True, 0.0, 0.0)


def token_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> dict[str, int]:
    """Cycles of each unit's calls that only carry tokens, each time that it hands over new tiles. A
    tile of a single call carries its tokens itself."""
    cycles: dict[str, int] = {}
    if not hw.has_tokens:
        return cycles
    is_alone = all(tile == 1 for _, tile in tiling.tiles)
    for exchange in find_exchanges(covering, hw):
        runs = max(fetches(covering, tiling, tiling.stay(*place)) for place in exchange.places)
        for unit, calls in exchange.calls.items():
            if not (is_alone and unit == work.compute_unit):
                cycles[unit] = cycles.get(unit, 0) + calls * runs * carrier_cycles(hw, unit)
    return cycles


@lru_cache(KNOWN)
def carrier_cycles(hw: Hardware, unit: str) -> int:
    """Of a call that only carries tokens; none where calls repeat in hardware, as one of these
    takes a tile and its tokens."""
    own = [instruction for instruction in hw.instructions if instruction.unit == unit]
    if any(instruction.repeats for instruction in own):
        return 0
    return min((i.issue_cycles.evaluate({}) for i in own if i.is_sync), default=0)


def most_credits(hw: Hardware, exchange: Exchange) -> int:
    """How many tiles ahead a writer may be, whatever room there is."""
    channel = hw.channel(exchange.reader, exchange.writer)
    return min(MAX_CREDITS, channel.depth) if channel else MAX_CREDITS


def tiles_ahead(covering: Covering, tiling: Tiling, stay: Stay) -> int:
    """How many credits a stay has room for."""
    is_kept = any(trips(covering, tiling, loop) > 1 for loop in stay.kept)
    has_places = stay.slots > 1 or is_kept or not is_replaced(covering, tiling, stay)
    return MAX_CREDITS if has_places else 1


def fill_paths(covering: Covering, work: Work, hw: Hardware) -> tuple[tuple[str, ...], ...]:
    """Units through which data come before the first call, in their order: each unit that fills,
    behind those that hand over tiles to it."""
    feeders: dict[str, list[str]] = {}
    for trip in find_round_trips(covering, work, hw):
        if trip.is_fed and not trip.exchange.is_outward:
            feeders.setdefault(trip.exchange.reader, []).append(trip.exchange.writer)

    def paths(unit: str, behind: tuple[str, ...]) -> list[tuple[str, ...]]:
        before = [other for other in feeders.get(unit, ()) if other not in behind]
        found = [path for other in before for path in paths(other, (unit, *behind))]
        return [(*path, unit) for path in found] or [(unit,)]

    return tuple(path for unit in work.fill_units for path in paths(unit, ()))


def path_latency_cycles(work: Work, path: tuple[str, ...]) -> float:
    """From the last issue cycle of each unit of a path until the next one may take what it
    brought."""
    return sum(
        max(f.latency_cycles for f in work.flows if f.unit == unit and not f.is_drain)
        for unit in path
    )
