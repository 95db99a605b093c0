"""Write the calls that bring a stay's data in and take it out.

In: the frame of the nest, tokens. Out: nodes under the conditions that say when. Not its job: their
place in the nest.
"""

from dataclasses import dataclass, replace

from isamap.costmodels import Stay, axis_extent, passage_strides, splits_along
from isamap.hwdesc import Instruction
from isamap.ir import Affine
from isamap.mapper import CopyDim, External, Passage, TileAxis, Transfer, most_rows
from isamap.program import Address, Edge, Node, Operand, Span, When

from .emit import Call, Cut, Walk, at_first_and_later, emit_cut
from .frame import Frame, tile_name, unit_name
from .late import Loops
from .place import Slot
from .tokens import Tokens


@dataclass(frozen=True, slots=True)
class _Side:
    """One end of a transfer: memory, address of its first element, byte step per axis and per copy
    dimension."""

    memory: str
    address: Address
    axis_steps: dict[str, int]

    def moved_by(self, part: tuple[str, int, int] | None) -> "_Side":
        """The same end, beginning at the part's first position."""
        if part is None:
            return self
        axis, first, _ = part
        offset = self.address.offset + first * self.axis_steps[axis]
        return _Side(self.memory, Address(offset, self.address.rotations), self.axis_steps)


class Transfers:
    """The transfers of one program."""

    def __init__(self, frame: Frame, tokens: Tokens) -> None:
        self.frame = frame
        self.tokens = tokens

    def enter(self, slot: Slot) -> tuple[Node, ...]:
        """Bring a stay's data in (copy, or clear) when the iteration needs new data."""
        transfer = slot.residence.fill or slot.residence.zero
        if transfer is None:
            return ()
        fine = self.frame.is_fine(slot)
        target = self._own_side(slot, fine)
        source = None
        if slot.residence.fill is not None:
            source = self._outer_side(slot, slot.plan.inlet, self.frame.places.inlets, fine)
        if transfer.inward is not None:
            assert source is not None, "what passes in comes from somewhere"
            nodes = self._enter_through(slot, transfer, transfer.inward, (source, target), fine)
        else:
            nodes = self._move(slot, transfer, source, target, fine)
        if slot.residence.again is not None:
            nodes = self._begin_or_resume(slot, slot.residence.again, nodes, fine)
        return self._guarded(slot, transfer, Edge.FIRST, nodes, fine)

    def _begin_or_resume(
        self, slot: Slot, again: Transfer, begin: tuple[Node, ...], fine: bool
    ) -> tuple[Node, ...]:
        """Begin sums at first; bring them back in later rounds of the loops that took them out."""
        guard = self.frame.guards[slot.stay.operand, slot.stay.residence]
        loops = tuple(tile_name(loop) for loop in guard.refetch_outer)
        if not loops:
            return begin
        source = self._outer_side(slot, slot.plan.outlet, self.frame.places.outlets, fine)
        resume = self._move(slot, again, source, self._own_side(slot, fine), fine)
        return at_first_and_later(loops, begin, resume)

    def _own_side(self, slot: Slot, fine: bool) -> _Side:
        """Where a stay's own data lie."""
        address = self.frame.slot_address(slot, fine)
        return _Side(slot.residence.memory, address, dict(slot.strides))

    def _enter_through(
        self,
        slot: Slot,
        fill: Transfer,
        passage: Passage,
        ends: tuple[_Side, _Side],
        fine: bool,
    ) -> tuple[Node, ...]:
        """Bring a block or a tile to a memory on its way, and from there in."""
        source, target = ends
        between = self._passage_side(slot, passage, is_out=False)
        into = self._move(slot, passage.transfer, source, between, fine)
        onward = self._move(slot, fill, between, target, fine)
        return self.tokens.through(slot, is_outward=False, into=into, onward=onward)

    def _passage_side(self, slot: Slot, passage: Passage, *, is_out: bool) -> _Side:
        """Where a stay's data lie in a memory on their way."""
        address = self.frame.passage_address(slot, passage, is_out=is_out)
        strides, _ = passage_strides(self.frame.covering, self.frame.tiling, slot.plan, passage)
        return _Side(passage.memory, address, strides)

    def finish(self, slot: Slot) -> tuple[Node, ...]:
        """Update a stay's data in place, after its last use and before it is taken out."""
        fine = self.frame.is_fine(slot)
        here = self._own_side(slot, fine)
        nodes = [
            node
            for update in slot.residence.finish
            for node in self._move(slot, update, None, here, fine)
        ]
        if not nodes:
            return ()
        return self._guarded(slot, slot.residence.finish[0], Edge.LAST, tuple(nodes), fine)

    def leave(self, slot: Slot) -> tuple[Node, ...]:
        """Take a stay's data out after its last use."""
        drain = slot.residence.drain
        if drain is None:
            return ()
        fine = self.frame.is_fine(slot)
        return self._guarded(slot, drain, Edge.LAST, self._taken_out(slot, drain, fine), fine)

    def leave_to_passage(self, slot: Slot, loops: Loops) -> tuple[Node, ...]:
        """Take a block out to its passage after its last use, and on from there at the end of
        `loops`."""
        drain, (to_passage, onward) = slot.residence.drain, self._ways_out(slot)
        assert drain is not None, "it passes a memory"
        at_end = When(tuple((name, Edge.LAST) for _, name in loops), onward)
        return self._guarded(slot, drain, Edge.LAST, (*to_passage, at_end), fine=True)

    def pass_on(self, slot: Slot) -> tuple[Node, ...]:
        """Move the current block on from its passage, at any time."""
        return self._ways_out(slot)[1]

    def tile_out(self, slot: Slot) -> tuple[Node, ...]:
        """Take the current tile out, at any time."""
        drain = slot.residence.drain
        assert drain is not None, "only what is taken out leaves late"
        instruction = self.frame.hw.instruction(drain.instruction)
        return self.frame.on_cores(self._taken_out(slot, drain, False), instruction, inner=False)

    def _taken_out(self, slot: Slot, drain: Transfer, fine: bool) -> tuple[Node, ...]:
        if drain.onward is not None:
            assert fine or drain.onward.holds_tiles, "blocks pass one by one"
            into, onward = self._ways_out(slot)
            return self.tokens.through(slot, is_outward=True, into=into, onward=onward)
        source = self._own_side(slot, fine)
        target = self._outer_side(slot, slot.plan.outlet, self.frame.places.outlets, fine)
        if drain.planes == 1:
            return self._move(slot, drain, source, target, fine)
        return self._leave_planes(slot, drain, source, target, fine)

    def _ways_out(self, slot: Slot) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        """Drain a block or a tile to a memory on its way; from there on."""
        drain = slot.residence.drain
        assert drain is not None and drain.onward is not None, "it passes a memory"
        passage, fine = drain.onward, self.frame.is_fine(slot)
        target = self._outer_side(slot, slot.plan.outlet, self.frame.places.outlets, fine)
        between = self._passage_side(slot, passage, is_out=True)
        return (
            self._move(slot, drain, self._own_side(slot, fine), between, fine),
            self._move(slot, passage.transfer, between, target, fine),
        )

    def _leave_planes(
        self, slot: Slot, drain: Transfer, source: _Side, target: _Side, fine: bool
    ) -> tuple[Node, ...]:
        """Drain byte plane after byte plane, in two halves if the tile has any: one shifts while
        one drains."""
        assert slot.plan.outlet is not None and drain.shift is not None
        plane_bytes = slot.plan.outlet.layout.plane_bytes or 0
        parts = [None] if fine else self._halves(slot)
        steps = []
        for plane in range(drain.planes):
            for part in parts:
                address = Address(target.address.offset + plane * plane_bytes)
                moved = _Side(target.memory, address, target.axis_steps)
                shift: tuple[Node, ...] = ()
                if plane:
                    shift = self._move(slot, drain.shift, None, source, fine, part, immediate=8)
                steps.append((shift, self._move(slot, drain, source, moved, fine, part)))
        return self.tokens.hand_over(slot, tuple(steps), len(parts))

    def _halves(self, slot: Slot) -> list[tuple[str, int, int] | None]:
        """(axis, first position, count) of both halves of the tile, or the whole if no axis is
        always even."""
        axis = splits_along(self.frame.covering, self.frame.tiling, slot.plan)
        if axis is None:
            return [None]
        tile = self.frame.tiling.tile(axis)
        return [(axis, 0, tile - tile // 2), (axis, tile - tile // 2, tile // 2)]

    def _outer_side(
        self, slot: Slot, external: External | None, bases: tuple[tuple[str, int], ...], fine: bool
    ) -> _Side:
        """The end of a copy away from the unit: the next residence, or the external memory."""
        following = slot.stay.residence + 1
        if following < len(slot.plan.residences):
            outer = self.frame.places.slot(slot.plan.name, following)
            return _Side(
                outer.residence.memory, self.frame.slot_address(outer, fine), dict(outer.strides)
            )
        assert external is not None
        address = self.frame.external_address(
            slot.plan, external, dict(bases)[slot.plan.name], fine
        )
        steps = dict(
            zip((a.name for a in slot.plan.axes), external.axis_strides_bytes, strict=True)
        )
        return _Side(external.home or self.frame.hw.external.name, address, steps)

    def _guarded(
        self, slot: Slot, transfer: Transfer, edge: Edge, nodes: tuple[Node, ...], fine: bool
    ) -> tuple[Node, ...]:
        """The nodes of a transfer for every core that it serves, in the iterations that need it."""
        nodes = self.frame.on_cores(nodes, self.frame.hw.instruction(transfer.instruction), fine)
        conditions = tuple((loop, edge) for loop in self.resting_loops(slot, fine))
        return (When(conditions, nodes),) if conditions else nodes

    def resting_loops(self, slot: Slot, fine: bool) -> tuple[str, ...]:
        """Program loops around a transfer of the stay over which its data stay the same."""
        guard = self.frame.guards[slot.stay.operand, slot.stay.residence]
        loops = [tile_name(loop) for loop in guard.outer]
        if fine and slot.stay.level == 0:
            loops += [unit_name(loop) for loop in guard.inner]
        elif fine:
            moving = set(slot.plan.loops)
            tiling = self.frame.tiling
            inner = [loop for loop in tiling.inner if loop not in moving and tiling.tile(loop) > 1]
            loops += [unit_name(loop) for loop in inner]
        return tuple(loops)

    def _move(
        self,
        slot: Slot,
        transfer: Transfer,
        source: _Side | None,
        target: _Side,
        fine: bool,
        part: tuple[str, int, int] | None = None,
        immediate: int | None = None,
    ) -> tuple[Node, ...]:
        """One transfer of a block (`fine`), of a whole tile, or of a part of it along one axis."""
        source = source.moved_by(part) if source else None
        target = target.moved_by(part)
        instruction = self.frame.hw.instruction(transfer.instruction)
        taken = {dim.axis for _, dims in transfer.assigned for dim in dims if dim.axis}
        walks: list[tuple[str, Span, int, int]] = []  # name, count, source step, target step
        if not fine:
            for axis in slot.plan.axes:
                if axis.name not in taken and not _is_walked(transfer, axis):
                    step = source.axis_steps[axis.name] if source else 0
                    is_part = part is not None and part[0] == axis.name
                    span = Span(part[2]) if part and is_part else self._axis_span(slot, axis)
                    walks.append((f"{axis.name}_move", span, step, target.axis_steps[axis.name]))
        steps = frozenset(name for name, span, *_ in walks if span != Span(1))
        for dim in transfer.walked:
            span = self._dim_span(slot, dim, fine, steps)
            name = f"{dim.axis or slot.plan.blocks[dim.block or 0].loop}_walk"
            walks.append((name, span, dim.source_stride_bytes, dim.target_stride_bytes))
        cuts: list[tuple[str, Span, int, int]] = []
        for loop, dims in transfer.assigned:
            span = self._merged_span(slot, dims, fine, steps)
            into, out = (
                (dims[-1].source_stride_bytes, dims[-1].target_stride_bytes) if dims else (0, 0)
            )
            cuts.append((loop, span, into, out))
        operands, order = self._move_operands(instruction, transfer, source, target)
        stepped = [
            (name, span, tuple(out if is_target else into for is_target in order))
            for name, span, into, out in (*walks, *cuts)
        ]
        given = dict(transfer.immediates)
        immediates = tuple(
            (rule.name, given.get(rule.name, immediate or 0)) for rule in instruction.immediates
        )
        call = Call(instruction, tuple((n, s) for n, s, *_ in cuts), operands, immediates)
        all_walks = tuple(Walk(*row) for row in stepped[: len(walks)])
        all_cuts = [Cut(*row) for row in stepped[len(walks) :]]
        if transfer.rows is not None:
            row, rows = transfer.rows
            in_rows = replace(
                next(cut for cut in all_cuts if cut.loop == row),
                rows=(rows, most_rows(instruction, transfer)),
            )
            all_cuts = [in_rows, *(cut for cut in all_cuts if cut.loop not in (row, rows))]
        return emit_cut(call, all_walks, tuple(all_cuts))

    def _move_operands(
        self,
        instruction: Instruction,
        transfer: Transfer,
        source: _Side | None,
        target: _Side,
    ) -> tuple[tuple[Operand, ...], tuple[bool, ...]]:
        """Operands of a copy, in the instruction's order, and which of them is the target."""
        statement = instruction.semantics.statements[0]
        inner = {loop: dims[-1] for loop, dims in transfer.assigned if dims}
        if transfer.rows is not None:
            row, rows = transfer.rows
            inner[rows] = _row(inner[row], instruction.extent(row).maximum)
        operands, order = [], []
        for rule in instruction.operands:
            is_target = rule.name == statement.target.buffer
            side = target if is_target else source
            assert side is not None
            access = instruction.access(rule.name)
            strides = []
            for index, stride_rule in zip(access.indices, rule.strides, strict=True):
                dim = inner.get(index.names[0]) if index.names else None
                if dim is not None:
                    strides.append(
                        dim.target_stride_bytes if is_target else dim.source_stride_bytes
                    )
                elif stride_rule.fixed_bytes is not None:
                    strides.append(stride_rule.fixed_bytes)
                else:
                    strides.append(stride_rule.multiple_bytes)
            operands.append(Operand(rule.name, side.memory, side.address, tuple(strides)))
            order.append(is_target)
        return tuple(operands), tuple(order)

    def _axis_span(self, slot: Slot, axis: TileAxis) -> Span:
        """Positions of the current tile along an axis."""
        if not axis.is_window:
            return self.frame.unit_span(axis.loops[0], on_core=True)
        full = axis_extent(
            self.frame.covering,
            self.frame.tiling,
            Stay(slot.stay.operand, 0, slot.stay.level, 1),
            axis,
        )
        total, offset = 1, Affine()
        for loop, span in zip(axis.loops, axis.spans, strict=True):
            tiled = self.frame.covering.loop(loop)
            reach = self.frame.tiling.tile(loop) * tiled.block
            step = span * tiled.block
            if tiled.is_ragged:
                total += span * (tiled.total_extent - 1)
                offset = offset + self.frame.unit_index(loop, inner=False).scaled(step)
            elif tiled.extent % reach and self.frame.trips[loop] > 1:
                total += span * (tiled.extent - 1)
                offset = offset + self.frame.local_index(loop, inner=False).scaled(step)
            else:
                total += span * (min(reach, tiled.extent) - 1)
        return Span(full, total, offset) if offset.terms else Span(full)

    def _dim_span(self, slot: Slot, dim: CopyDim, fine: bool, steps: frozenset[str]) -> Span:
        """Positions along a dimension; a tile moves in `steps`. Without one, as for an operand that
        is the same for every block of the tile, the first block is the largest."""
        if dim.axis is not None:
            return self._axis_span(slot, slot.plan.axis(dim.axis))
        assert dim.block is not None
        block = slot.plan.blocks[dim.block]
        tiled = self.frame.covering.loop(block.loop)
        if tiled.total_extent % tiled.block == 0:
            return Span(block.extent)
        offset = self.frame.unit_index(tiled.name, fine).scaled(tiled.block)
        if not fine and f"{tiled.name}_move" in steps:
            offset = offset + Affine.of([(f"{tiled.name}_move", tiled.block)])
        return Span(tiled.block, tiled.total_extent, offset)

    def _merged_span(
        self, slot: Slot, dims: tuple[CopyDim, ...], fine: bool, steps: frozenset[str]
    ) -> Span:
        if len(dims) == 1:
            return self._dim_span(slot, dims[0], fine, steps)
        count = 1
        for dim in dims:
            count *= dim.extent
        return Span(count)


def _row(dim: CopyDim, size: int) -> CopyDim:
    """The dimension that steps through another one by `size` of its iterations."""
    return replace(
        dim,
        source_stride_bytes=size * dim.source_stride_bytes,
        target_stride_bytes=size * dim.target_stride_bytes,
    )


def _is_walked(transfer: Transfer, axis: TileAxis) -> bool:
    return any(dim.axis == axis.name for dim in transfer.walked)
