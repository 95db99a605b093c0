"""Where everything is at a point of the nest: loop counts, unit numbers, addresses.

In: a covering, its tiling, the places of its stays. Out: spans and affine addresses over the
program's loops. Not its job: calls, order, tokens.
"""

from dataclasses import dataclass
from math import prod

from isamap.costmodels import Guards, Tiling, guards, moves_blocks, passage_strides, trips
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Affine
from isamap.mapper import CoreShare, Covering, External, OperandPlan, Passage
from isamap.program import Address, For, Node, Rotation, Span, Spread

from .place import Places, Slot


def tile_name(loop: str) -> str:
    """Program loop over the tiles of a kernel loop."""
    return f"{loop}_tile"


def unit_name(loop: str) -> str:
    """Program loop over the units inside a tile."""
    return f"{loop}_unit"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where the instruction finds the current block of an operand: in a stay, or where the buffer
    lies between tasks. Strides per axis and per block dimension, room of a block."""

    plan: OperandPlan
    memory: str
    address: Address
    axis_strides: tuple[int, ...]
    block_strides: tuple[int, ...]
    block_bytes: int


def core_name(share: CoreShare) -> str:
    """Program loop over the cores that share a kernel loop."""
    return f"{share.loop}_on_{share.axis}"


class Frame:
    """A nest's loops and addresses; nothing in it changes."""

    def __init__(self, covering: Covering, tiling: Tiling, hw: Hardware, places: Places) -> None:
        self.covering = covering
        self.tiling = tiling
        self.hw = hw
        self.places = places
        self.trips = {loop.name: trips(covering, tiling, loop.name) for loop in covering.loops}
        self.guards: dict[tuple[str, int], Guards] = {
            (s.stay.operand, s.stay.residence): guards(covering, tiling, s.stay)
            for s in places.slots
        }

    def is_fine(self, slot: Slot) -> bool:
        """Are the blocks of this stay moved one by one, inside the unit loops?"""
        return moves_blocks(self.covering, slot.stay, self.hw)

    def unit_span(self, loop: str, on_core: bool) -> Span:
        """Units of the current tile: of the core whose loops are around (`on_core`), else of the
        first core, which has most."""
        tiled = self.covering.loop(loop)
        tile = self.tiling.tile(loop)
        if on_core and tiled.is_uneven:
            assert tiled.units % tile == 0, f"{loop}: shares and tiles both end early"
            return Span(tile, tiled.total_units, self.unit_index(loop, inner=False))
        if tiled.units % tile == 0:
            return Span(tile)
        return Span(tile, tiled.units, Affine.of([(tile_name(loop), tile)]))

    def share_index(self, loop: str) -> Affine:
        """Number of the first unit of the current core's share."""
        tiled = self.covering.loop(loop)
        return Affine.of((name, step * tiled.units) for name, _, step in self._digits(loop))

    def _digits(self, loop: str) -> list[tuple[str, CoreShare, int]]:
        """Program loops over the cores that share `loop`, and shares per iteration."""
        mine = [share for share in self.covering.shares if share.loop == loop]
        return [
            (core_name(share), share, prod(other.count for other in mine[number + 1 :]))
            for number, share in enumerate(mine)
        ]

    def on_cores(
        self, nodes: tuple[Node, ...], instruction: Instruction, inner: bool
    ) -> tuple[Node, ...]:
        """The nodes, run by every core that has the current unit (`inner`) or any of the tile;
        those that a multicast reaches are left out."""
        for loop in reversed(self.covering.loops):
            tiled = self.covering.loop(loop.name)
            here = self.local_index(loop.name, inner)
            for number, (name, share, step) in reversed(list(enumerate(self._digits(loop.name)))):
                if share.axis in instruction.multicast:
                    continue
                span = Span(share.count)
                if tiled.is_uneven:
                    outside = self._digits(loop.name)[:number]
                    before = Affine.of((n, s * tiled.units) for n, _, s in outside)
                    span = Span(share.count, tiled.total_units, here + before, step * tiled.units)
                nodes = (For(name, span, nodes, Spread(share.axis, share.step)),)
        return nodes

    def unit_index(self, loop: str, inner: bool) -> Affine:
        """Absolute number of the current unit (`inner`), or of the tile's first unit."""
        return self.share_index(loop) + self.local_index(loop, inner)

    def local_index(self, loop: str, inner: bool) -> Affine:
        """Number within the core's share of the current unit (`inner`), or of the tile's first."""
        terms = []
        if self.trips[loop] > 1:
            terms.append((tile_name(loop), self.tiling.tile(loop)))
        if inner and self.tiling.tile(loop) > 1:
            terms.append((unit_name(loop), 1))
        return Affine.of(terms)

    def spot(self, operand: str, inner: bool) -> Spot:
        """Where the instruction finds the operand's current block (`inner`), or the tile."""
        plan = self.covering.operand(operand)
        if plan.residences:
            slot = self.places.slot(operand, 0)
            return Spot(
                plan,
                slot.residence.memory,
                self.slot_address(slot, inner),
                tuple(slot.stride(axis.name) for axis in plan.axes),
                tuple(slot.block_stride(number) for number in range(len(plan.blocks))),
                slot.residence.block_bytes,
            )
        external = plan.outlet or plan.inlet
        assert external is not None, "an operand without stays lies somewhere"
        bases = dict((*self.places.inlets, *self.places.outlets))
        strides = external.block_strides_bytes
        return Spot(
            plan,
            external.home or self.hw.external.name,
            self.external_address(plan, external, bases[operand], inner),
            external.axis_strides_bytes,
            strides,
            max((s * b.extent for s, b in zip(strides, plan.blocks, strict=True)), default=1),
        )

    def slot_address(self, slot: Slot, inner: bool) -> Address:
        """Where the current block (`inner`) or the tile begins in the stay's memory."""
        terms = [
            (tile_name(loop), stride) for loop, stride in slot.tile_strides if self.trips[loop] > 1
        ]
        for axis in slot.plan.axes if inner else ():
            for loop in axis.loops:
                is_there = slot.stay.level or loop in slot.stay.kept_units
                if is_there and self.tiling.tile(loop) > 1:
                    step = axis.step(self.covering.loop(loop)) * slot.stride(axis.name)
                    terms.append((unit_name(loop), step))
        return Address(Affine.of(terms, slot.base), self.rotation(slot))

    def passage_address(self, slot: Slot, passage: Passage, *, is_out: bool) -> Address:
        """Where the current block or tile of a stay lies on its way: they take turns."""
        base = Affine((), self.places.passage((slot.stay.operand, is_out)))
        if passage.holds_tiles:
            _, size = passage_strides(self.covering, self.tiling, slot.plan, passage)
            return Address(base, self._turns(slot, passage.slots, size, ()))
        counter, weight = Affine(), 1
        for loop in reversed(self.tiling.inner):
            if loop in slot.plan.loops and self.tiling.tile(loop) > 1:
                counter = counter + Affine.of([(unit_name(loop), weight)])
                weight *= self.tiling.tile(loop)
        for loop in reversed(self.tiling.outer):
            if loop in slot.plan.loops and self.trips[loop] > 1:
                counter = counter + Affine.of([(tile_name(loop), weight)])
                weight *= self.trips[loop]
        turns = (Rotation(counter, passage.slots, passage.block_bytes),) if counter.terms else ()
        return Address(base, turns)

    def rotation(self, slot: Slot) -> tuple[Rotation, ...]:
        """Of a stay's own slots."""
        return self._turns(slot, slot.stay.slots, slot.slot_bytes, slot.stay.kept_tiles)

    def _turns(
        self, slot: Slot, slots: int, slot_bytes: int, kept: tuple[str, ...]
    ) -> tuple[Rotation, ...]:
        """Counts the fetches that happened, modulo the number of slots; tiles of the `kept` loops
        lie side by side."""
        guard = self.guards[slot.stay.operand, slot.stay.residence]
        counter, weight = Affine(), 1
        if slot.stay.level == 0:
            for loop in reversed(self.tiling.inner):
                is_still = loop in guard.inner or loop in slot.stay.kept_units
                if not is_still and self.tiling.tile(loop) > 1:
                    counter = counter + Affine.of([(unit_name(loop), weight)])
                    weight *= self.tiling.tile(loop)
        for loop in reversed(self.tiling.outer):
            is_kept = loop in kept
            is_still = loop in guard.outer or is_kept or self.trips[loop] == 1
            if not is_still:
                counter = counter + Affine.of([(tile_name(loop), weight)])
                weight *= self.trips[loop]
        if slots == 1 or not counter.terms:
            return ()
        return (Rotation(counter, slots, slot_bytes),)

    def external_address(
        self, plan: OperandPlan, external: External, base: int, inner: bool
    ) -> Address:
        offset = Affine((), base + external.offset_bytes)
        for axis, stride in zip(plan.axes, external.axis_strides_bytes, strict=True):
            for loop in axis.loops:
                step = axis.step(self.covering.loop(loop)) * stride
                offset = offset + self.unit_index(loop, inner).scaled(step)
        return Address(offset)
