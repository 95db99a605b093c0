"""Place tokens on machines whose units do not watch each other's data.

In: a covering, its tiling, the machine. Out: the token-carrying calls around fills, compute and
drains. Not its job: the calls that move or compute, merging tokens into them (`fuse_tokens`).

Protocol. A unit that fills takes a credit from the compute unit (a slot is free), fills, and passes
a token (data is there); the compute unit gives the credit back after the last use. A unit that
drains is the mirror image. Credits start at the number of slots. Exchanges happen once per run
through the innermost tile loops over which all stays of that unit keep their data.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from isamap.costmodels import Stay, Tiling, guards, is_replaced, trips
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.program import Edge, Issue, Node, When

MAX_CREDITS = 2  # the closed form counts on two tiles in flight


@dataclass(frozen=True, slots=True)
class Exchange:
    """A unit that works with the compute unit: its role, the loops inside one exchange, its
    credits."""

    unit: str
    is_fill: bool
    period: tuple[str, ...]
    credits: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """All exchanges of a program (none on interlocked machines)."""

    hw: Hardware
    compute_unit: str
    exchanges: tuple[Exchange, ...]

    def prologue(self) -> tuple[Node, ...]:
        """The credits that are there at the start."""
        return tuple(
            node
            for e in self.exchanges
            for _ in range(e.credits)
            for node in self._push(*self._credit_ends(e))
        )

    def epilogue(self) -> tuple[Node, ...]:
        """Takes all credits back: everyone is done, and no token is left over."""
        return tuple(
            node
            for e in self.exchanges
            for _ in range(e.credits)
            for node in self._pop(*self._credit_ends(e))
        )

    def before_fills(self) -> tuple[Node, ...]:
        """Everyone who is about to overwrite a slot takes a credit."""
        return self._at(Edge.FIRST, None, lambda e: self._pop(*self._credit_ends(e)))

    def after_fills(self) -> tuple[Node, ...]:
        """Filled: tell the compute unit."""
        return self._at(
            Edge.FIRST,
            True,
            lambda e: (
                *self._push(e.unit, self.compute_unit),
                *self._pop(e.unit, self.compute_unit),
            ),
        )

    def before_drains(self) -> tuple[Node, ...]:
        """Computed: give the fill credits back and tell the drains."""
        return (
            *self._at(Edge.LAST, True, lambda e: self._push(self.compute_unit, e.unit)),
            *self._at(
                Edge.LAST,
                False,
                lambda e: (
                    *self._push(self.compute_unit, e.unit),
                    *self._pop(self.compute_unit, e.unit),
                ),
            ),
        )

    def hand_over(
        self, steps: tuple[tuple[tuple[Node, ...], tuple[Node, ...]], ...], num_parts: int
    ) -> tuple[Node, ...]:
        """(shift, drain) steps in order; each part's next shift waits for its drain, each drain for
        its shift."""
        drains = [e for e in self.exchanges if not e.is_fill]
        nodes: list[Node] = []
        for number, (shift, drain) in enumerate(steps):
            if shift:
                for e in drains:
                    nodes.extend(self._pop(e.unit, self.compute_unit))
                nodes.extend(shift)
                for e in drains:
                    nodes.extend(self._push(self.compute_unit, e.unit))
                    nodes.extend(self._pop(self.compute_unit, e.unit))
            nodes.extend(drain)
            if number < len(steps) - num_parts:
                for e in drains:
                    nodes.extend(self._push(e.unit, self.compute_unit))
        return tuple(nodes)

    def after_drains(self) -> tuple[Node, ...]:
        """Drained: give the credit back."""
        return self._at(Edge.LAST, False, lambda e: self._push(e.unit, self.compute_unit))

    def _credit_ends(self, exchange: Exchange) -> tuple[str, str]:
        """Credits of fills flow from the compute unit, credits of drains towards it."""
        if exchange.is_fill:
            return self.compute_unit, exchange.unit
        return exchange.unit, self.compute_unit

    def _at(
        self,
        edge: Edge,
        is_fill: bool | None,
        make: Callable[[Exchange], tuple[Node, ...]],
    ) -> tuple[Node, ...]:
        nodes: list[Node] = []
        for exchange in self.exchanges:
            if is_fill is None or exchange.is_fill is is_fill:
                made = make(exchange)
                conditions = tuple((f"{loop}_tile", edge) for loop in exchange.period)
                nodes.extend((When(conditions, made),) if conditions else made)
        return tuple(nodes)

    def _push(self, source: str, target: str) -> tuple[Node, ...]:
        return (push(self.hw, source, target),)

    def _pop(self, source: str, target: str) -> tuple[Node, ...]:
        return (pop(self.hw, source, target),)


def push(hw: Hardware, source: str, target: str) -> Issue:
    """A call on unit `source` that only pushes a token to `target`."""
    return Issue(_carrier(hw, source), (), (), pushes=(_channel(hw, source, target),))


def pop(hw: Hardware, source: str, target: str) -> Issue:
    """A call on unit `target` that only waits for a token from `source`."""
    return Issue(_carrier(hw, target), (), (), pops=(_channel(hw, source, target),))


def signal(hw: Hardware, source: str, target: str) -> tuple[Node, ...]:
    """`target` waits until `source` has done everything before."""
    return push(hw, source, target), pop(hw, source, target)


def _channel(hw: Hardware, source: str, target: str) -> str:
    for channel in hw.channels:
        if (channel.source_unit, channel.target_unit) == (source, target):
            return channel.name
    raise MappingError(
        f"{hw.name} has no token channel from unit {source} to unit {target}",
        hint="add it under 'channels'",
    )


def _carrier(hw: Hardware, unit: str) -> str:
    for instruction in hw.instructions:
        if instruction.is_sync and instruction.unit == unit:
            return instruction.name
    raise MappingError(
        f"{hw.name} has no instruction on unit {unit} that only carries tokens",
        hint="add one with 'is_sync: true'",
    )


def plan_tokens(covering: Covering, tiling: Tiling, hw: Hardware) -> Tokens:
    """Which units exchange tokens with the compute unit, and how often."""
    compute = hw.instruction(covering.instruction).unit
    if not hw.has_tokens:
        return Tokens(hw, compute, ())
    fills: dict[str, list[Stay]] = {}
    drains: dict[str, list[Stay]] = {}
    for stay in tiling.stays:
        residence = covering.operand(stay.operand).residences[stay.residence]
        for transfer, side in (
            (residence.fill or residence.zero, fills),
            (residence.drain, drains),
        ):
            if transfer is not None and hw.instruction(transfer.instruction).unit != compute:
                side.setdefault(hw.instruction(transfer.instruction).unit, []).append(stay)
    exchanges = []
    for side, is_fill in ((fills, True), (drains, False)):
        for unit, stays in side.items():
            ends = (compute, unit) if is_fill else (unit, compute)
            has_planes = any(_has_planes(covering, stay) for stay in stays)
            is_shared = (unit in fills and unit in drains) or (has_planes and not is_fill)
            room = _room(hw, *ends, shared=is_shared)
            credits = min(_credits(covering, tiling, stays), room)
            exchanges.append(Exchange(unit, is_fill, _period(covering, tiling, stays), credits))
    return Tokens(hw, compute, tuple(exchanges))


def _room(hw: Hardware, source: str, target: str, *, shared: bool) -> int:
    """Credits that the channel holds, beside another token where something else shares it."""
    name = _channel(hw, source, target)
    depth = next(channel.depth for channel in hw.channels if channel.name == name)
    if shared and depth < 2:
        raise MappingError(
            f"channel {name} holds one token; a unit that fills and drains, or drains byte after"
            " byte, needs two",
            hint="if the machine has more, make its 'depth' 2",
        )
    return depth - shared


def _credits(covering: Covering, tiling: Tiling, stays: list[Stay]) -> int:
    """Tiles that the unit may be ahead: the least number of places that a stay rotates through."""
    places = [
        stay.slots * prod(trips(covering, tiling, loop) for loop in stay.kept)
        for stay in stays
        if is_replaced(covering, tiling, stay)
    ]
    has_planes = any(_has_planes(covering, stay) for stay in stays)
    return 1 if has_planes else min([MAX_CREDITS, *places])


def _has_planes(covering: Covering, stay: Stay) -> bool:
    """Is the stay handed to and fro during its drain, so that a second credit would be taken for a
    hand-over?"""
    drain = covering.operand(stay.operand).residences[stay.residence].drain
    return drain is not None and drain.planes > 1


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
