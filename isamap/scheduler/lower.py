"""Turn a covering and its tiling into a program.

In: decisions. Out: a `Program` whose meaning is the kernel's. Not its job: deciding, costing.

Shape: loops over tiles (`m_tile`) around loops over units (`m_unit`) around one call. On interlocked machines
every block is fetched right before the first call that needs it and drained right after the last (`When` keeps
those iterations), so the hardware overlaps block by block. On machines with tokens, and for sliding windows,
whole tiles are fetched before the unit loops and drained after them.
"""

from dataclasses import dataclass

from isamap.costmodels import Guards, Stay, Tiling, axis_extent, guards, splits_along, trips
from isamap.hwdesc import Hardware, Instruction, Synchronisation
from isamap.ir import Affine, accesses
from isamap.mapper import Covering, CopyDim, External, OperandPlan, TileAxis, Transfer
from isamap.program import (
    Address,
    Edge,
    For,
    Node,
    Operand,
    Program,
    Rotation,
    Span,
    When,
)

from .emit import Call, Walk, chunk, emit_walks
from .fuse_tokens import fuse_tokens
from .place import Places, Slot, place
from .tokens import Tokens, plan_tokens


def lower(covering: Covering, tiling: Tiling, hw: Hardware) -> Program | None:
    """The program of a tiling, or None when its stays do not fit their memories."""
    places = place(covering, tiling, hw)
    if places is None:
        return None
    tokens = plan_tokens(covering, tiling, hw)
    body = _Lowering(covering, tiling, hw, places, tokens).program()
    body = fuse_tokens(body, hw) if tokens.exchanges else body
    return Program(covering.kernel.name, hw.name, places.inputs, places.outputs, body)


def tile_name(loop: str) -> str:
    """Program loop over the tiles of a kernel loop."""
    return f"{loop}_tile"


def unit_name(loop: str) -> str:
    """Program loop over the units inside a tile."""
    return f"{loop}_unit"


@dataclass(frozen=True, slots=True)
class _Side:
    """One end of a transfer: memory, address of its first element, byte step per axis and per copy dimension."""

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


class _Lowering:
    """The pieces of one program; every method returns nodes or addresses, nothing is changed."""

    def __init__(
        self, covering: Covering, tiling: Tiling, hw: Hardware, places: Places, tokens: Tokens
    ) -> None:
        self.covering = covering
        self.tiling = tiling
        self.hw = hw
        self.places = places
        self.tokens = tokens
        self.is_fine = hw.synchronisation is Synchronisation.INTERLOCKED
        self.trips = {loop.name: trips(covering, tiling, loop.name) for loop in covering.loops}
        self.guards: dict[tuple[str, int], Guards] = {
            (s.stay.operand, s.stay.residence): guards(covering, tiling, s.stay) for s in places.slots
        }

    # ------------------------------------------------------------------ nest

    def program(self) -> tuple[Node, ...]:
        """The whole nest."""
        before = [n for slot in self._coarse() for n in self._enter(slot)]
        after = [n for slot in self._coarse() for n in self._leave(slot)]
        body = (
            *self.tokens.before_fills(),
            *before,
            *self.tokens.after_fills(),
            *self._unit_nest(),
            *self.tokens.before_drains(),
            *after,
            *self.tokens.after_drains(),
        )
        for loop in reversed(self.tiling.outer):
            if self.trips[loop] > 1:
                body = (For(tile_name(loop), Span(self.trips[loop]), body),)
        return (*self.tokens.prologue(), *body)

    def _unit_nest(self) -> tuple[Node, ...]:
        fine = [slot for slot in self.places.slots if self._is_fine(slot)]
        enters = [n for slot in reversed(fine) for n in self._enter(slot)]
        leaves = [n for slot in fine for n in self._leave(slot)]
        loops = [n for n in self.tiling.inner if self.tiling.tile(n) > 1]
        if fine:
            body: tuple[Node, ...] = (*enters, *emit_walks(self._compute(tuple(loops)), ()), *leaves)
            for loop in reversed(loops):
                body = (For(unit_name(loop), self._unit_span(loop), body),)
            return body
        call = self._compute(())
        walks = tuple(
            Walk(unit_name(loop), self._unit_span(loop), self._compute_steps(loop, call))
            for loop in loops
        )
        return emit_walks(call, walks)

    def _is_fine(self, slot: Slot) -> bool:
        """Are the blocks of this stay moved one by one, inside the unit loops?"""
        has_window = any(axis.is_window for axis in slot.plan.axes)
        return slot.stay.level == 0 or (self.is_fine and not has_window)

    def _coarse(self) -> list[Slot]:
        return [slot for slot in self.places.slots if not self._is_fine(slot)]

    def _unit_span(self, loop: str) -> Span:
        tiled = self.covering.loop(loop)
        tile = self.tiling.tile(loop)
        if tiled.units % tile == 0:
            return Span(tile)
        return Span(tile, tiled.units, Affine.of([(tile_name(loop), tile)]))

    # --------------------------------------------------------------- indices

    def _unit_index(self, loop: str, inner: bool) -> Affine:
        """Absolute number of the current unit (`inner`), or of the tile's first unit."""
        terms = []
        if self.trips[loop] > 1:
            terms.append((tile_name(loop), self.tiling.tile(loop)))
        if inner and self.tiling.tile(loop) > 1:
            terms.append((unit_name(loop), 1))
        return Affine.of(terms)

    def _held_index(self, slot: Slot, loop: str, inner: bool) -> Affine:
        """Number of the unit within what the stay holds side by side."""
        if slot.stay.level == 0:
            return Affine()
        if loop in slot.stay.kept:
            return self._unit_index(loop, inner)
        is_looped = inner and self.tiling.tile(loop) > 1
        return Affine.var(unit_name(loop)) if is_looped else Affine()

    def _slot_address(self, slot: Slot, inner: bool) -> Address:
        """Where the current block (`inner`) or the tile begins in the stay's memory."""
        offset = Affine((), slot.base)
        for axis in slot.plan.axes:
            for loop in axis.loops:
                step = axis.step(self.covering.loop(loop)) * slot.stride(axis.name)
                offset = offset + self._held_index(slot, loop, inner).scaled(step)
        return Address(offset, self._rotation(slot))

    def _rotation(self, slot: Slot) -> tuple[Rotation, ...]:
        """Counts the fetches that happened, modulo the number of slots."""
        guard = self.guards[slot.stay.operand, slot.stay.residence]
        counter, weight = Affine(), 1
        if slot.stay.level == 0:
            for loop in reversed(self.tiling.inner):
                if loop not in guard.inner and self.tiling.tile(loop) > 1:
                    counter = counter + Affine.of([(unit_name(loop), weight)])
                    weight *= self.tiling.tile(loop)
        for loop in reversed(self.tiling.outer):
            is_still = loop in guard.outer or loop in slot.stay.kept or self.trips[loop] == 1
            if not is_still:
                counter = counter + Affine.of([(tile_name(loop), weight)])
                weight *= self.trips[loop]
        if slot.stay.slots == 1 or not counter.terms:
            return ()
        return (Rotation(counter, slot.stay.slots, slot.slot_bytes),)

    def _external_address(self, plan: OperandPlan, external: External, base: int, inner: bool) -> Address:
        offset = Affine((), base + external.offset_bytes)
        for axis, stride in zip(plan.axes, external.axis_strides_bytes, strict=True):
            for loop in axis.loops:
                step = axis.step(self.covering.loop(loop)) * stride
                offset = offset + self._unit_index(loop, inner).scaled(step)
        return Address(offset)

    # --------------------------------------------------------------- compute

    def _compute(self, loops: tuple[str, ...]) -> Call:
        """The compute call; `loops` are the unit loops written as program loops around it."""
        instruction = self.hw.instruction(self.covering.instruction)
        binding = dict(self.covering.binding)
        extents = tuple(
            (name, self._block_span(self._group(name, binding), True))
            for name, _ in instruction.extents
        )
        operands = []
        for rule in instruction.operands:
            slot = self.places.slot(rule.name, 0)
            address = self._slot_address(slot, inner=bool(loops))
            operands.append(
                Operand(rule.name, slot.residence.memory, address, self._operand_strides(slot, instruction))
            )
        return Call(instruction, extents, tuple(operands), self.covering.immediates)

    def _group(self, instruction_loop: str, binding: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
        synthetic = f"one_{instruction_loop}"
        names = {loop.name for loop in self.covering.loops}
        return binding[instruction_loop] or ((synthetic,) if synthetic in names else ())

    def _block_span(self, group: tuple[str, ...], inner: bool) -> Span:
        """Iterations of a block: the product over its loops, shorter at the outermost loop's last unit."""
        if not group:
            return Span(1)
        inside = 1
        for name in group[1:]:
            inside *= self.covering.loop(name).block
        head = self.covering.loop(group[0])
        if not head.is_partial:
            return Span(head.block * inside)
        offset = self._unit_index(head.name, inner).scaled(head.block * inside)
        return Span(head.block * inside, head.extent * inside, offset)

    def _operand_strides(self, slot: Slot, instruction: Instruction) -> tuple[int, ...]:
        """Byte stride of every operand dimension: the innermost bound loop's, else the least legal one."""
        semantics = instruction.semantics.statements[0]
        rule = instruction.operand(slot.plan.name)
        access = next(
            a for a in (semantics.target, *accesses(semantics.value)) if a.buffer == slot.plan.name
        )
        strides = []
        dense = slot.residence.block_bytes
        for index, stride_rule in zip(access.indices, rule.strides, strict=True):
            bound = [
                stride
                for block, stride in zip(
                    slot.plan.blocks, slot.residence.block_strides_bytes, strict=True
                )
                if block.instruction_loop == index.names[0]
            ]
            if bound:
                strides.append(bound[-1])
            elif stride_rule.fixed_bytes is not None:
                strides.append(stride_rule.fixed_bytes)
            else:
                step = stride_rule.multiple_bytes
                strides.append(-(-dense // step) * step)
        return tuple(strides)

    def _compute_steps(self, loop: str, call: Call) -> tuple[int, ...]:
        """How far each operand moves per unit of `loop`."""
        steps = []
        for operand in call.operands:
            slot = self.places.slot(operand.name, 0)
            steps.append(
                sum(
                    axis.step(self.covering.loop(loop)) * slot.stride(axis.name)
                    for axis in slot.plan.axes
                    if loop in axis.loops
                )
            )
        return tuple(steps)

    # ------------------------------------------------------------- transfers

    def _enter(self, slot: Slot) -> tuple[Node, ...]:
        """Bring a stay's data in (copy, or clear) when the iteration needs new data."""
        transfer = slot.residence.fill or slot.residence.zero
        if transfer is None:
            return ()
        fine = self._is_fine(slot)
        target = _Side(slot.residence.memory, self._slot_address(slot, fine), dict(slot.strides))
        source = None
        if slot.residence.fill is not None:
            source = self._outer_side(slot, slot.plan.inlet, self.places.inlets, fine)
        nodes = self._move(slot, transfer, source, target, fine)
        return self._guarded(slot, Edge.FIRST, nodes, fine)

    def _leave(self, slot: Slot) -> tuple[Node, ...]:
        """Take a stay's data out after its last use."""
        drain = slot.residence.drain
        if drain is None:
            return ()
        fine = self._is_fine(slot)
        source = _Side(slot.residence.memory, self._slot_address(slot, fine), dict(slot.strides))
        target = self._outer_side(slot, slot.plan.outlet, self.places.outlets, fine)
        if drain.planes == 1:
            nodes = self._move(slot, drain, source, target, fine)
        else:
            nodes = self._leave_planes(slot, drain, source, target, fine)
        return self._guarded(slot, Edge.LAST, nodes, fine)

    def _leave_planes(
        self, slot: Slot, drain: Transfer, source: _Side, target: _Side, fine: bool
    ) -> tuple[Node, ...]:
        """Drain byte plane after byte plane, in two halves if the tile has any: one shifts while one drains."""
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
        return self.tokens.hand_over(tuple(steps), len(parts))

    def _halves(self, slot: Slot) -> list[tuple[str, int, int] | None]:
        """(axis, first position, count) of both halves of the tile, or the whole if no axis is always even."""
        axis = splits_along(self.covering, self.tiling, slot.plan)
        if axis is None:
            return [None]
        tile = self.tiling.tile(axis)
        return [(axis, 0, tile - tile // 2), (axis, tile - tile // 2, tile // 2)]

    def _outer_side(
        self, slot: Slot, external: External | None, bases: tuple[tuple[str, int], ...], fine: bool
    ) -> _Side:
        """The end of a copy away from the unit: the next residence, or the external memory."""
        following = slot.stay.residence + 1
        if following < len(slot.plan.residences):
            outer = self.places.slot(slot.plan.name, following)
            return _Side(outer.residence.memory, self._slot_address(outer, fine), dict(outer.strides))
        assert external is not None
        address = self._external_address(slot.plan, external, dict(bases)[slot.plan.name], fine)
        steps = dict(zip((a.name for a in slot.plan.axes), external.axis_strides_bytes, strict=True))
        return _Side(self.hw.external.name, address, steps)

    def _guarded(self, slot: Slot, edge: Edge, nodes: tuple[Node, ...], fine: bool) -> tuple[Node, ...]:
        guard = self.guards[slot.stay.operand, slot.stay.residence]
        conditions = [(tile_name(loop), edge) for loop in guard.outer]
        if fine and slot.stay.level == 0:
            conditions += [(unit_name(loop), edge) for loop in guard.inner]
        elif fine:
            moving = set(slot.plan.loops)
            conditions += [
                (unit_name(loop), edge)
                for loop in self.tiling.inner
                if loop not in moving and self.tiling.tile(loop) > 1
            ]
        return (When(tuple(conditions), nodes),) if conditions else nodes

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
        source = source and source.moved_by(part)
        target = target.moved_by(part)
        instruction = self.hw.instruction(transfer.instruction)
        taken = {dim.axis for _, dims in transfer.assigned for dim in dims if dim.axis}
        walks: list[tuple[str, Span, int, int]] = []  # name, count, source step, target step
        if not fine:
            for axis in slot.plan.axes:
                if axis.name not in taken and not _is_walked(transfer, axis):
                    step = source.axis_steps[axis.name] if source else 0
                    is_part = part is not None and part[0] == axis.name
                    span = Span(part[2]) if part and is_part else self._axis_span(slot, axis)
                    walks.append((f"{axis.name}_move", span, step, target.axis_steps[axis.name]))
        for dim in transfer.walked:
            span = self._dim_span(slot, dim, fine)
            name = f"{dim.axis or slot.plan.blocks[dim.block or 0].loop}_walk"
            walks.append((name, span, dim.source_stride_bytes, dim.target_stride_bytes))
        extents: list[tuple[str, Span]] = []
        chunks: list[tuple[str, Span, int, int]] = []
        for loop, dims in transfer.assigned:
            span = self._merged_span(slot, dims, fine)
            part, calls = chunk(span, instruction, loop, f"{loop}_part")
            extents.append((loop, part))
            if calls is not None:
                size = instruction.extent(loop).maximum
                inner = dims[-1]
                chunks.append(
                    (f"{loop}_part", calls, size * inner.source_stride_bytes, size * inner.target_stride_bytes)
                )
        operands, order = self._move_operands(instruction, transfer, source, target, slot)
        all_walks = tuple(
            Walk(name, span, tuple(out if is_target else into for is_target in order))
            for name, span, into, out in (*walks, *chunks)
        )
        immediates = tuple((name, immediate or 0) for name, _, _ in instruction.immediates)
        return emit_walks(Call(instruction, tuple(extents), operands, immediates), all_walks)

    def _move_operands(
        self,
        instruction: Instruction,
        transfer: Transfer,
        source: _Side | None,
        target: _Side,
        slot: Slot,
    ) -> tuple[tuple[Operand, ...], tuple[bool, ...]]:
        """Operands of a copy, in the instruction's order, and which of them is the target."""
        statement = instruction.semantics.statements[0]
        inner = {loop: dims[-1] for loop, dims in transfer.assigned if dims}
        operands, order = [], []
        for rule in instruction.operands:
            is_target = rule.name == statement.target.buffer
            side = target if is_target else source
            assert side is not None
            access = next(
                a for a in (statement.target, *accesses(statement.value)) if a.buffer == rule.name
            )
            strides = []
            for index, stride_rule in zip(access.indices, rule.strides, strict=True):
                dim = inner.get(index.names[0])
                if dim is not None:
                    strides.append(dim.target_stride_bytes if is_target else dim.source_stride_bytes)
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
            return self._unit_span(axis.loops[0])
        full = axis_extent(
            self.covering, self.tiling, Stay(slot.stay.operand, 0, slot.stay.level, 1), axis
        )
        total, offset = 1, Affine()
        for loop, span in zip(axis.loops, axis.spans, strict=True):
            tiled = self.covering.loop(loop)
            reach = self.tiling.tile(loop) * tiled.block
            if tiled.extent % reach and self.trips[loop] > 1:
                total += span * (tiled.extent - 1)
                offset = offset + Affine.of([(tile_name(loop), span * reach)])
            else:
                total += span * (min(reach, tiled.extent) - 1)
        return Span(full, total, offset) if offset.terms else Span(full)

    def _dim_span(self, slot: Slot, dim: CopyDim, fine: bool) -> Span:
        if dim.axis is not None:
            return self._axis_span(slot, slot.plan.axis(dim.axis))
        assert dim.block is not None
        block = slot.plan.blocks[dim.block]
        tiled = self.covering.loop(block.loop)
        if not tiled.is_partial:
            return Span(block.extent)
        offset = self._unit_index(tiled.name, fine).scaled(tiled.block)
        if not fine and self.tiling.tile(tiled.name) > 1:
            offset = offset + Affine.of([(f"{tiled.name}_move", tiled.block)])
        return Span(tiled.block, tiled.extent, offset)

    def _merged_span(self, slot: Slot, dims: tuple[CopyDim, ...], fine: bool) -> Span:
        if len(dims) == 1:
            return self._dim_span(slot, dims[0], fine)
        count = 1
        for dim in dims:
            count *= dim.extent
        return Span(count)


def _is_walked(transfer: Transfer, axis: TileAxis) -> bool:
    return any(dim.axis == axis.name for dim in transfer.walked)

