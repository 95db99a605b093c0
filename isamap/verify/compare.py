"""Hold outputs against the kernel's meaning.

In: two sets of arrays. Out: the first element that differs, if any. Not its job: producing them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from isamap.ir import (
    Access,
    Apply,
    Expr,
    Kernel,
    Literal,
    Statement,
    is_cast,
    is_float,
    numpy_dtype,
)

SUMS = ("+", "-", "neg")
LARGEST = ("max", "min", "relu")  # never larger than the largest argument


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One wrong element, and how many there are in its buffer."""

    buffer: str
    index: tuple[int, ...]
    got: str
    expected: str
    source: str
    num_wrong: int
    num_elements: int


def compare(
    got: Mapping[str, np.ndarray],
    expected: Mapping[str, np.ndarray],
    source: str,
    tolerance: float | Mapping[str, np.ndarray] = 0.0,
) -> Mismatch | None:
    """The first element, in buffer and row-major order, whose difference exceeds `tolerance`.

    Shapes may differ by unit dimensions. NaN equals NaN. `source` says what `expected` is.
    `tolerance`: one for all, or per element by buffer name (0 for buffers without).
    """
    for name, right in expected.items():
        left = got[name].reshape(right.shape)
        limit: float | np.ndarray
        if isinstance(tolerance, float):
            limit = tolerance
        else:
            limit = tolerance[name].reshape(right.shape) if name in tolerance else 0.0
        wrong = _differs(left, right, limit)
        if not wrong.any():
            continue
        first = tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
        count = int(np.count_nonzero(wrong))
        return Mismatch(name, first, str(left[first]), str(right[first]), source, count, wrong.size)
    return None


def _differs(left: np.ndarray, right: np.ndarray, limit: float | np.ndarray) -> np.ndarray:
    is_nan = (left != left) & (right != right)
    differs = (left != right) & ~is_nan
    if np.any(np.asarray(limit) > 0.0) and differs.any():
        with np.errstate(invalid="ignore"):  # unequal infinities are far apart, NaN is never close
            distance = np.abs(left.astype(np.float64) - right.astype(np.float64))
        differs &= ~(distance <= limit)
    return np.asarray(differs)


def float_tolerance(kernel: Kernel, arrays: Mapping[str, np.ndarray]) -> float:
    """How far two summation orders of the kernel may lie apart; 0 when nothing is reordered.

    A sum of n terms of magnitude at most t, started at magnitude at most c and rounded after each
    operation, differs from the exact sum by at most n * eps * (c + n * t) to first order, whatever
    the order (Higham, Accuracy and Stability, section 4.2); each term's own operations add fewer
    than 4 eps * t. Two orders differ by twice that.
    """
    tolerance = 0.0
    for statement in kernel.statements:
        dtype = kernel.buffer(statement.target.buffer).dtype
        if not is_float(dtype) or statement.update != "+=":
            continue
        term = _magnitude(statement.value, arrays)
        if term is None:
            continue
        count = _num_terms(statement)
        start = _largest(arrays, statement.target.buffer)
        error = (count * (start + count * term) + 4 * count * term) * _eps(dtype)
        tolerance = max(tolerance, 2 * error)
    return tolerance


def _num_terms(statement: Statement) -> int:
    """Iterations that add to one element."""
    moving = {name for index in statement.target.indices for name in index.names}
    count = 1
    for loop in statement.loops:
        count *= 1 if loop.name in moving else loop.extent
    return count


def _eps(dtype: str) -> float:
    one = np.ones((), numpy_dtype(dtype))
    step = 1.0
    while float((one + np.asarray(step / 2).astype(one.dtype)).astype(one.dtype)) > 1.0:
        step /= 2
    return step


def _magnitude(value: Expr, arrays: Mapping[str, np.ndarray]) -> float | None:
    """An upper bound on |value|, or None where an operation has no simple one."""
    match value:
        case Access(buffer, _, pad):
            return max(_largest(arrays, buffer), abs(pad or 0))
        case Literal(number):
            return abs(float(number))
        case Apply(op, args):
            parts = [_magnitude(arg, arrays) for arg in args]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            if op == "*":
                return known[0] * known[1]
            if op in LARGEST or is_cast(op):
                return max(known)
            return sum(known) if op in SUMS else None
        case _:
            return None


def _largest(arrays: Mapping[str, np.ndarray], name: str) -> float:
    if name not in arrays or not arrays[name].size:
        return 0.0
    return float(np.max(np.abs(arrays[name].astype(np.float64))))
