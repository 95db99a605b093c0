"""C that brings an array into a layout, and C that fills a layout with zeros.

In: a layout. Out: loops; None for layouts in byte planes. Not its job: choosing layouts, reading
arrays back (`program.unpack`).
"""

from math import prod

import numpy as np

from isamap.ir import Affine, numpy_dtype, size_bytes
from isamap.program import Axis, Layout

from .parameters import Parameter
from .text import affine_text


def fill_lines(parameter: Parameter) -> list[str] | None:
    """Statements that make the parameter hold zeros, with the layout's padding around them."""
    layout = parameter.layout
    if layout.padding == 0:
        return [f"memset({parameter.name}, 0, {layout.size_bytes});"]
    return _loops(layout, "0", f"(({_bits_type(layout)} *){parameter.name})")


def pack_function(name: str, parameter: Parameter) -> list[str] | None:
    """`void <name>(from, to)`: `to` gets the row-major array `from` in the parameter's layout."""
    layout = parameter.layout
    loops = _loops(layout, "x", "y")
    if loops is None:
        return None
    positions = prod(axis.size for axis in layout.axes)
    has_gaps = positions * size_bytes(layout.dtype) != layout.size_bytes
    clear = [f"memset(to, 0, {layout.size_bytes});"] if has_gaps else []
    kind = _bits_type(layout)
    lines = [*clear, f"const {kind} *const x = from;", f"{kind} *const y = to;", *loops]
    return [f"{pack_signature(name)} {{", *(f"  {line}" for line in lines), "}", ""]


def pack_signature(name: str) -> str:
    """The head of the function."""
    return f"void {name}(const void *restrict from, void *restrict to)"


def _bits_type(layout: Layout) -> str:
    """Elements are moved as bits, so that machines without C for their floats pack as well."""
    return f"uint{8 * size_bytes(layout.dtype)}_t"


def _loops(layout: Layout, source: str, target: str) -> list[str] | None:
    """Every position takes its element of `source` ("0": zero) or the padding; addresses rise."""
    size = size_bytes(layout.dtype)
    is_whole = all(axis.stride_bytes % size == 0 for axis in layout.axes)
    if layout.plane_bytes is not None or not is_whole:
        return None
    axes = sorted(layout.axes, key=lambda axis: -axis.stride_bytes)
    names = {axis: f"d{number}" for number, axis in enumerate(axes)}
    place = Affine.of((names[axis], axis.stride_bytes // size) for axis in axes)
    shape = (*layout.shape, *(1,) * (len(layout.border) - len(layout.shape)))
    tests, element, step = [], Affine(), 1
    for dim in reversed(range(len(shape))):
        index = _index(layout, dim, names)
        element = element + index.scaled(step)
        step *= shape[dim]
        tests += _outside(layout, dim, shape[dim], affine_text(index))
    value = source if source == "0" else f"{source}[{affine_text(element)}]"
    if tests:
        value = f"{' || '.join(tests)} ? {_padding_bits(layout)} : {value}"
    lines = []
    for depth, axis in enumerate(axes):
        name = names[axis]
        head = f"for (int64_t {name} = 0; {name} < {axis.size}; ++{name})"
        lines.append("  " * depth + head)
    return [*lines, "  " * len(axes) + f"{target}[{affine_text(place)}] = {value};"]


def _padding_bits(layout: Layout) -> int:
    own = np.asarray(layout.padding).astype(numpy_dtype(layout.dtype))
    return int.from_bytes(own.tobytes(), "little")


def _index(layout: Layout, dim: int, names: dict[Axis, str]) -> Affine:
    """Where positions lie along a dimension of the array."""
    terms = ((names[axis], axis.step) for axis in layout.axes if axis.dim == dim)
    return Affine.of(terms, -layout.border[dim])


def _outside(layout: Layout, dim: int, size: int, index: str) -> list[str]:
    """C tests for positions before the array and beyond it, where there are any."""
    reach = [axis.step * (axis.size - 1) for axis in layout.axes if axis.dim == dim]
    first = sum(min(0, end) for end in reach) - layout.border[dim]
    last = sum(max(0, end) for end in reach) - layout.border[dim]
    return [f"{index} < 0"] * (first < 0) + [f"{index} >= {size}"] * (last >= size)
