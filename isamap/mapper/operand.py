"""Plan one operand: axes, blocks, layout in every memory, copies between them.

In: a match, its tiled loops, one operand. Out: the most natural plan, or the reason why none
exists. Not its job: tile sizes, order, other operands.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import lcm

import networkx

from isamap.hwdesc import Hardware, StrideRule
from isamap.ir import Access, Buffer, Role, accesses, size_bytes

from .covering import (
    BlockDim,
    CopyDim,
    External,
    OperandPlan,
    Residence,
    TileAxis,
    TiledLoop,
    Transfer,
)
from .external import Geometry, external_layouts
from .match import Match
from .roles import InstructionRole, Mover, movers
from .transfer import MoveDim, block_cycles, find_transfer, with_planes


@dataclass(frozen=True, slots=True)
class Subject:
    """The operand to plan and everything around it."""

    hw: Hardware
    match: Match
    loops: tuple[TiledLoop, ...]
    name: str
    access: Access
    buffer: Buffer
    rank: int  # dimensions that the kernel's array has
    synthetic: tuple[tuple[str, str], ...]  # instruction loop -> its synthetic kernel loop

    def loop(self, name: str) -> TiledLoop:
        """The tiled loop called `name`."""
        return next(loop for loop in self.loops if loop.name == name)


def plan_operand(subject: Subject) -> tuple[OperandPlan, ...] | str:
    """The most natural plan, and each less natural one that copies faster; or why there is none."""
    plans: list[tuple[int, float, OperandPlan]] = []
    reason = ""
    for axes in _axis_choices(subject):
        blocks = _block_dims(subject)
        first = _first_residence(subject, axes, blocks)
        if isinstance(first, str):
            reason = reason or first
            continue
        for plan in _plans(subject, axes, blocks, first):
            if isinstance(plan, str):
                reason = plan
            else:
                plans.append((layout_rank(plan), _plan_cycles(subject.hw, plan), plan))
    if not plans:
        return f"operand {subject.name} ({subject.buffer.name}): {reason}"
    front: list[OperandPlan] = []
    fastest = float("inf")
    for _, cycles, plan in sorted(plans, key=lambda row: row[:2]):
        if cycles < fastest:
            fastest = cycles
            front.append(plan)
    return tuple(front)


def layout_rank(plan: OperandPlan) -> int:
    """0: the buffer is used as it lies; higher: a zero border must be added, or blocks packed."""
    rank = 0
    for external in (plan.inlet, plan.outlet):
        if external is not None and not external.layout.is_natural:
            rank += 1 if len(external.layout.axes) == len(external.layout.shape) else 2
    return rank


def _plan_cycles(hw: Hardware, plan: OperandPlan) -> float:
    transfers = [t for r in plan.residences for t in (r.fill, r.zero, r.drain) if t is not None]
    return sum(block_cycles(hw.instruction(t.instruction), t) for t in transfers)


def _axis_choices(subject: Subject) -> Iterator[tuple[TileAxis, ...]]:
    """Sliding windows as windows first; then every loop on its own (overlapping elements are copied
    twice)."""
    bound = {name for _, group in subject.match.binding for name in group}
    fused = {n for _, group in subject.match.binding if len(group) > 1 for n in group}
    seen: set[str] = set()
    region: list[TileAxis] = []
    has_window = False
    may_slide = True
    for dim, index in enumerate(subject.access.indices):
        may_slide = may_slide and not seen & set(index.names)
        seen |= set(index.names)
        if len(index.terms) <= 1:
            region.extend(TileAxis(name, (name,)) for name in index.names)
            continue
        has_window = True
        spans = tuple(coefficient for _, coefficient in index.terms)
        may_slide = may_slide and min(spans) > 0 and not fused & set(index.names)
        may_slide = may_slide and len(bound & set(index.names)) <= 1
        region.append(TileAxis(f"window{dim}", index.names, spans))
    if has_window and may_slide:
        yield tuple(region)
    names = dict.fromkeys(n for index in subject.access.indices for n in index.names)
    yield tuple(TileAxis(name, (name,)) for name in names)


def _pattern_access(subject: Subject) -> Access:
    statement = subject.match.instruction.semantics.statements[0]
    everything = (statement.target, *accesses(statement.value))
    return next(access for access in everything if access.buffer == subject.name)


def _groups(subject: Subject) -> dict[str, tuple[str, ...]]:
    synthetic = dict(subject.synthetic)
    return {
        loop: group or ((synthetic[loop],) if loop in synthetic else ())
        for loop, group in subject.match.binding
    }


def _block_dims(subject: Subject) -> tuple[BlockDim, ...]:
    """Block dimensions of more than one iteration, in the order of the operand's dimensions."""
    groups = _groups(subject)
    dims = []
    for index in _pattern_access(subject).indices:
        for instruction_loop in index.names:
            for name in groups[instruction_loop]:
                block = subject.loop(name).block
                if block > 1:
                    dims.append(BlockDim(name, block, instruction_loop))
    return tuple(dims)


def _first_residence(
    subject: Subject, axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...]
) -> Residence | str:
    """How blocks lie in the memory that the instruction reads: its stride rules, as dense as they
    allow."""
    pattern = _pattern_access(subject)
    rule = subject.match.instruction.operand(subject.name)
    memory = subject.hw.memory(rule.memory)
    align = lcm(memory.granule_bytes, rule.align_bytes)
    window = _bound_window(axes, blocks)
    element = size_bytes(subject.buffer.dtype)
    strides: dict[str, int] = {}  # per kernel loop
    span = element
    window_stride = 0
    for index, stride_rule in reversed(list(zip(pattern.indices, rule.strides, strict=True))):
        if index.constant or len(index.terms) != 1 or index.terms[0][1] != 1:
            return f"{subject.match.instruction.name} does not index {subject.name} by single loops"
        members = [b for b in blocks if b.instruction_loop == index.names[0]]
        if window and any(b.loop in window.loops for b in members):
            continue
        base = _stride(stride_rule, span, 1)
        if base is None:
            if members:
                return f"stride of dimension {index} cannot be {span} bytes or more"
            continue
        for block in reversed(members):
            strides[block.loop] = base
            base *= block.extent
            span = max(span, base)
    if window:
        block = next(b for b in blocks if b.loop in window.loops)
        number = [i for i, x in enumerate(pattern.indices) if x.names == (block.instruction_loop,)][
            0
        ]
        coefficient = window.spans[window.loops.index(block.loop)]
        least = -(-span // align) * align
        found = _stride(rule.strides[number], least * coefficient, coefficient * align)
        if found is None or found % coefficient:
            return f"a window that moves by {coefficient} needs a free stride"
        window_stride = found // coefficient
        strides[block.loop] = found
        span = window_stride
    return Residence(
        rule.memory,
        tuple(strides[b.loop] for b in blocks),
        -(-span // align) * align,
        window.name if window else None,
        window_stride,
    )


def _bound_window(axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...]) -> TileAxis | None:
    bound = {block.loop for block in blocks}
    return next((axis for axis in axes if axis.is_window and bound & set(axis.loops)), None)


def _stride(rule: StrideRule, least: int, multiple: int) -> int | None:
    """Smallest stride of at least `least` bytes, a multiple of `multiple`, that the rule allows."""
    if rule.is_dense:
        return least if least % multiple == 0 else None
    if rule.fixed_bytes is not None:
        fits = rule.fixed_bytes >= least and rule.fixed_bytes % multiple == 0
        return rule.fixed_bytes if fits else None
    step = lcm(rule.multiple_bytes, multiple)
    stride = -(-least // step) * step
    return stride if rule.allows(stride) else None


def _plans(
    subject: Subject, axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...], first: Residence
) -> Iterator[OperandPlan | str]:
    role = subject.buffer.role
    is_target = _pattern_access(subject) == subject.match.instruction.semantics.statements[0].target
    role = Role.IN if not is_target else role
    planner = _Planner(subject, axes, blocks)
    if role is Role.IN:
        for residences, inlet in planner.inward((first,)):
            yield planner.plan(role, residences, inlet, None)
        yield f"no copy brings it from {subject.hw.external.name} to {first.memory}"
        return
    drains = tuple(planner.outward(first))
    if not drains:
        yield f"no copy takes {subject.buffer.dtype} from {first.memory} to {subject.hw.external.name}"
        return
    reads = subject.match.instruction.semantics.statements[0].update != "="
    if role is not Role.INOUT or not reads:
        zero = planner.zero(first)
        if reads and zero is None:
            yield f"no instruction clears {first.memory}"
            return
        for drain, outlet in drains:
            filled = replace(first, drain=drain, zero=zero if reads else None)
            yield planner.plan(role, (filled,), None, outlet)
        return
    for residences, inlet in planner.inward((first,)):
        for drain, outlet in drains:
            is_same = inlet.layout == outlet.layout or drain.planes > 1
            if len(residences) == 1 and is_same:
                yield planner.plan(role, (replace(residences[0], drain=drain),), inlet, outlet)
    yield f"no copy brings it from {subject.hw.external.name} to {first.memory}"


def _is_aligned(external: External, align: int) -> bool:
    """Does every unit of every loop begin at a multiple of `align`?"""
    offsets = (external.offset_bytes, *external.axis_strides_bytes)
    return all(offset % align == 0 for offset in offsets) and (
        (external.layout.plane_bytes or 0) % align == 0
    )


class _Planner:
    """Searches copies for one operand with fixed axes and blocks."""

    def __init__(
        self, subject: Subject, axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...]
    ) -> None:
        self.subject = subject
        self.hw = subject.hw
        self.axes = axes
        self.blocks = blocks
        self.window = _bound_window(axes, blocks)
        self.dtype = subject.buffer.dtype
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
            subject.buffer.name,
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
        for mover in self._movers_to(here.memory):
            source = mover.instruction.operand(str(mover.source)).memory
            if source == self.hw.external.name:
                align = mover.instruction.operand(str(mover.source)).align_bytes
                for external in self._externals(here, self.element_bytes, 1):
                    if not _is_aligned(external, align):
                        continue
                    dims = self._dims(here, external)
                    fill = find_transfer(mover, dims, self.element_bytes, self.element_bytes)
                    if fill is not None:
                        yield (*chain[:-1], replace(here, fill=fill)), external
            elif all(source != residence.memory for residence in chain):
                yield from self._through(chain, mover, source)

    def _through(
        self, chain: tuple[Residence, ...], mover: Mover, source: str
    ) -> Iterator[tuple[tuple[Residence, ...], External]]:
        here = chain[-1]
        fill = find_transfer(mover, self._dims(here, None), self.element_bytes, self.element_bytes)
        if fill is None:
            return
        rule = mover.instruction.operand(str(mover.source))
        align = lcm(self.hw.memory(source).granule_bytes, rule.align_bytes)
        outer = self._source_residence(fill, source, align)
        yield from self.inward((*chain[:-1], replace(here, fill=fill), outer))

    def _movers_to(self, memory: str) -> list[Mover]:
        """Copies of this type into `memory` from memories that the external memory reaches."""
        graph: networkx.DiGraph[str] = networkx.DiGraph()
        graph.add_node(self.hw.external.name)
        copies = [m for m in self.movers if m.role is InstructionRole.COPY and self._carries(m)]
        for mover in copies:
            graph.add_edge(
                mover.instruction.operand(str(mover.source)).memory,
                mover.instruction.operand(mover.target).memory,
            )
        reached = networkx.descendants(graph, self.hw.external.name) | {self.hw.external.name}
        return [
            mover
            for mover in copies
            if mover.instruction.operand(mover.target).memory == memory
            and mover.instruction.operand(str(mover.source)).memory in reached
        ]

    def _carries(self, mover: Mover) -> bool:
        return mover.instruction.semantics.buffer(mover.target).dtype == self.dtype

    def outward(self, here: Residence) -> Iterator[tuple[Transfer, External]]:
        """Ways from `here` straight to the external memory: a plain copy, else byte planes."""
        for mover in self.movers:
            if mover.role not in (InstructionRole.COPY, InstructionRole.NARROW):
                continue
            source = mover.instruction.operand(str(mover.source)).memory
            target = mover.instruction.operand(mover.target).memory
            if (source, target) != (here.memory, self.hw.external.name):
                continue
            yield from self._drains(here, mover)

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
        align = mover.instruction.operand(mover.target).align_bytes
        for external in self._externals(here, narrow, planes):
            if not _is_aligned(external, align):
                continue
            dims = tuple(
                MoveDim(
                    d.block,
                    d.axis,
                    d.extent,
                    d.is_partial,
                    d.source_stride_bytes or 0,
                    d.target_stride_bytes,
                )
                for d in self._dims(here, external)
            )
            drain = find_transfer(mover, dims, narrow, self.element_bytes)
            if drain is not None:
                yield (with_planes(drain, planes, shift) if shift else drain), external

    def _shift(self, here: Residence) -> Transfer | None:
        """An instruction that shifts `here` right by a byte."""
        for mover in self.movers:
            at = mover.instruction.operand(mover.target).memory
            if mover.role is InstructionRole.SHIFT and at == here.memory and self._carries(mover):
                low, high = mover.instruction.immediates[0][1:]
                found = find_transfer(mover, self._dims(here, None), self.element_bytes, 1)
                if found is not None and low <= 8 <= high:
                    return found
        return None

    def zero(self, here: Residence) -> Transfer | None:
        """An instruction that clears a block of `here`."""
        for mover in self.movers:
            at = mover.instruction.operand(mover.target).memory
            if mover.role is InstructionRole.ZERO and at == here.memory and self._carries(mover):
                found = find_transfer(mover, self._dims(here, None), self.element_bytes, 1)
                if found is not None:
                    return found
        return None

    def _externals(self, here: Residence, element_bytes: int, planes: int) -> Iterator[External]:
        subject = self.subject
        order = sorted(range(len(self.blocks)), key=lambda i: here.block_strides_bytes[i])
        geometry = Geometry(
            subject.buffer,
            subject.access,
            subject.loops,
            self.axes,
            self.blocks,
            element_bytes,
            planes,
            subject.rank,
        )
        yield from external_layouts(geometry, tuple(order))

    def _dims(self, here: Residence, external: External | None) -> tuple[MoveDim, ...]:
        """The dimensions of a block of `here`; source strides from `external`, or free."""
        moved = {loop for axis in self.axes for loop in axis.loops}
        dims = []
        for number, block in enumerate(self.blocks):
            if self.window and block.loop in self.window.loops:
                continue
            source = external.block_strides_bytes[number] if external else None
            if block.loop not in moved:
                source = 0
            is_partial = self.subject.loop(block.loop).is_partial
            stride = here.block_strides_bytes[number]
            dims.append(MoveDim(number, None, block.extent, is_partial, stride, source))
        if self.window:
            number = self.axes.index(self.window)
            source = external.axis_strides_bytes[number] if external else None
            dims.append(MoveDim(None, self.window.name, 0, True, here.window_stride_bytes, source))
        return tuple(dims)

    def _source_residence(self, fill: Transfer, memory: str, align: int) -> Residence:
        """The residence that `fill` reads, with the strides it chose."""
        dims: tuple[CopyDim, ...] = (
            *(d for _, group in fill.assigned for d in group),
            *fill.walked,
        )
        strides = [0] * len(self.blocks)
        span = self.element_bytes
        window_stride = 0
        for dim in dims:
            if dim.block is not None:
                strides[dim.block] = dim.source_stride_bytes
                span = max(span, dim.source_stride_bytes * dim.extent)
            else:
                window_stride = -(-dim.source_stride_bytes // align) * align
        if self.window:
            span = window_stride
        name = self.window.name if self.window else None
        return Residence(memory, tuple(strides), -(-span // align) * align, name, window_stride)
