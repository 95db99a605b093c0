"""Lay a buffer out in an on-chip memory where it lies between tasks.

In: what a layout must serve, the memory's granule. Out: candidate layouts, most natural first. Not
its job: choosing one, addresses.

All tasks on the buffer must agree on one of them, so there are few kinds: row-major, row-major with
rows padded to the granule, and tile by tile.
"""

from collections.abc import Iterator
from itertools import pairwise

from isamap.hwdesc import OperandRule
from isamap.ir import Access, Affine
from isamap.program import Axis, Layout

from .borders import reach_past
from .covering import BlockDim, External, TiledLoop
from .geometry import Geometry


def home_layouts(
    geometry: Geometry,
    home: str,
    granule: int,
    inner: tuple[tuple[int, ...], ...],
    may_run_past: bool = False,
) -> Iterator[External]:
    """Candidates; none for windows, padded or slanted accesses, and loops that run past their end,
    unless they `may_run_past` that of the array, where the layout then has room for it.

    `inner`: for layouts tile by tile, strides of the block dimensions to try.
    """
    if not _is_plain(geometry, may_run_past):
        return
    found: dict[External, None] = {}
    for multiple in (1, granule):
        rows = _rows(geometry, home, multiple)
        if rows is not None:
            found[rows] = None
    for strides in inner:
        tiled = _tiled(geometry, home, granule, strides)
        if tiled is not None:
            found[tiled] = None
    yield from found


def block_strides(
    geometry: Geometry, block_order: tuple[int, ...], granule: int
) -> tuple[int, ...]:
    """Strides of blocks that leave no gap, but for rows that begin at multiples of `granule`."""
    strides = [0] * len(geometry.blocks)
    running = geometry.element_bytes
    moving = [n for n in block_order if geometry.access.moves_with(geometry.blocks[n].loop)]
    for position, number in enumerate(moving):
        if position == 1:
            running = _up(running, granule)
        strides[number] = running
        running *= geometry.blocks[number].extent
    return tuple(strides)


def _is_plain(geometry: Geometry, may_run_past: bool) -> bool:
    names = [name for index in geometry.access.indices for name in index.names]
    moving = [loop for loop in geometry.loops if loop.name in names]
    return (
        geometry.access.pad is None
        and geometry.planes == 1
        and not any(axis.is_window for axis in geometry.axes)
        and len(set(names)) == len(names)
        and all(_is_nested(index, geometry) for index in geometry.access.indices)
        and all(
            loop.extent == loop.kernel_extent or (may_run_past and _is_whole(loop, geometry))
            for loop in moving
        )
    )


def _is_whole(loop: TiledLoop, geometry: Geometry) -> bool:
    """Does the loop alone run over a whole dimension, so that nothing lies past its end?"""
    (dim,) = [d for d, i in enumerate(geometry.access.indices) if loop.name in i.names]
    index = geometry.access.indices[dim]
    return index == Affine.var(loop.name) and loop.kernel_extent == geometry.buffer.shape[dim]


def _is_nested(index: Affine, geometry: Geometry) -> bool:
    """Does one loop count by ones, and any others strips of it, one at a time, that do not meet?"""
    loops = {loop.name: loop for loop in geometry.loops}
    reach = 0
    for name, step in sorted(index.terms, key=lambda term: term[1]):
        is_strip = reach < step and loops[name].block == 1
        is_right = step == 1 if name == _counter(index) else is_strip
        if not is_right:
            return False
        reach += step * (loops[name].extent - 1)
    return True


def _counter(index: Affine) -> str | None:
    """The loop of the smallest step."""
    return min(index.terms, key=lambda term: term[1])[0] if index.terms else None


def _rows(geometry: Geometry, home: str, multiple: int) -> External | None:
    """Row-major, every row of the innermost dimension beginning at a multiple of so many bytes;
    None where loops run past what lies between that and the row's end."""
    shape = geometry.buffer.shape
    strides = [0] * len(shape)
    running, is_inner = geometry.element_bytes, True
    for dim in reversed(range(len(shape))):
        strides[dim] = running
        running *= shape[dim]
        if is_inner and shape[dim] > 1:
            is_inner, running = False, _up(running, multiple)
        end = running if dim else _up(running, multiple)
        reach = reach_past(geometry.loops, geometry.access.indices[dim])
        if reach * strides[dim] > end:
            return None
    blocks = {loop.name: loop.block for loop in geometry.loops}
    ones = [1] * len(shape)
    moves = _moves(geometry.access, strides, ones)
    layout = Layout(
        geometry.buffer.dtype,
        shape[: geometry.rank],
        tuple(Axis(d, 1, size, strides[d]) for d, size in enumerate(shape)),
        (0,) * len(shape),
        _up(running, multiple),
        is_natural=multiple == 1,
    )
    return External(
        layout,
        tuple(moves.get(a.loops[0], 0) * blocks[a.loops[0]] for a in geometry.axes),
        tuple(moves.get(block.loop, 0) for block in geometry.blocks),
        _offset(geometry.access, strides, ones),
        home,
    )


def _tiled(geometry: Geometry, home: str, granule: int, inner: tuple[int, ...]) -> External | None:
    """Blocks one after the other, row-major; None where those of the array begin elsewhere."""
    by_loop = {block.loop: number for number, block in enumerate(geometry.blocks)}
    if len(by_loop) < len(geometry.blocks):
        return None
    shape = geometry.buffer.shape
    ends = (s * b.extent for s, b in zip(inner, geometry.blocks, strict=True))
    running = _up(max(ends, default=geometry.element_bytes), granule)
    strides = [0] * len(shape)
    sizes = [1] * len(shape)
    outer: list[Axis] = []
    within: list[Axis] = []
    for dim in reversed(range(len(shape))):
        index = geometry.access.indices[dim]
        number = by_loop.get(_counter(index) or "")
        block = 1 if number is None else geometry.blocks[number].extent
        if index.constant % block or any(step % block for _, step in index.terms if step > 1):
            return None
        if number is not None:
            within.append(Axis(dim, 1, block, inner[number]))
        strides[dim], sizes[dim] = running, block
        units = -(-shape[dim] // block)
        outer.append(Axis(dim, block, units, running))
        running *= units
    moves = _moves(geometry.access, strides, sizes)
    layout = Layout(
        geometry.buffer.dtype,
        shape[: geometry.rank],
        (*reversed(outer), *reversed(within)),
        (0,) * len(shape),
        running,
    )
    return External(
        layout,
        tuple(moves.get(axis.loops[0], 0) for axis in geometry.axes),
        inner,
        _offset(geometry.access, strides, sizes),
        home,
    )


def _moves(access: Access, strides: list[int], sizes: list[int]) -> dict[str, int]:
    """Bytes per step of each loop that moves, one unit of the innermost of its dimension counting
    as one step; `sizes`: of the units that `strides` lie apart."""
    return {
        name: stride if step == 1 else step // size * stride
        for index, stride, size in zip(access.indices, strides, sizes, strict=True)
        for name, step in index.terms
    }


def _offset(access: Access, strides: list[int], sizes: list[int]) -> int:
    rows = zip(access.indices, strides, sizes, strict=True)
    return sum(index.constant // size * stride for index, stride, size in rows)


def _up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple


def may_address(
    access: Access,
    rule: OperandRule,
    blocks: tuple[BlockDim, ...],
    strides: tuple[int, ...],
    element_bytes: int,
) -> bool:
    """May an instruction walk blocks with these strides, by the rules of its operand?

    `access`: the instruction's own, on the operand.
    """
    span = element_bytes
    for index, stride_rule in reversed(list(zip(access.indices, rule.strides, strict=True))):
        members = [
            (block.extent, stride)
            for block, stride in zip(blocks, strides, strict=True)
            if block.instruction_loop in index.names
        ]
        if not members:
            continue
        if index.constant or len(index.terms) > 1 or index.terms[0][1] != 1:
            return False
        extent, stride = members[-1]
        if not (stride == span if stride_rule.is_dense else stride_rule.allows(stride)):
            return False
        if any(a[1] != b[0] * b[1] for a, b in pairwise(members)):
            return False
        span = max(span, members[0][0] * members[0][1])
    return True
