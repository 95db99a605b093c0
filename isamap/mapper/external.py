"""Lay an operand's buffer out in the external memory: as it is, with a zero border, or packed in
blocks.

In: the access, the tiled loops, the operand's axes and block dimensions. Out: candidate layouts,
most natural first. Not its job: choosing one, moving data.
"""

from collections.abc import Iterator

from isamap.ir import Affine
from isamap.program import Axis, Layout

from .covering import External, TileAxis
from .gather import gathered
from .geometry import Geometry


def external_layouts(geometry: Geometry, block_order: tuple[int, ...]) -> Iterator[External]:
    """Candidates: natural (if all iterations stay inside), bordered, packed or else gathered.

    `block_order`: block dimensions from innermost to outermost, the order inside a packed block.
    """
    ranges = [geometry.bounds(dim) for dim in range(len(geometry.access.indices))]
    shape = geometry.buffer.shape
    border = tuple(max(0, -low) for low, _ in ranges)
    sizes = tuple(
        max(size, high + 1) + before
        for size, (_, high), before in zip(shape, ranges, border, strict=True)
    )
    yield _row_major(geometry, sizes, border)
    packed = _packed(geometry, block_order, ranges)
    if packed is not None:
        yield packed
        return
    repeated = gathered(geometry, block_order) if geometry.gathers else None
    if repeated is not None:
        yield repeated


def _row_major(geometry: Geometry, sizes: tuple[int, ...], border: tuple[int, ...]) -> External:
    strides = [geometry.element_bytes] * len(sizes)
    for dim in reversed(range(len(sizes) - 1)):
        strides[dim] = strides[dim + 1] * sizes[dim + 1]
    count = 1
    for size in sizes:
        count *= size
    per_loop = {loop.name: geometry.access.step(loop.name, strides) for loop in geometry.loops}
    blocks = {loop.name: loop.block for loop in geometry.loops}
    axis_strides = tuple(
        strides[_window_dim(axis)]
        if axis.is_window
        else per_loop[axis.loops[0]] * blocks[axis.loops[0]]
        for axis in geometry.axes
    )
    shape = geometry.buffer.shape
    layout = Layout(
        geometry.buffer.dtype,
        shape[: geometry.rank],
        tuple(Axis(d, 1, sizes[d], strides[d]) for d in range(len(sizes))),
        border,
        count * geometry.element_bytes * geometry.planes,
        count * geometry.element_bytes if geometry.planes > 1 else None,
        sizes == shape and geometry.planes == 1,
        geometry.padding,
    )
    offset = sum(
        (index.constant + before) * stride
        for index, before, stride in zip(geometry.access.indices, border, strides, strict=True)
    )
    return External(layout, axis_strides, tuple(per_loop[b.loop] for b in geometry.blocks), offset)


def _window_dim(axis: TileAxis) -> int:
    return int(axis.name.removeprefix("window"))


def _packed(
    geometry: Geometry, block_order: tuple[int, ...], ranges: list[tuple[int, int]]
) -> External | None:
    """Blocks contiguous and in the order in which they are stored on chip; axes outside, row-
    major."""
    by_loop = {loop.name: loop for loop in geometry.loops}
    found = _dims_and_steps(geometry)
    if found is None:
        return None
    dim_of, step_of = found
    axes: list[Axis] = []
    running = geometry.element_bytes
    block_strides = [0] * len(geometry.blocks)
    for number in block_order:
        block = geometry.blocks[number]
        if block.loop not in dim_of or _in_window(geometry, block.loop):
            continue
        block_strides[number] = running
        axes.append(Axis(dim_of[block.loop], step_of[block.loop], block.extent, running))
        running *= block.extent
    if geometry.keeps and not _begins_first(geometry, dim_of):
        return None
    axis_strides: dict[str, int] = {}
    bound = {block.loop for block in geometry.blocks}
    order = sorted(geometry.axes, key=lambda a: a.is_window and bool(bound & set(a.loops)))
    for axis in reversed(order):
        if not axis.is_window and axis.loops[0] not in dim_of:
            axis_strides[axis.name] = 0  # a held loop that brings other data to the same place
            continue
        axis_strides[axis.name] = running
        if axis.is_window:
            dim = _window_dim(axis)
            low, high = ranges[dim]
            last = max(high, geometry.last_kept(dim))
            axes.append(Axis(dim, 1, last - low + 1, running))
        else:
            loop = by_loop[axis.loops[0]]
            dim = dim_of[loop.name]
            count = geometry.last_kept(dim) - geometry.access.indices[dim].constant + 1
            units = max(loop.units, -(-count // loop.block))
            axes.append(Axis(dim, step_of[loop.name] * loop.block, units, running))
        running *= axes[-1].size
    layout = Layout(
        geometry.buffer.dtype,
        geometry.buffer.shape[: geometry.rank],
        tuple(reversed(axes)),
        tuple(-index.constant for index in geometry.access.indices),
        running * geometry.planes,
        running if geometry.planes > 1 else None,
        padding=geometry.padding,
    )
    strides = tuple(axis_strides[axis.name] for axis in geometry.axes)
    return External(layout, strides, tuple(block_strides), 0)


def _dims_and_steps(geometry: Geometry) -> tuple[dict[str, int], dict[str, int]] | None:
    """The array's dimension that each loop moves along, and by how much; None where elements would
    lie in several places."""
    dim_of: dict[str, int] = {}
    step_of: dict[str, int] = {}
    for dim, index in enumerate(geometry.access.indices):
        digits = {} if geometry.keeps else _digits(geometry, index)
        for name, coefficient in index.terms:
            is_plain = coefficient == 1 or name in digits or _in_window(geometry, name)
            if name in dim_of or not is_plain:
                return None  # a diagonal or a strided gather: only a strided view can serve it
            dim_of[name] = dim
            step_of[name] = digits.get(name, 1)
    plain = [a.loops[0] for a in geometry.axes if not a.is_window and a.loops[0] in dim_of]
    if len({(dim_of[name], step_of[name]) for name in plain}) != len(plain):
        return None  # a gathered window: its blocks overlap
    return dim_of, step_of


def _digits(geometry: Geometry, index: Affine) -> dict[str, int]:
    """The step of each loop of an index that counts as digits do, 2*o + i with i below 2, so that
    each element has one place; none where it does not, or where a digit goes on past its end, on
    elements that have their place elsewhere."""
    loops = {loop.name: loop for loop in geometry.loops}
    following: int | None = 1
    for name, coefficient in sorted(index.terms, key=lambda term: term[1]):
        if coefficient != following or _in_window(geometry, name):
            return {}
        loop = loops[name]
        is_whole = loop.units * loop.block == loop.kernel_extent
        following = coefficient * loop.kernel_extent if is_whole else None
    return dict(index.terms)


def _begins_first(geometry: Geometry, dim_of: dict[str, int]) -> bool:
    """Can axes reach every element of the buffer: does each dimension have one, from 0 on?"""
    moved = set(dim_of.values())
    return all(
        index.constant <= 0 and dim in moved or size == 1
        for dim, (index, size) in enumerate(
            zip(geometry.access.indices, geometry.buffer.shape, strict=True)
        )
    )


def _in_window(geometry: Geometry, loop: str) -> bool:
    return any(axis.is_window and loop in axis.loops for axis in geometry.axes)


def is_aligned(external: External, align: int) -> bool:
    """Does every unit of every loop begin at a multiple of `align`?"""
    offsets = (external.offset_bytes, *external.axis_strides_bytes)
    return all(offset % align == 0 for offset in offsets) and (
        (external.layout.plane_bytes or 0) % align == 0
    )


def holds_all(layout: Layout) -> bool:
    """Has every element of the array a place? (Packed layouts hold what the statement reaches.)"""
    first = [-border for border in layout.border]
    last = list(first)
    for axis in layout.axes:
        last[axis.dim] += axis.step * (axis.size - 1)
    rows = zip(layout.shape, first, last, strict=False)  # further dimensions have extent 1
    return all(low <= 0 and high >= size - 1 for size, low, high in rows)
