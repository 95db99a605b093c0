"""Search the copies that bring an operand to the unit and take it away.

In: an operand with fixed axes and blocks, its first residence. Out: chains of residences and
layouts in the external memory. Not its job: choosing among them.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import gcd, lcm

from isamap.hwdesc import immediate_value
from isamap.ir import Role, size_bytes

from .alignments import alignments
from .conversions import arrivals, ends
from .covering import BlockDim, External, OperandPlan, Residence, TileAxis, Transfer
from .external import external_layouts, holds_all, is_aligned
from .finish import FinishStep, find_finishes
from .geometry import Geometry
from .home_layouts import block_strides, home_layouts, may_address
from .passage import onward_copies, pass_through, source_memory, target_memory
from .residence import source_residence
from .ribbons import laid_end_to_end
from .roles import InstructionRole, Mover, movers
from .subject import Source, Subject, bound_windows
from .transfer import MoveDim, find_transfer

Drain = tuple[tuple[Transfer, ...], Transfer, External]  # updates in place, the copy, its layout


class Chains:
    """Searches copies for one operand with fixed axes and blocks.

    `gathers`: layouts may repeat elements.
    """

    def __init__(
        self,
        subject: Subject,
        axes: tuple[TileAxis, ...],
        blocks: tuple[BlockDim, ...],
        *,
        gathers: bool = False,
    ) -> None:
        self.gathers = gathers
        self.subject = subject
        self.hw = subject.hw
        self.axes = axes
        self.blocks = blocks
        self.windows = bound_windows(axes, blocks)
        self.dtype = subject.dtype
        self.element_bytes = size_bytes(self.dtype)
        self.movers = movers(self.hw)

    def plan(
        self,
        role: Role,
        residences: tuple[Residence, ...],
        inlet: External | None,
        outlet: External | None,
    ) -> OperandPlan:
        subject = self.subject
        return OperandPlan(
            subject.name,
            (subject.outlet or subject.own).buffer.name,
            (subject.inlet or subject.own).buffer.name,
            role,
            self.dtype,
            self.blocks,
            self.axes,
            residences,
            inlet,
            outlet,
        )

    def inward(
        self, chain: tuple[Residence, ...]
    ) -> Iterator[tuple[tuple[Residence, ...], External]]:
        """Chains of residences from the unit back to the external memory."""
        here = chain[-1]
        # else it lies further out
        has_ribbon = all(a.name in dict(here.windows) for a in self.axes if a.is_ribbon)
        for mover in self.movers_to(here):
            if not self.reaches(here, mover, mover.target):
                continue
            source, dtype = ends(mover)[0]
            origin = self.subject.inlet or self.subject.own
            if (source, dtype) == (self._outside(origin), origin.buffer.dtype):
                align = self._align(mover, str(mover.source))
                for external in self._externals(here, size_bytes(dtype), 1, origin):
                    if not has_ribbon or not is_aligned(external, align):
                        continue
                    dims = self.dims(here, external)
                    fill = find_transfer(mover, dims, size_bytes(dtype))
                    if fill is not None:
                        yield (*chain[:-1], replace(here, fill=fill)), external
                continue
            if source == self.hw.external.name:
                continue  # nothing stays there on its way: that room belongs to buffers
            if all(source != residence.memory for residence in chain):
                yield from self._through(chain, mover)

    def _through(
        self, chain: tuple[Residence, ...], mover: Mover
    ) -> Iterator[tuple[tuple[Residence, ...], External]]:
        here = chain[-1]
        if here.windows or any(axis.is_window and not axis.is_ribbon for axis in self.axes):
            return  # a window is walked in place, in one memory
        fill = find_transfer(mover, self.dims(here, None), size_bytes(ends(mover)[0][1]))
        if fill is None:
            return
        place = ends(mover)[0]
        is_packed = self.hw.memory(place[0]).within is not None
        for align in alignments(self.hw, place[0], self._align(mover, str(mover.source))):
            outer = source_residence(fill, place, self.blocks, align, is_packed=is_packed)
            found = [
                way
                for laid in (outer, *laid_end_to_end(outer, self.axes, self.blocks, self.subject))
                for way in self.inward((*chain[:-1], replace(here, fill=fill), laid))
            ]
            yield from found
            if found:  # what lies wider apart takes more room for the same
                return

    def movers_to(self, here: Residence) -> tuple[Mover, ...]:
        """Copies into `here` from places that the operand's buffer reaches, as what it holds or,
        converted once, as what the instruction reads."""
        origin = self.subject.inlet or self.subject.own
        types = origin.buffer.dtype, self.dtype
        arriving = arrivals(self.hw, types, self._outside(origin))
        return arriving.get((here.memory, here.dtype), ())

    def _outside(self, source: Source) -> str:
        """The memory where a buffer lies between tasks."""
        return source.home or self.hw.external.name

    def _align(self, mover: Mover, operand: str) -> int:
        """What addresses of an operand outside must be multiples of."""
        rule = mover.instruction.operand(operand)
        return lcm(rule.align_bytes, self.hw.memory(rule.memory).granule_bytes)

    def reaches(self, here: Residence, mover: Mover, operand: str) -> bool:
        """Can the copy address all blocks of `here`, or do they lie closer than it can?"""
        return here.align_bytes % mover.instruction.operand(operand).align_bytes == 0

    def _carries(self, mover: Mover) -> bool:
        return mover.instruction.semantics.buffer(mover.target).dtype == self.dtype

    def outward(self, here: Residence) -> Iterator[Drain]:
        """Ways from `here` straight to where the buffer lies.

        A plain copy, else byte planes; for sums that become something else, what computes that.
        """
        if self.subject.outlet is not None:
            yield from self._finishes(here, self.subject.outlet)
            return
        for mover in self.movers:
            if mover.role not in (InstructionRole.COPY, InstructionRole.NARROW):
                continue
            if source_memory(mover) != here.memory:
                continue
            if not self.reaches(here, mover, str(mover.source)):
                continue
            if target_memory(mover) == self._outside(self.subject.own):
                ways = self._drains(here, mover)
            elif mover.role is InstructionRole.COPY and self._carries(mover):
                ways = self._passing(here, mover, self.subject.own)
            else:
                continue
            for drain, external in ways:
                yield (), drain, external

    def _finishes(self, here: Residence, outlet: Source) -> Iterator[Drain]:
        """Ways to compute what becomes of the sums and to store it."""
        assert self.subject.value is not None, "an outlet comes with its value"
        dtypes = self.dtype, outlet.buffer.dtype
        narrow = size_bytes(outlet.buffer.dtype)
        target = self.subject.own.access
        ends = here.memory, self._outside(outlet)
        for found in find_finishes(self.subject.value, target, dtypes, ends, self.hw):
            if not self.reaches(here, found.store.mover, str(found.store.mover.source)):
                continue
            updates = [self._update(here, step) for step in found.updates]
            for drain, external in self._stores(here, found.store.mover, narrow, outlet):
                if holds_all(external.layout) and None not in updates:
                    done = tuple(update for update in updates if update is not None)
                    yield done, replace(drain, immediates=found.store.immediates), external

    def _stores(
        self, here: Residence, mover: Mover, narrow: int, outlet: Source
    ) -> Iterator[tuple[Transfer, External]]:
        """Ways to store what the mover computes, in elements of `narrow` bytes."""
        if target_memory(mover) != self._outside(outlet):
            yield from self._passing(here, mover, outlet)
            return
        align = self._align(mover, mover.target)
        for external in self._externals(here, narrow, 1, outlet):
            if is_aligned(external, align):
                dims = self._store_dims(here, external)
                drain = find_transfer(mover, dims, self.element_bytes)
                if drain is not None:
                    yield drain, external

    def _passing(
        self, here: Residence, mover: Mover, outlet: Source
    ) -> Iterator[tuple[Transfer, External]]:
        """Ways through the memory that the mover writes: what it makes of a block stays there until
        a copy takes it on."""
        if any(axis.is_window for axis in self.axes):
            return  # blocks pass one by one
        dtype = mover.instruction.semantics.buffer(mover.target).dtype
        must_hold_all = outlet.buffer.role is Role.INOUT
        for onward in onward_copies(self.hw, dtype, self._outside(outlet)):
            if source_memory(onward) != target_memory(mover):
                continue
            if onward.instruction.only_computed and mover.instruction.is_copy:
                continue
            align = self._align(onward, onward.target)
            for external in self._externals(here, size_bytes(dtype), 1, outlet):
                if not is_aligned(external, align):
                    continue
                if must_hold_all and not holds_all(external.layout):
                    continue
                strides = external.block_strides_bytes
                dims = self.dims(here, None)
                way = pass_through(self.hw, (mover, onward), dims, strides, self.element_bytes)
                if way is not None:
                    yield way, external

    def _update(self, here: Residence, step: FinishStep) -> Transfer | None:
        if not self.reaches(here, step.mover, step.mover.target):
            return None
        found = find_transfer(step.mover, self.dims(here, None), 1)
        return None if found is None else replace(found, immediates=step.immediates)

    def _drains(self, here: Residence, mover: Mover) -> Iterator[tuple[Transfer, External]]:
        semantics = mover.instruction.semantics
        if semantics.buffer(str(mover.source)).dtype != self.dtype:
            return
        narrow = size_bytes(semantics.buffer(mover.target).dtype)
        planes = self.element_bytes // narrow
        if planes > 1 and narrow != 1:
            return
        shift = self._shift(here) if planes > 1 else None
        if planes > 1 and shift is None:
            return
        align = self._align(mover, mover.target)
        must_hold_all = self.subject.buffer.role is Role.INOUT
        for external in self._externals(here, narrow, planes, self.subject.own):
            if not is_aligned(external, align):
                continue
            if must_hold_all and not holds_all(external.layout):
                continue  # elements that the statement does not write must stay
            dims = self._store_dims(here, external)
            drain = find_transfer(mover, dims, self.element_bytes)
            if drain is not None:
                yield (replace(drain, planes=planes, shift=shift) if shift else drain), external

    def _store_dims(self, here: Residence, external: External) -> tuple[MoveDim, ...]:
        """The dimensions of a block on its way out: the residence is the source."""
        return tuple(
            replace(
                d,
                target_stride_bytes=d.source_stride_bytes or 0,
                source_stride_bytes=d.target_stride_bytes,
            )
            for d in self.dims(here, external)
        )

    def _shift(self, here: Residence) -> Transfer | None:
        """An instruction that shifts `here` right by a byte."""
        for mover, found in self._steps(here, InstructionRole.SHIFT):
            if immediate_value(mover.instruction.immediates[0], 8) is not None:
                return found
        return None

    def in_place(self, first: Residence) -> Iterator[External]:
        """Ways in which the buffer may lie where the instruction works on it, without any copy."""
        own = self.subject.own
        if own.home != first.memory or self.windows:
            return
        rule = self.subject.match.instruction.operand(self.subject.name)
        access = self.subject.match.instruction.access(self.subject.name)
        strides = tuple(
            stride if own.access.moves_with(block.loop) else 0
            for block, stride in zip(self.blocks, first.block_strides_bytes, strict=True)
        )
        granule = self.hw.memory(first.memory).granule_bytes
        geometry = self._geometry(own, self.axes, self.element_bytes, 1)
        may_run_past = self.subject.must_run_past
        for external in home_layouts(geometry, first.memory, granule, (strides,), may_run_past):
            blocks = external.block_strides_bytes
            is_legal = may_address(access, rule, self.blocks, blocks, self.element_bytes)
            if is_legal and is_aligned(external, lcm(granule, rule.align_bytes)):
                yield external

    def zero(self, here: Residence) -> Transfer | None:
        """An instruction that clears a block of `here`."""
        return next((found for _, found in self._steps(here, InstructionRole.ZERO)), None)

    def _steps(self, here: Residence, role: InstructionRole) -> Iterator[tuple[Mover, Transfer]]:
        """Instructions of a role that work on a block where it lies."""
        for mover in self.movers:
            is_here = target_memory(mover) == here.memory
            is_here = is_here and self.reaches(here, mover, mover.target)
            if mover.role is role and is_here and self._carries(mover):
                found = find_transfer(mover, self.dims(here, None), 1)
                if found is not None:
                    yield mover, found

    def again(self, here: Residence, drain: Transfer, outlet: External) -> Transfer | None:
        """A copy that brings sums back as `drain` left them, which began from zero or from another
        buffer.

        Only behind caches, where tilings are found by the closed form that counts it.
        """
        begins = here.fill if self.subject.inlet else here.zero
        passes = drain.onward or (begins and begins.inward)
        if begins is None or passes or self.subject.outlet or not self.hw.caches:
            return None
        for mover in self.movers_to(here):
            source = str(mover.source)
            is_near = mover.instruction.operand(source).memory == self._outside(self.subject.own)
            is_near = is_near and self.reaches(here, mover, mover.target)
            if is_near and drain.planes == 1 and is_aligned(outlet, self._align(mover, source)):
                dims = self.dims(here, outlet)
                found = find_transfer(mover, dims, self.element_bytes)
                if found is not None:
                    return found
        return None

    def _externals(
        self, here: Residence, element_bytes: int, planes: int, source: Source
    ) -> Iterator[External]:
        """Layouts of the source's buffer; an axis that the source does not move with has stride
        0."""
        is_own = source is self.subject.own
        if not is_own and any(axis.is_window for axis in self.axes):
            return  # windows slide over the operand's own buffer
        order = sorted(range(len(self.blocks)), key=lambda i: here.block_strides_bytes[i])
        axes = self.axes
        if not is_own:
            axes = tuple(axis for axis in axes if source.access.moves_with(axis.loops[0]))
        geometry = self._geometry(source, axes, element_bytes, planes)
        for external in self._layouts(geometry, tuple(order), source.home):
            names = (axis.name for axis in axes)
            strides = dict(zip(names, external.axis_strides_bytes, strict=True))
            spread = tuple(strides.get(axis.name, 0) for axis in self.axes)
            yield replace(external, axis_strides_bytes=spread)

    def _geometry(
        self, source: Source, axes: tuple[TileAxis, ...], element_bytes: int, planes: int
    ) -> Geometry:
        is_kept = source is self.subject.own and source.buffer.role is Role.INOUT
        return Geometry(
            source.buffer,
            source.access,
            self.subject.loops,
            axes,
            self.blocks,
            element_bytes,
            planes,
            source.rank,
            self.gathers,
            self.subject.is_target and is_kept,
        )

    def _layouts(
        self, geometry: Geometry, order: tuple[int, ...], home: str | None
    ) -> Iterator[External]:
        if home is None:
            yield from external_layouts(geometry, order)
            return
        granule = self.hw.memory(home).granule_bytes
        blocks = tuple(block_strides(geometry, order, multiple) for multiple in (1, granule))
        yield from home_layouts(geometry, home, granule, blocks)

    def dims(self, here: Residence, external: External | None) -> tuple[MoveDim, ...]:
        """The dimensions of a block of `here`; source strides from `external`, or free."""
        moved = {loop for axis in self.axes for loop in axis.loops}
        windows = [window for window in self.windows if window.name in dict(here.windows)]
        dims = []
        for number, block in enumerate(self.blocks):
            if any(block.loop in window.loops for window in windows):
                continue
            source = external.block_strides_bytes[number] if external else None
            if block.loop not in moved:
                source = 0
            is_partial = self.subject.loop(block.loop).is_partial
            stride = here.block_strides_bytes[number]
            if source == stride == 0:
                continue  # one place on either side: what is broadcast from there is moved once
            dims.append(MoveDim(number, None, block.extent, is_partial, stride, source))
        names = [axis.name for axis in self.axes]
        for name, step in here.windows:
            if step is not None:  # else program loops walk it, as they do other axes
                source = external.axis_strides_bytes[names.index(name)] if external else None
                apart = here.align_bytes // gcd(here.align_bytes, step)
                dims.append(MoveDim(None, name, 0, True, step, source, apart))
        return tuple(dims)
