"""A kernel of floats as one of integers, where on small whole inputs nothing is ever rounded.

In: a kernel. Out: the kernel in i64, or None; inputs. Not its job: comparing.

Such sums are exact in any order, so that whatever computes them must agree to the last bit; and
integers' sums of products are matrix products to the interpreter, not loops.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import prod

import numpy as np

from isamap.ir import (
    DTYPES,
    FLOAT_LIMITS,
    OPS,
    Access,
    Apply,
    Buffer,
    Domain,
    Expr,
    Kernel,
    Literal,
    Statement,
    argument_types,
    integer_range,
    is_cast,
    is_float,
    numpy_dtype,
)

from .tolerance import tell_sums

SMALL = 4  # whole floats among the inputs are -SMALL .. SMALL
WIDE = "i64"
SUMS = ("+", "-")
LARGEST = ("max", "min", "relu", "neg", "abs")  # no larger than the largest argument


class _NotWhole(Exception):
    """Something may be rounded, or may be no whole number."""


def whole_numbers(kernel: Kernel) -> Kernel | None:
    """The same sums in i64: equal to the kernel, in whatever order it adds, on inputs whose floats
    are -SMALL .. SMALL. None where a value may be rounded on the way, or be no whole number."""
    try:
        sizes = _sizes(kernel)
        statements = tuple(_in_integers(s, kernel, sizes) for s in kernel.statements)
    except _NotWhole:
        return None
    buffers = tuple(_wide(buffer) for buffer in kernel.buffers)
    return replace(kernel, buffers=buffers, statements=statements)


def _wide(buffer: Buffer) -> Buffer:
    return replace(buffer, dtype=WIDE) if is_float(buffer.dtype) else buffer


def _sizes(kernel: Kernel) -> dict[str, int]:
    """The largest magnitude that each buffer may hold, by name."""
    sizes = {
        b.name: (SMALL if b.role.is_given else 0) if is_float(b.dtype) else _range(b.dtype)
        for b in kernel.buffers
    }
    for number, statement in enumerate(kernel.statements):
        later = {s.target.buffer for s in kernel.statements[number:]}
        if any(access.buffer in later for access in statement.reads):
            raise _NotWhole  # what is read may have grown in an iteration before
        target = kernel.buffer(statement.target.buffer)
        if not is_float(target.dtype):
            continue
        size = _size(statement.value, target.dtype, kernel, sizes)
        if statement.update == "*=":
            raise _NotWhole
        count = _num_terms(statement) if statement.update == "+=" else 1
        sizes[target.name] = _kept(sizes[target.name] + count * size, target.dtype)
    return sizes


def _num_terms(statement: Statement) -> int:
    """At least as many as are added to any one element."""
    single = {i.terms[0][0] for i in statement.target.indices if len(i.terms) == 1}
    return prod(loop.extent for loop in statement.loops if loop.name not in single)


def _kept(size: int, dtype: str) -> int:
    """Whole numbers up to `size` are values of `dtype`, or _NotWhole."""
    if size * FLOAT_LIMITS[dtype].eps > 1:
        raise _NotWhole
    return size


def _range(dtype: str) -> int:
    low, high = integer_range(dtype)
    return max(-low, high)


def _size(expr: Expr, dtype: str, kernel: Kernel, sizes: Mapping[str, int]) -> int:
    """The largest magnitude of a value of `dtype`."""
    match expr:
        case Access(buffer, _, pad):
            return max(sizes[buffer], abs(_whole(pad or 0)))
        case Literal(value):
            return abs(_whole(value))
        case Apply(op, args) if is_float(dtype):
            types = argument_types(expr, kernel, dtype)
            parts = [_size(a, t, kernel, sizes) for a, t in zip(args, types, strict=True)]
            return _kept(_joined(op, parts), dtype)
        case _:
            return _range(dtype)


def _joined(op: str, sizes: list[int]) -> int:
    if op == "*":
        return prod(sizes)
    if op in SUMS:
        return sum(sizes)
    is_kept = op in LARGEST or (is_cast(op) and not OPS[op].is_saturating)
    if not is_kept or OPS[op].domain is Domain.FLOAT:
        raise _NotWhole
    return max(sizes)


def _whole(number: float) -> int:
    if number != number or abs(number) == float("inf") or number != int(number):
        raise _NotWhole
    return int(number)


def _in_integers(statement: Statement, kernel: Kernel, sizes: Mapping[str, int]) -> Statement:
    dtype = kernel.buffer(statement.target.buffer).dtype
    _size(statement.value, dtype, kernel, sizes)
    return replace(statement, value=_integer(statement.value, dtype, kernel))


def _integer(expr: Expr, dtype: str, kernel: Kernel) -> Expr:
    """The expression with casts to i64 instead of to floats."""
    match expr:
        case Access(_, _, pad):
            return replace(expr, pad=None if pad is None else _whole(pad))
        case Literal(value):
            return Literal(_whole(value)) if is_float(dtype) else expr
        case Apply(op, args):
            types = argument_types(expr, kernel, dtype)
            if not is_float(dtype) and any(map(is_float, types)):
                raise _NotWhole
            parts = tuple(_integer(a, t, kernel) for a, t in zip(args, types, strict=True))
            is_wide = op in DTYPES and is_float(op)
            return Apply(WIDE if is_wide else op, parts)
        case _:
            return expr


def whole_arrays(kernel: Kernel, seed: int) -> dict[str, np.ndarray]:
    """Random inputs: integers as in `telling_arrays`, floats -SMALL .. SMALL."""
    generator = np.random.default_rng(seed)
    arrays: dict[str, np.ndarray] = {}
    for buffer in kernel.buffers:
        if not buffer.role.is_given:
            continue
        low, high = (-SMALL, SMALL) if is_float(buffer.dtype) else integer_range(buffer.dtype)
        wide = np.int8 if low >= -128 and high <= 127 else np.int64
        drawn = generator.integers(low, high, buffer.shape, wide, endpoint=True)
        arrays[buffer.name] = np.asarray(drawn).astype(numpy_dtype(buffer.dtype), copy=False)
    tell_sums(kernel, arrays)
    return arrays
