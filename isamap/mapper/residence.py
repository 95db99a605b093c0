"""How an operand's blocks lie in the memory that the instruction reads.

In: an operand under planning, its axes and block dimensions. Out: a residence without copies, or
the reason why its stride rules allow none. Not its job: copies, layouts in other memories.

Where block dimensions are part of sliding windows, positions of the innermost window lie next to
each other, those of the next one as far apart as the tile makes them (*walking*: neighbouring
blocks share what they overlap in). Where strides are too fixed for that, a tile is one block with
its windows inside (*boxed*).
"""

from dataclasses import dataclass
from math import gcd, inf, lcm

from isamap.hwdesc import StrideRule
from isamap.ir import Affine, size_bytes

from .alignments import alignments
from .covering import BlockDim, CopyDim, Residence, TileAxis, Transfer
from .subject import Subject, bound_windows


@dataclass(frozen=True, slots=True)
class _Dim:
    """One dimension of the instruction's operand: its index, its rule, the blocks that move it."""

    index: Affine
    rule: StrideRule
    members: tuple[BlockDim, ...]

    def steps(self, block: BlockDim) -> int:
        """Elements of this dimension per iteration of a block dimension."""
        return self.index.coefficient(block.instruction_loop)


def first_residences(
    subject: Subject, axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...]
) -> tuple[Residence | str, ...]:
    """Blocks as dense as the stride rules allow, and less dense ones that copies which ask for
    more alignment can reach; or why there is no such place."""
    rule = subject.match.instruction.operand(subject.name)
    own = lcm(subject.hw.memory(rule.memory).granule_bytes, rule.align_bytes)
    wanted = alignments(subject.hw, rule.memory, own)
    return tuple(_first_residence(subject, axes, blocks, align) for align in wanted)


def _first_residence(
    subject: Subject, axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...], align: int
) -> Residence | str:
    """Of one alignment.

    The last dimension lies innermost if the rules permit, else the one with the least fixed stride.
    """
    name = subject.match.instruction.name
    pattern = subject.match.instruction.access(subject.name)
    rule = subject.match.instruction.operand(subject.name)
    dims = []
    for index, stride_rule in zip(pattern.indices, rule.strides, strict=True):
        if index.constant or any(coefficient < 1 for _, coefficient in index.terms):
            return f"{name} indexes {subject.name} by {index}"
        members = tuple(b for b in blocks if b.instruction_loop in index.names)
        dims.append(_Dim(index, stride_rule, members))
    is_packed = subject.hw.memory(rule.memory).within is not None
    if is_packed and any(axis.is_window for axis in axes):
        return f"{rule.memory} holds what is used one after the other, not a sliding window"
    windows = bound_windows(axes, blocks)
    tries = [
        _place(_Builder(subject, windows, blocks, order, align)) for order in _orders(tuple(dims))
    ]
    return next((found for found in tries if not isinstance(found, str)), tries[0])


def source_residence(
    fill: Transfer,
    place: tuple[str, str],
    blocks: tuple[BlockDim, ...],
    align: int,
    is_packed: bool,
) -> Residence:
    """The residence that `fill` reads, in `place` (memory, type), with the strides it chose."""
    memory, dtype = place
    dims: tuple[CopyDim, ...] = (*(d for _, group in fill.assigned for d in group), *fill.walked)
    strides = [0] * len(blocks)
    span = size_bytes(dtype)
    for dim in dims:
        assert dim.block is not None, "operands with windows pass through one memory"
        strides[dim.block] = dim.source_stride_bytes
        span = max(span, dim.source_stride_bytes * dim.extent)
    room = -(-span // align) * align
    return Residence(memory, dtype, tuple(strides), room, align, is_packed=is_packed)


def _orders(dims: tuple[_Dim, ...]) -> tuple[tuple[_Dim, ...], ...]:
    """Orders of an operand's dimensions, innermost last: as they stand, then by fixed strides."""
    if any(dim.rule.is_dense for dim in dims):
        return (dims,)  # dense means: around the dimension after it
    by_stride = sorted(dims, key=lambda dim: -(dim.rule.fixed_bytes or inf))
    return (dims, tuple(by_stride)) if tuple(by_stride) != dims else (dims,)


def _place(builder: "_Builder") -> Residence | str:
    walking = builder.walking()
    if not isinstance(walking, str) or not builder.windows:
        return walking
    if any(window.is_ribbon for window in builder.windows):
        return walking  # of blocks inside a block nothing is moved together
    boxed = builder.boxed()
    return walking if isinstance(boxed, str) else boxed


class _Builder:
    """Finds the strides of one operand's blocks; nothing in it changes."""

    def __init__(
        self,
        subject: Subject,
        windows: tuple[TileAxis, ...],
        blocks: tuple[BlockDim, ...],
        dims: tuple[_Dim, ...],
        align: int,
    ) -> None:
        self.subject = subject
        self.blocks = blocks
        self.dims = dims
        self.align = align
        self.element = size_bytes(subject.dtype)
        numbers = {b.loop: n for n, dim in enumerate(dims) for b in dim.members}
        self.windows = tuple(
            sorted(windows, key=lambda w: -max(numbers.get(loop, -1) for loop in w.loops))
        )

    def walking(self) -> Residence | str:
        """Positions of the innermost window side by side, other windows by the tile."""
        strides: dict[str, int] = {}  # per kernel loop
        span = self.element
        for dim in reversed(self.dims):
            if dim.members and any(self._all_in(window, dim) for window in self.windows):
                continue
            found = self._plain(dim, span, strides)
            if isinstance(found, str):
                return found
            span = max(span, found)
        windows: list[tuple[str, int | None]] = []
        for window in self.windows[:1]:
            step = self._window_stride(window, span)
            if isinstance(step, str):
                return step
            windows.append((window.name, step))
            span = step
            for block in self._blocks_of(window):
                strides[block.loop] = step * self._span(window, block)
        for window in self.windows[1:]:
            reason = self._sliding_reason(window, span)
            if reason:
                return reason
            windows.append((window.name, None))
            strides.update({block.loop: 0 for block in self._blocks_of(window)})
        return self._residence(strides, span, tuple(windows), is_boxed=False)

    def boxed(self) -> Residence | str:
        """All windows of one block inside the block, dimension by dimension."""
        strides: dict[str, int] = {}
        windows: list[tuple[str, int | None]] = []
        span = self.element
        for dim in reversed(self.dims):
            window = next((w for w in self.windows if dim.members and self._all_in(w, dim)), None)
            if window is None:
                found = self._plain(dim, span, strides)
                if isinstance(found, str):
                    return found
                span = max(span, found)
                continue
            ratios = {divmod(self._span(window, block), dim.steps(block)) for block in dim.members}
            (ratio, rest), *others = sorted(ratios)
            if others or rest or window.name in dict(windows):
                return f"{dim.index} does not move as far as the kernel's window"
            stride = _stride(dim.rule, span * ratio, ratio)
            if stride is None:
                return f"stride of dimension {dim.index} cannot be {span * ratio} bytes or more"
            step = stride // ratio
            windows.append((window.name, step))
            positions = 1
            for block in dim.members:
                strides[block.loop] = step * self._span(window, block)
                positions += self._span(window, block) * (block.extent - 1)
            span = step * positions
        return self._residence(strides, span, tuple(windows), is_boxed=True)

    def _residence(
        self,
        strides: dict[str, int],
        span: int,
        windows: tuple[tuple[str, int | None], ...],
        *,
        is_boxed: bool,
    ) -> Residence:
        rule = self.subject.match.instruction.operand(self.subject.name)
        return Residence(
            rule.memory,
            self.subject.dtype,
            tuple(strides[b.loop] for b in self.blocks),
            -(-span // self.align) * self.align,
            self.align,
            windows,
            is_boxed,
            is_packed=self.subject.hw.memory(rule.memory).within is not None,
        )

    def _plain(self, dim: _Dim, span: int, strides: dict[str, int]) -> int | str:
        """Put the dimension's blocks outside `span` bytes; the bytes they span then."""
        if len({b.instruction_loop for b in dim.members}) > 1:
            loops = " and ".join(b.loop for b in dim.members)
            name = self.subject.name
            return f"{loops} move {name} along {dim.index}, which only a sliding window does"
        base = _stride(dim.rule, span, 1)
        if base is None:
            if dim.members:
                return f"stride of dimension {dim.index} cannot be {span} bytes or more"
            return span
        for block in reversed(dim.members):
            base *= dim.steps(block) if block is dim.members[-1] else 1
            strides[block.loop] = base
            base *= block.extent
            span = max(span, base)
        return span

    def _window_stride(self, window: TileAxis, span: int) -> int | str:
        """Bytes per position of a window: at least `span`, a multiple of the alignment, such that
        every block dimension in it moves by its own number of positions; or why there is none.

        An instruction loop with coefficient c in dimension d moves c times d's stride.
        """
        if not self._blocks_of(window):
            return -(-span // self.align) * self.align
        chosen = 0
        by_dim: dict[int, int] = {}
        for block in self._blocks_of(window):
            number, dim = self._dim_of(block)
            positions, steps = self._span(window, block), dim.steps(block)
            # of a ribbon, calls begin where blocks do; of others, anywhere
            align = self.align // gcd(self.align, block.extent if window.is_ribbon else 1)
            if not chosen:
                multiple = align * (steps // gcd(steps, align * positions))
                least = -(-span // multiple) * multiple * positions // steps
                found = _stride(dim.rule, least, multiple * positions // steps)
                if found is None or found * steps % positions:
                    return f"a window that moves by {positions} needs a free stride"
                chosen = found * steps // positions
            stride, rest = divmod(chosen * positions, steps)
            if rest or by_dim.setdefault(number, stride) != stride:
                return f"{dim.index} does not move as far as the kernel's window"
            if _stride(dim.rule, stride, stride) != stride:
                return f"a window that moves by {positions} needs a free stride"
        return chosen

    def _sliding_reason(self, window: TileAxis, step: int) -> str:
        """Why a window's positions cannot lie any multiple of `step` bytes apart; empty if they
        can."""
        ratios: dict[int, tuple[int, int]] = {}
        for block in self._blocks_of(window):
            number, dim = self._dim_of(block)
            ratio = divmod(self._span(window, block), dim.steps(block))
            if ratio[1] or ratios.setdefault(number, ratio) != ratio:
                return f"{dim.index} does not move as far as the kernel's window"
            rule = dim.rule
            is_free = rule.fixed_bytes is None and rule.maximum_bytes is None and not rule.is_dense
            if not is_free or step * ratio[0] % rule.multiple_bytes:
                return f"rows of several sizes need a free stride along {dim.index}"
        return ""

    def _blocks_of(self, window: TileAxis) -> list[BlockDim]:
        return [block for block in self.blocks if block.loop in window.loops]

    def _dim_of(self, block: BlockDim) -> tuple[int, _Dim]:
        return next((n, dim) for n, dim in enumerate(self.dims) if block in dim.members)

    @staticmethod
    def _span(window: TileAxis, block: BlockDim) -> int:
        return window.spans[window.loops.index(block.loop)]

    @staticmethod
    def _all_in(window: TileAxis, dim: _Dim) -> bool:
        return all(block.loop in window.loops for block in dim.members)


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
