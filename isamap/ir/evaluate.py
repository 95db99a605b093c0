"""Values of expressions over a box of iterations.

In: an expression, a box, the buffers' arrays. Out: an array with one axis per loop of the box, of
size 1 along loops that do not matter. Not its job: writing results, deciding which boxes are legal
(`plan_blocks`).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from .array_ops import Array, apply_op
from .dtypes import is_integer, wrap_integer
from .kernel import Access, Apply, Expr, Immediate, Kernel, Literal
from .numpy_types import numpy_dtype
from .type_of import argument_types


@dataclass(frozen=True, slots=True)
class Range:
    """A loop running over start .. start+size-1."""

    name: str
    start: int
    size: int


Box = tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class Machine:
    """A running kernel: one array per buffer (4-bit types in 8-bit arrays), changed in place."""

    kernel: Kernel
    arrays: Mapping[str, Array]
    immediates: Mapping[str, int | float]


def count_points(box: Box) -> int:
    """Number of iterations in a box."""
    return math.prod(r.size for r in box)


def evaluate(expr: Expr, dtype: str, machine: Machine, box: Box) -> Array:
    """Value of `expr` in every iteration of `box`: int64 for integer types, else `dtype`."""
    match expr:
        case Access():
            values = view_access(expr, machine.arrays[expr.buffer], box)
            return values.astype(np.int64 if is_integer(dtype) else values.dtype)
        case Literal(value):
            return constant(value, dtype)
        case Immediate(name):
            return constant(machine.immediates[name], dtype)
        case Apply(op, args):
            types = argument_types(expr, machine.kernel, dtype)
            parts = [evaluate(a, t, machine, box) for a, t in zip(args, types, strict=True)]
            return apply_op(op, parts, types[-1], dtype)
        case _:
            assert_never(expr)


def constant(value: float, dtype: str) -> Array:
    """A scalar as an array that broadcasts."""
    if is_integer(dtype):
        return np.asarray(wrap_integer(int(value), dtype), np.int64)
    return np.asarray(value, np.float64).astype(numpy_dtype(dtype))


def view_access(access: Access, array: Array, box: Box) -> Array:
    """Elements of an access, without copying unless padding is read."""
    ends = {r.name: (r.start, r.start + r.size - 1) for r in box}
    spans = [index.interval(ends) for index in access.indices]
    origin = [0] * len(spans)
    outside = any(low < 0 or high >= n for (low, high), n in zip(spans, array.shape, strict=True))
    if outside:
        assert access.pad is not None, f"{access} outside of its buffer"
        array, origin = padded_region(array, spans, access.pad), [low for low, _ in spans]
    starts = {r.name: r.start for r in box}
    corner = tuple(
        index.evaluate(starts) - first for index, first in zip(access.indices, origin, strict=True)
    )
    strides = tuple([access.step(r.name, array.strides) for r in box])
    used = {name for index in access.indices for name in index.names}
    shape = tuple([r.size if r.name in used else 1 for r in box])
    offset = sum(c * s for c, s in zip(corner, array.strides, strict=True))
    flat = array.reshape(-1).view(np.uint8)  # C-contiguous, so this is a view
    return np.ndarray(shape, array.dtype, flat, offset, strides)


def padded_region(array: Array, spans: list[tuple[int, int]], pad: float) -> Array:
    """Copy of the box of elements that `spans` reach, with `pad` where the array ends."""
    shape = [high - low + 1 for low, high in spans]
    region = np.full(shape, pad, np.float64 if isinstance(pad, float) else None).astype(array.dtype)
    here, there = [], []
    for (low, high), size in zip(spans, array.shape, strict=True):
        first, last = max(low, 0), min(high, size - 1)
        if first > last:
            return region
        there.append(slice(first, last + 1))
        here.append(slice(first - low, last + 1 - low))
    region[tuple(here)] = array[tuple(there)]
    return region
