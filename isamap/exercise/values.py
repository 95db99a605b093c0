"""Values that tell a wrong instruction from a right one.

In: a scalar type, a shape. Out: arrays. Not its job: where they lie.
"""

from enum import Enum

import numpy as np

from isamap.ir import integer_range, is_integer, numpy_dtype


class Pattern(Enum):
    """Which values an operand holds."""

    RANDOM = "random"
    LOWEST = "lowest"
    HIGHEST = "highest"
    MIXED = "mixed"  # both ends, small numbers and random ones
    WHOLE = "small whole numbers"  # whose sums and products are exact in every float type


SMALL = 4


def draw(
    dtype: str, shape: tuple[int, ...], pattern: Pattern, generator: np.random.Generator
) -> np.ndarray:
    """An array of the pattern's values."""
    ends = special_values(dtype)
    held = numpy_dtype(dtype)
    if is_integer(dtype):
        low, high = integer_range(dtype)
        wide = generator.integers(low, high, shape, np.int64, endpoint=True)
        random = np.asarray(wide).astype(held)
    else:
        random = np.asarray(generator.standard_normal(shape)).astype(held)
    match pattern:
        case Pattern.WHOLE:
            whole = generator.integers(0 if low_is_zero(dtype) else -SMALL, SMALL, shape)
            return np.asarray(whole).astype(held)
        case Pattern.RANDOM:
            return random
        case Pattern.LOWEST:
            return np.full(shape, ends[0], held)
        case Pattern.HIGHEST:
            return np.full(shape, ends[1], held)
        case Pattern.MIXED:
            chosen = ends[generator.integers(0, len(ends), shape)]
            is_random = generator.integers(0, 2, shape) == 0
            return np.asarray(np.where(is_random, random, chosen)).astype(held)


def low_is_zero(dtype: str) -> bool:
    """Has the type no negative numbers?"""
    return is_integer(dtype) and integer_range(dtype)[0] == 0


def special_values(dtype: str) -> np.ndarray:
    """Lowest, highest, and those around 0; of floats also the smallest and the infinities."""
    held = numpy_dtype(dtype)
    if is_integer(dtype):
        low, high = integer_range(dtype)
        rows = [low, high, 0, 1, max(low, -1), low + 1, high - 1]
        return np.array(rows, np.int64).astype(held)
    bits = held.itemsize * 8
    raw = np.arange(1 << bits, dtype=np.uint32).astype(f"u{held.itemsize}") if bits <= 16 else None
    if raw is not None:
        with np.errstate(invalid="ignore"):
            every = raw.view(held).astype(np.float64)
        finite = every[np.isfinite(every)]
        tiny = float(finite[finite > 0].min())
        top = float(finite.max())
    else:
        tiny, top = float(np.finfo(held).smallest_subnormal), float(np.finfo(held).max)
    rows_f = [-top, top, 0.0, -0.0, tiny, -tiny, 1.0, -1.0, 0.5, 2.5, np.inf, -np.inf]
    return np.array(rows_f, np.float64).astype(held)
