"""Place tokens on machines whose units do not watch each other's data.

In: a covering, its tiling, the machine. Out: the token-carrying calls around fills, compute and
drains. Not its job: the calls that move or compute, merging tokens into them (`fuse_tokens`), which
units hand over what (`costmodels.exchanges`).

Protocol. Of every two units that hand data over, the writer takes a credit from the reader (a slot
is free), writes, and passes a token (data is there); the reader gives the credit back after the
last use. Credits start at the number of slots. Exchanges happen once per run through the innermost
tile loops over which all stays that take part keep their data; through a memory that tiles only
pass, once per tile. Data go through several units from exchange to exchange, inwards before the
computation and outwards behind it. Sums that another unit brings than the one that adds go round in
a ring: who takes them out gives the credit to who brings the next ones (`costmodels.sum_rings`).
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from math import prod

from isamap.costmodels import (
    MAX_CREDITS,
    Exchange,
    Stay,
    Tiling,
    find_exchanges,
    guards,
    has_token_beside,
    is_replaced,
    order_places,
    sources,
    trips,
)
from isamap.errors import MappingError
from isamap.hwdesc import Channel, Hardware
from isamap.mapper import Covering
from isamap.program import Edge, Issue, Node, When

from .place import Slot


@dataclass(frozen=True, slots=True)
class Lane:
    """An exchange of a program: the loops inside one run of it, its credits."""

    exchange: Exchange
    period: tuple[str, ...]
    credits: int

    @property
    def writer(self) -> str:
        """The unit that waits for credits."""
        return self.exchange.writer

    @property
    def reader(self) -> str:
        """The unit that waits for data."""
        return self.exchange.reader


@dataclass(frozen=True, slots=True)
class Tokens:
    """All exchanges of a program (none on interlocked machines)."""

    hw: Hardware
    compute_unit: str
    lanes: tuple[Lane, ...]

    def prologue(self) -> tuple[Node, ...]:
        """The credits that are there at the start."""
        return tuple(
            push(self.hw, *ends)
            for lane in self.lanes
            if (ends := lane.exchange.credited)
            for _ in range(lane.credits)
        )

    def epilogue(self) -> tuple[Node, ...]:
        """Takes all credits back: the compute unit knows that everyone is done, and no token is
        left over."""
        credits = [
            pop(self.hw, *ends)
            for lane in self.lanes
            if (ends := lane.exchange.credited)
            for _ in range(lane.credits)
        ]
        knowing = dict.fromkeys(  # beside the unit that computes, that all results are out
            lane.writer for lane in self.lanes if lane.exchange.is_outward or lane.exchange.is_ring
        )
        further = [
            node
            for unit in knowing
            if unit != self.compute_unit
            for node in signal(self.hw, unit, self.compute_unit)
        ]
        return (*credits, *further)

    def before_fills(self) -> tuple[Node, ...]:
        """Everyone who is about to overwrite a slot takes a credit."""
        return self._at(Edge.FIRST, self._tiles(), self._take_credit)

    def fills(self, slots: Iterable[tuple[Slot, tuple[Node, ...]]]) -> tuple[Node, ...]:
        """What fills each slot, in an order in which it can be handed on, and the tokens between:
        filled, tell who takes it from there; taken, give the credit back."""
        made = {(slot.stay.operand, slot.stay.residence): nodes for slot, nodes in slots}
        lanes = self._tiles(is_outward=False)
        waiting = list(lanes)
        nodes: list[Node] = []
        for place in order_places(self._exchanges, made):
            needed = sources(self._exchanges, place, made)
            told = [lane for lane in waiting if not needed.isdisjoint(lane.exchange.places)]
            nodes += self._at(Edge.FIRST, told, self._tell)
            waiting = [lane for lane in waiting if lane not in told]
            nodes += made[place]
        nodes += self._at(Edge.FIRST, waiting, self._tell)
        taken = [lane for lane in lanes if lane.reader != self.compute_unit]
        return (*nodes, *self._at(Edge.LAST, taken, self._give_credit))

    def before_drains(self, late: Collection[Slot]) -> tuple[Node, ...]:
        """Computed: give the fill credits back and tell the drains, which some stays wait for only
        later."""
        used = [
            lane
            for lane in self._tiles(is_outward=False)
            if lane.reader == self.compute_unit and not lane.exchange.is_ring
        ]
        nodes = self._at(Edge.LAST, used, self._give_credit)
        for lane in self._tiles(is_outward=True):
            is_late = any(_takes_part(lane, slot) for slot in late)
            nodes += self._at(Edge.LAST, [lane], self._push_told if is_late else self._tell)
        return nodes

    def drain_late(self, slot: Slot, drain: tuple[Node, ...]) -> tuple[Node, ...]:
        """The drain of a tile that leaves late: what `before_drains` told of is waited for, and the
        place given back, only now."""
        mine = [lane for lane in self._tiles() if _takes_part(lane, slot)]
        told = [pop(self.hw, *lane.exchange.told) for lane in mine if lane.exchange.is_outward]
        return (*told, *drain, *self._at(None, mine, self._give_credit))

    def hand_over(
        self,
        slot: Slot,
        steps: tuple[tuple[tuple[Node, ...], tuple[Node, ...]], ...],
        num_parts: int,
    ) -> tuple[Node, ...]:
        """(shift, drain) steps in order; each part's next shift waits for its drain, each drain for
        its shift."""
        drains = [e for e in self._tiles(is_outward=True) if _takes_part(e, slot)]
        nodes: list[Node] = []
        for number, (shift, drain) in enumerate(steps):
            if shift:
                for lane in drains:
                    nodes += self._take_credit(lane)
                nodes.extend(shift)
                for lane in drains:
                    nodes += self._tell(lane)
            nodes.extend(drain)
            if number < len(steps) - num_parts:
                for lane in drains:
                    nodes += self._give_credit(lane)
        return tuple(nodes)

    def through(
        self, slot: Slot, *, is_outward: bool, into: tuple[Node, ...], onward: tuple[Node, ...]
    ) -> tuple[Node, ...]:
        """A tile into a memory on its way, and on from there."""
        lanes = [
            lane
            for lane in self.lanes
            if lane.exchange.is_passage and lane.exchange.is_outward is is_outward
            if _takes_part(lane, slot)
        ]
        return (
            *self._at(None, lanes, self._take_credit),
            *into,
            *self._at(None, lanes, self._tell),
            *onward,
            *self._at(None, lanes, self._give_credit),
        )

    def after_drains(self, late: Collection[Slot]) -> tuple[Node, ...]:
        """Drained: give the credit back, but for what leaves late."""
        lanes = [x for x in self._tiles() if x.exchange.is_outward or x.exchange.is_ring]
        there = [x for x in lanes if not any(_takes_part(x, slot) for slot in late)]
        return self._at(Edge.LAST, there, self._give_credit)

    @property
    def _exchanges(self) -> tuple[Exchange, ...]:
        return tuple(lane.exchange for lane in self.lanes)

    def _tiles(self, *, is_outward: bool | None = None) -> list[Lane]:
        """Exchanges of tiles that stay, on the way in or out (None: both)."""
        return [
            lane
            for lane in self.lanes
            if not lane.exchange.is_passage
            if is_outward is None or lane.exchange.is_outward is is_outward
        ]

    def _take_credit(self, lane: Lane) -> tuple[Node, ...]:
        ends = lane.exchange.credited
        return (pop(self.hw, *ends),) if ends else ()

    def _give_credit(self, lane: Lane) -> tuple[Node, ...]:
        ends = lane.exchange.credited
        return (push(self.hw, *ends),) if ends else ()

    def _push_told(self, lane: Lane) -> tuple[Node, ...]:
        return (push(self.hw, *lane.exchange.told),)

    def _tell(self, lane: Lane) -> tuple[Node, ...]:
        return signal(self.hw, lane.writer, lane.reader)

    def _at(
        self, edge: Edge | None, lanes: Iterable[Lane], make: Callable[[Lane], tuple[Node, ...]]
    ) -> tuple[Node, ...]:
        """For each exchange, at an edge of its period, or right here."""
        nodes: list[Node] = []
        for lane in lanes:
            made = make(lane)
            conditions = tuple((f"{loop}_tile", edge) for loop in lane.period if edge)
            nodes.extend((When(conditions, made),) if conditions and made else made)
        return tuple(nodes)


def _takes_part(lane: Lane, slot: Slot) -> bool:
    return (slot.stay.operand, slot.stay.residence) in lane.exchange.places


def push(hw: Hardware, source: str, target: str) -> Issue:
    """A call on unit `source` that only pushes a token to `target`."""
    return Issue(_carrier(hw, source), (), (), pushes=(_channel(hw, source, target).name,))


def pop(hw: Hardware, source: str, target: str) -> Issue:
    """A call on unit `target` that only waits for a token from `source`."""
    return Issue(_carrier(hw, target), (), (), pops=(_channel(hw, source, target).name,))


def signal(hw: Hardware, source: str, target: str) -> tuple[Node, ...]:
    """`target` waits until `source` has done everything before."""
    return push(hw, source, target), pop(hw, source, target)


def _channel(hw: Hardware, source: str, target: str) -> Channel:
    channel = hw.channel(source, target)
    assert channel is not None, "no covering is scheduled whose tokens have no channel"
    return channel


def _carrier(hw: Hardware, unit: str) -> str:
    for instruction in hw.instructions:
        if instruction.is_sync and instruction.unit == unit:
            return instruction.name
    raise MappingError(
        f"{hw.name} has no instruction on unit {unit} that only carries tokens",
        hint="add one with 'is_sync: true'",
    )


def plan_tokens(covering: Covering, tiling: Tiling, hw: Hardware) -> Tokens:
    """Which units exchange tokens, and how often."""
    exchanges = find_exchanges(covering, hw)
    lanes = []
    for exchange in exchanges:
        stays = [tiling.stay(*place) for place in exchange.places]
        is_shared = has_token_beside(covering, exchanges, exchange)
        credits = 1 if is_shared else _credits(covering, tiling, exchange, stays)
        credits = min(credits, _room(hw, exchange))
        lanes.append(Lane(exchange, _period(covering, tiling, stays), credits))
    return Tokens(hw, hw.instruction(covering.instruction).unit, tuple(lanes))


def _room(hw: Hardware, exchange: Exchange) -> int:
    """Credits that the channel holds."""
    return _channel(hw, *exchange.credited).depth if exchange.credited else 0


def _credits(covering: Covering, tiling: Tiling, exchange: Exchange, stays: list[Stay]) -> int:
    """Tiles that the writer may be ahead: the least number of places that a stay rotates
    through."""
    if exchange.is_passage:
        return MAX_CREDITS
    places = [
        stay.slots * prod(trips(covering, tiling, loop) for loop in stay.kept)
        for stay in stays
        if is_replaced(covering, tiling, stay)
    ]
    return min([MAX_CREDITS, *places])


def _period(covering: Covering, tiling: Tiling, stays: list[Stay]) -> tuple[str, ...]:
    """The innermost active tile loops over which every stay keeps its data; held loops never."""
    common = set.intersection(*(set(guards(covering, tiling, stay).outer) for stay in stays))
    period: list[str] = []
    for loop in reversed(tiling.outer):
        if trips(covering, tiling, loop) == 1:
            continue
        if loop not in common or loop in covering.held:
            break
        period.append(loop)
    return tuple(reversed(period))
