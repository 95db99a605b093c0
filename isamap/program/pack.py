"""Arrays to bytes and back, by Layout.

In: an array or bytes, and a Layout. Out: the other one. Not its job: choosing a layout, placing it
in a memory.
"""

from dataclasses import replace
from itertools import accumulate
from operator import mul

import numpy as np

from isamap.errors import ProgramError
from isamap.ir import numpy_dtype, strided_view

from .layout import Axis, Layout


def natural_layout(dtype: str, shape: tuple[int, ...]) -> Layout:
    """Plain row-major: nothing packed, padded or replicated."""
    stride = numpy_dtype(dtype).itemsize
    axes: list[Axis] = []
    for dim in reversed(range(len(shape))):
        axes.insert(0, Axis(dim, 1, shape[dim], stride))
        stride *= shape[dim]
    return Layout(dtype, shape, tuple(axes), (0,) * len(shape), stride, is_natural=True)


def pack(array: np.ndarray, layout: Layout) -> np.ndarray:
    """Bytes of `array` in `layout`; padding is the layout's, gaps are zero.

    Shapes: `array` is `layout.shape` of `layout.dtype`, or has more dimensions where that sees
    neighbours as one; the result is `[layout.size_bytes]` u8.

    Raises:
        ProgramError: the array's shape or dtype is not the layout's.
    """
    dtype = numpy_dtype(layout.dtype)
    if not _is_seen_as(array.shape, layout.shape) or array.dtype != dtype:
        raise ProgramError(
            f"array {array.dtype}{list(array.shape)} given,"
            f" layout holds {layout.dtype}{list(layout.shape)}",
            hint=f"convert with .astype(...): {layout.dtype} is NumPy's {dtype}",
        )
    array = np.ascontiguousarray(array)
    if layout.is_natural:
        return array.reshape(-1).view(np.uint8).copy()
    layout, array = _with_unit_dims(layout), array.reshape(_with_unit_dims(layout).shape)
    data = np.zeros(layout.size_bytes, np.uint8)
    low, slab = _empty_slab(layout)
    slab[_inside(layout, low, slab.shape)] = array[_covered(layout, low, slab.shape)]
    for target, source in zip(_data_views(data, layout), _slab_views(slab, layout, low)):
        target[...] = source
    return data


def _is_seen_as(shape: tuple[int, ...], seen: tuple[int, ...]) -> bool:
    """Is `seen` the shape, perhaps with neighbouring dimensions as one?"""
    ends, wanted = (tuple(accumulate(dims, mul)) for dims in (shape, seen))
    return set(wanted) <= {*ends, 1} and wanted[-1:] == ends[-1:]


def unpack(data: np.ndarray, layout: Layout) -> np.ndarray:
    """The array whose bytes in `layout` are `data`; padding is ignored.

    Shapes: `data` is `[layout.size_bytes]` u8; the result is `layout.shape`. Elements without a
    position are
    zero; of several positions of one element any one counts.
    """
    assert data.dtype == np.uint8 and data.shape == (layout.size_bytes,), "one u8 per byte"
    if layout.is_natural:
        return data.copy().view(numpy_dtype(layout.dtype)).reshape(layout.shape)
    shape, layout = layout.shape, _with_unit_dims(layout)
    low, slab = _empty_slab(layout)
    for source, target in zip(_data_views(data, layout), _slab_views(slab, layout, low)):
        target[...] = source
    array = np.zeros(layout.shape, slab.dtype)
    array[_covered(layout, low, slab.shape)] = slab[_inside(layout, low, slab.shape)]
    return array.reshape(shape)


def _with_unit_dims(layout: Layout) -> Layout:
    """The layout with the implicit dimensions of extent 1 written out."""
    units = len(layout.border) - len(layout.shape)
    return replace(layout, shape=layout.shape + (1,) * units)


def _empty_slab(layout: Layout) -> tuple[tuple[int, ...], np.ndarray]:
    """Padding over the box of all array indices that the axes reach, and its lowest index."""
    low = [-border for border in layout.border]
    high = list(low)
    for axis in layout.axes:
        reach = axis.step * (axis.size - 1)
        low[axis.dim] += min(0, reach)
        high[axis.dim] += max(0, reach)
    sizes = tuple(last - first + 1 for first, last in zip(low, high))
    return tuple(low), np.full(sizes, layout.padding, numpy_dtype(layout.dtype))


def _covered(layout: Layout, low: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """The part of the array inside the slab's box."""
    return tuple(
        slice(max(0, first), max(0, min(extent, first + size)))
        for first, size, extent in zip(low, sizes, layout.shape)
    )


def _inside(layout: Layout, low: tuple[int, ...], sizes: tuple[int, ...]) -> tuple[slice, ...]:
    """The same part, in the slab's own indices."""
    return tuple(
        slice(part.start - first, part.stop - first) if part.stop > part.start else slice(0, 0)
        for part, first in zip(_covered(layout, low, sizes), low)
    )


def _data_views(data: np.ndarray, layout: Layout) -> list[np.ndarray]:
    """The bytes seen as one digit per axis: elements, or one u8 view per byte plane."""
    dtype = numpy_dtype(layout.dtype)
    sizes = tuple(axis.size for axis in layout.axes)
    strides = tuple(axis.stride_bytes for axis in layout.axes)
    last = sum(axis.stride_bytes * (axis.size - 1) for axis in layout.axes)
    assert all(stride >= 0 for stride in strides), "layout strides are not negative"
    if layout.plane_bytes is None:
        assert last + dtype.itemsize <= layout.size_bytes, "layout larger than its size_bytes"
        return [np.ndarray(sizes, dtype, data, 0, strides)]
    planes = [layout.plane_bytes * byte for byte in range(dtype.itemsize)]
    assert planes[-1] + last < layout.size_bytes, "layout larger than its size_bytes"
    return [np.ndarray(sizes, np.uint8, data, plane, strides) for plane in planes]


def _slab_views(slab: np.ndarray, layout: Layout, low: tuple[int, ...]) -> list[np.ndarray]:
    """The slab seen as one digit per axis: elements, or one u8 view per byte."""
    origin = sum(
        (-border - first) * stride
        for border, first, stride in zip(layout.border, low, slab.strides)
    )
    sizes = tuple(axis.size for axis in layout.axes)
    strides = tuple(axis.step * slab.strides[axis.dim] for axis in layout.axes)
    flat = slab.reshape(-1).view(np.uint8)
    if layout.plane_bytes is None:
        return [strided_view(flat[origin:], slab.dtype, sizes, strides)]
    byte = np.dtype(np.uint8)
    return [strided_view(flat[origin + k :], byte, sizes, strides) for k in range(slab.itemsize)]
