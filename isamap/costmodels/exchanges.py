"""Which units of a machine with tokens hand data over to each other.

In: a covering, the machine. Out: pairs of units with the places that one writes and the other takes
from; in which order places are filled. Not its job: the tokens themselves, what waiting costs.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, Transfer

from .passes import leaves_in_planes
from .sum_rings import brings_sums, comes_behind

KNOWN = 1 << 10  # coverings: every estimate asks again

Spot = tuple[str, int]  # an operand, the number of its residence


@dataclass(frozen=True, slots=True)
class Exchange:
    """`writer` puts data into `places`, `reader` takes them from there: the unit that brings them
    further in, computes on them, or takes them further out.

    `is_outward`: results on their way out. `is_passage`: through a memory that tiles only pass, on
    their way to or from the residences that `places` names. `is_ring`: of sums that another unit
    brings than the one that adds (`sum_rings`). `giver`: gives the writer's credits: the reader; in
    a ring the unit that takes sums out, to the one that brings the next ones to their place.
    Empty: nobody, as whatever the writer waits for, or did before, says that the place is free.
    """

    writer: str
    reader: str
    is_outward: bool
    is_passage: bool
    places: tuple[Spot, ...]
    giver: str = ""
    is_ring: bool = False

    @property
    def told(self) -> tuple[str, str]:
        """The ends of the channel in which it says that data are there."""
        return self.writer, self.reader

    @property
    def credited(self) -> tuple[str, str] | None:
        """The ends of the channel of its credits."""
        return (self.giver, self.writer) if self.giver else None

    @property
    def calls(self) -> dict[str, int]:
        """Of each unit, how many calls carry tokens each time that it hands over new tiles."""
        counts = {self.writer: 1, self.reader: 1}
        for unit in self.credited or ():
            counts[unit] = counts.get(unit, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class _HandOver:
    """One place of an exchange."""

    units: tuple[str, str]
    giver: str
    is_outward: bool
    is_passage: bool = False
    is_ring: bool = False


@lru_cache(KNOWN)
def find_exchanges(covering: Covering, hw: Hardware) -> tuple[Exchange, ...]:
    """All exchanges of a covering, inward ones first; none on machines without tokens."""
    found: dict[_HandOver, list[Spot]] = {}
    for plan in covering.operands if hw.has_tokens else ():
        for number in range(len(plan.residences)):
            for over in _hand_overs(covering, plan, number, hw):
                if over.units[0] != over.units[1]:
                    found.setdefault(over, []).append((plan.name, number))
    return tuple(
        Exchange(
            *over.units, over.is_outward, over.is_passage, tuple(places), over.giver, over.is_ring
        )
        for over, places in sorted(found.items(), key=lambda item: item[0].is_outward)
    )


def _hand_overs(
    covering: Covering, plan: OperandPlan, number: int, hw: Hardware
) -> Iterator[_HandOver]:
    def unit(transfer: Transfer) -> str:
        return hw.instruction(transfer.instruction).unit

    computing = hw.instruction(covering.instruction).unit
    residence = plan.residences[number]
    entry, drain = residence.fill or residence.zero, residence.drain
    is_ring = brings_sums(covering, plan, number, hw)
    if entry is not None:
        inner = plan.residences[number - 1] if number else None
        onward = inner and (inner.fill or inner.zero)
        brings, takes = unit(entry), unit(onward) if onward else computing
        giver = takes
        if is_ring and drain is not None:
            giver = "" if unit(drain) == brings else unit(drain)
        yield _HandOver((brings, takes), giver, False, is_ring=is_ring)
        if entry.inward is not None:
            yield _HandOver((unit(entry.inward.transfer), brings), brings, False, True)
    if drain is not None:
        takes = unit(drain)
        yield _HandOver((computing, takes), "" if is_ring else takes, True, is_ring=is_ring)
        if drain.onward is not None:
            last = unit(drain.onward.transfer)
            yield _HandOver((takes, last), last, True, True)


def order_places(exchanges: tuple[Exchange, ...], places: Iterable[Spot]) -> tuple[Spot, ...]:
    """The places in an order in which they can be filled, else as they are: each behind all that is
    handed over together with what it is filled from. Places that wait for each other are left
    out."""
    all_places = tuple(places)
    left = list(all_places)
    ordered: list[Spot] = []
    while left:
        ready = (place for place in left if not sources(exchanges, place, all_places) & {*left})
        first = next(ready, None)
        if first is None:
            break
        left.remove(first)
        ordered.append(first)
    return tuple(ordered)


def sources(exchanges: tuple[Exchange, ...], place: Spot, among: Collection[Spot]) -> set[Spot]:
    """Places that are filled before a place is: where it is filled from, and what is handed over
    together with that."""
    operand, number = place
    outside = operand, number + 1
    if outside not in among:
        return set()
    together = (e.places for e in exchanges if not e.is_passage and outside in e.places)
    return {outside, *(other for places in together for other in places)}


def why_mixed_up(covering: Covering, hw: Hardware) -> str:
    """Why the tokens of a covering's exchanges cannot be told apart; empty if they can.

    A channel hands out tokens in the order in which they came. Data that are there are told of and
    waited for at one point of the program; credits lie in a channel for longer. A single credit and
    such tokens may share one: see `shares_credits`.
    """
    exchanges = find_exchanges(covering, hw)
    for one in exchanges:
        if one.credited is None:
            continue
        others = [e for e in exchanges if e != one]
        credits = [e for e in others if e.credited == one.credited]
        told = [e for e in others if e.told == one.credited]
        crowd = [*credits, *told]
        planes = (_has_planes(covering, e) for e in (one, *crowd))
        if credits or (crowd and (any(e.is_passage for e in (one, *crowd)) or any(planes))):
            return (
                f"units {one.writer!r} and {one.giver!r} hand over data in more ways than the"
                " tokens between them can tell apart"
            )
    spots = [(p.name, n) for p in covering.operands for n in range(len(p.residences))]
    if len(order_places(exchanges, spots)) < len(spots):
        return "units wait for each other in a circle"
    return ""


def why_no_channel(covering: Covering, hw: Hardware) -> str:
    """Which channel the tokens of a covering's exchanges lack, or find too short; empty if none."""
    exchanges = find_exchanges(covering, hw)
    for one in exchanges:
        for source, target in filter(None, (one.told, one.credited)):
            channel = hw.channel(source, target)
            if channel is None:
                return f"{hw.name} has no token channel from unit {source} to unit {target}"
            is_credit = (source, target) == one.credited
            if is_credit and channel.depth < 2 and has_token_beside(covering, exchanges, one):
                return (
                    f"channel {channel.name} holds one token; a unit that fills and drains, or"
                    " drains byte after byte, needs two"
                )
    return ""


def has_token_beside(covering: Covering, exchanges: tuple[Exchange, ...], one: Exchange) -> bool:
    """Is there another token in the channel of an exchange's credits, so that there is one credit:
    of another exchange, or of byte planes that are handed to and fro?"""
    return _has_planes(covering, one) or shares_credits(exchanges, one)


def shares_credits(exchanges: tuple[Exchange, ...], one: Exchange) -> bool:
    """Do other tokens run in the channel of an exchange's credits? Then there is one credit:
    whatever is popped instead of another token was pushed at the same point, or later."""
    return any(e.told == one.credited for e in exchanges)


def _has_planes(covering: Covering, exchange: Exchange) -> bool:
    """Is what lies there handed to and fro during its drain, so that a second credit would be taken
    for a hand-over?"""
    return exchange.is_outward and any(
        leaves_in_planes(covering.operand(operand).residences[number])
        for operand, number in exchange.places
    )


def has_one_credit(covering: Covering, place: Spot, hw: Hardware) -> bool:
    """Is a second slot of no use, as its credit would share a channel with other tokens, or what is
    brought there would wait behind what is taken out of the first?"""
    if comes_behind(covering, covering.operand(place[0]), hw):
        return not drains_late(covering, place, hw)
    exchanges = find_exchanges(covering, hw)
    mine = [e for e in exchanges if place in e.places and not e.is_passage]
    credited = (hw.channel(*e.credited) for e in mine if e.is_ring and e.credited)
    if any(channel is not None and channel.depth == 1 for channel in credited):
        return True
    return any(shares_credits(exchanges, exchange) for exchange in mine)


def drains_late(covering: Covering, place: Spot, hw: Hardware) -> bool:
    """May sums that come behind those of before (`comes_behind`) be brought before these are taken
    out? Two tiles are then computed before the first is waited for, and no credits run where that
    is told."""
    if not comes_behind(covering, covering.operand(place[0]), hw):
        return False
    exchanges = find_exchanges(covering, hw)
    mine = [e for e in exchanges if e.is_ring and e.is_outward and place in e.places]
    if len(mine) != 1 or len(mine[0].places) > 1:
        return False
    told = mine[0].told
    channel = hw.channel(*told)
    is_alone = all(told not in (e.told, e.credited) for e in exchanges if e != mine[0])
    return is_alone and channel is not None and channel.depth > 1
