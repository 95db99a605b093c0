"""Integer sums of products by floating-point matrix multiplication, exactly.

In: a `+=` statement over a box. Out: the sums, or a loop to halve first, or None when this way
does not apply. Not its job: anything inexact: it is used only where every partial sum is below
2**53.

Source: NumPy has no BLAS for integers; a float64 product of integers is exact while no partial sum
exceeds 2**53.
"""

import numpy as np

from .array_ops import Array
from .dtypes import integer_range, is_integer
from .evaluate import Box, Machine, evaluate
from .kernel import Apply, Expr, Literal, Statement, accesses
from .ops import OPS, is_cast
from .type_of import argument_types

MAX_ELEMENTS = 1 << 23  # of one factor, or of the result
EXACT = 1 << 53


def multiply_factors(
    statement: Statement, reduced: tuple[str, ...], dtype: str, machine: Machine, box: Box
) -> Array | str | None:
    """Sum of the statement's value over the `reduced` loops of the box, keeping axes of size 1.

    Returns:
        int64 sums; or the name of a loop along which the box must be halved to save memory; or
        None.
    """
    terms = split_product(statement.value, dtype, machine)
    if len(terms) < 2:
        return None
    used = [used_loops(expr) for expr, _ in terms]
    kept = {r.name for r in box} - set(reduced)
    for names in (*used, kept):
        ranges = [r for r in box if r.name in names]
        if np.prod([float(r.size) for r in ranges]) > MAX_ELEMENTS:
            return max(ranges, key=lambda r: r.size).name
    values = [evaluate(expr, term_type, machine, box) for expr, term_type in terms]
    shaped = [value.reshape(value.shape or (1,) * len(box)) for value in values]
    pair = join_to_pair(shaped)
    if pair is None:
        return None
    axes = tuple(i for i, r in enumerate(box) if r.name in reduced)
    return multiply_pair(*pair, axes, tuple(r.size for r in box))


def used_loops(expr: Expr) -> set[str]:
    """Loops on which an expression depends."""
    return {n for access in accesses(expr) for index in access.indices for n in index.names}


def split_product(expr: Expr, dtype: str, machine: Machine) -> list[tuple[Expr, str]]:
    """Factors of a product, with their types; also inside a cast when nothing can wrap there."""
    if not isinstance(expr, Apply):
        return [(expr, dtype)]
    if expr.op == "*":
        return [f for arg in expr.args for f in split_product(arg, dtype, machine)]
    if expr.op == "neg":
        return [(Literal(-1), "i64"), *split_product(expr.args[0], dtype, machine)]
    if is_cast(expr.op):
        inner, inner_type = expr.args[0], argument_types(expr, machine.kernel, dtype)[0]
        if is_product(inner) and is_integer(inner_type) and may_hold(dtype, inner_type):
            bound = magnitude(inner, inner_type, machine)
            if bound <= min(integer_range(inner_type)[1], integer_range(dtype)[1]):
                return split_product(inner, inner_type, machine)
    return [(expr, dtype)]


def is_product(expr: Expr) -> bool:
    """Is the outermost operation a multiplication?"""
    return isinstance(expr, Apply) and expr.op == "*"


def may_hold(dtype: str, inner: str) -> bool:
    """Does `dtype` have negative values if `inner` has?"""
    return integer_range(dtype)[0] < 0 or integer_range(inner)[0] == 0


def magnitude(expr: Expr, dtype: str, machine: Machine) -> int:
    """An upper bound of |expr| from types alone, as if products did not wrap."""
    match expr:
        case Literal(value):
            return abs(int(value))
        case Apply("*", args):
            left, right = (magnitude(arg, dtype, machine) for arg in args)
            return left * right
        case Apply(op, (arg,)) if is_cast(op) and not OPS[op].is_saturating:
            inner = argument_types(expr, machine.kernel, dtype)[0]
            low, high = integer_range(dtype)
            bound = magnitude(arg, inner, machine) if is_integer(inner) else -low
            is_kept = bound <= high and is_integer(inner) and may_hold(dtype, inner)
            return bound if is_kept else max(-low, high)
        case _:
            low, high = integer_range(dtype)
            return max(-low, high)


def join_to_pair(values: list[Array]) -> tuple[Array, Array] | None:
    """Multiply all factors into the two largest; None when one fits into neither."""
    ordered = sorted(values, key=lambda value: -value.size)
    left, right = ordered[0], ordered[1]
    for value in ordered[2:]:
        if np.broadcast_shapes(left.shape, value.shape) == left.shape:
            if largest(left) * largest(value) >= EXACT:
                return None
            left = left * value
        elif np.broadcast_shapes(right.shape, value.shape) == right.shape:
            if largest(right) * largest(value) >= EXACT:
                return None
            right = right * value
        else:
            return None
    return left, right


def largest(value: Array) -> int:
    """Largest magnitude of int64 values."""
    return max(-int(value.min()), int(value.max()))


def multiply_pair(
    left: Array, right: Array, axes: tuple[int, ...], sizes: tuple[int, ...]
) -> Array | None:
    """Sum over `axes` of left * right, both with one axis per loop (size 1: constant along it)."""
    count = int(np.prod([sizes[axis] for axis in axes]))
    if largest(left) * largest(right) * count >= EXACT:
        return None
    return contract(left, right, axes, sizes).astype(np.int64)


def contract(left: Array, right: Array, axes: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    """The same in float64 and in any order: exact while no partial sum needs more bits."""
    scale = 1
    for axis in axes:
        if left.shape[axis] == 1 and right.shape[axis] == 1:
            scale *= sizes[axis]
    left = sum_along(left, [a for a in axes if right.shape[a] == 1])
    right = sum_along(right, [a for a in axes if left.shape[a] == 1])
    ndim = len(sizes)
    summed = [a for a in range(ndim) if a in axes]
    both = [a for a in range(ndim) if a not in axes and left.shape[a] > 1 and right.shape[a] > 1]
    rows = [a for a in range(ndim) if a not in (*axes, *both) and left.shape[a] > 1]
    columns = [a for a in range(ndim) if a not in (*axes, *both, *rows)]
    matrix_left = as_matrices(left, both, rows, summed, columns)
    matrix_right = as_matrices(right, both, summed, columns, rows)
    product = np.asarray((matrix_left @ matrix_right) * scale)
    order = [*both, *rows, *columns, *summed]
    shape = [max(left.shape[a], right.shape[a]) if a not in summed else 1 for a in order]
    return product.reshape(shape).transpose(np.argsort(order))


def sum_along(value: Array, axes: list[int]) -> Array:
    """Sums along these axes, which stay with size 1; the value itself where all have that size."""
    long = tuple(axis for axis in axes if value.shape[axis] > 1)
    return value.sum(long, keepdims=True) if long else value


def as_matrices(
    value: Array, batch: list[int], rows: list[int], columns: list[int], unit: list[int]
) -> Array:
    """float64 array [batch, rows, columns]; axes in `unit` have size 1."""
    counts = [int(np.prod([value.shape[a] for a in part])) for part in (batch, rows, columns)]
    ordered = value.transpose([*batch, *rows, *columns, *unit])
    return np.asarray(ordered.reshape(counts).astype(np.float64))
