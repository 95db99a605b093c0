"""NumPy's counterparts of the scalar types.

In: a type's name. Out: a NumPy dtype. Not its job: anything that must start without NumPy
(`dtypes`).
"""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided

from .dtypes import DTYPES, scalar_type

NUMPY_DTYPES: dict[str, np.dtype] = {
    "i4": np.dtype(ml_dtypes.int4),
    "u4": np.dtype(ml_dtypes.uint4),
    "i8": np.dtype(np.int8),
    "u8": np.dtype(np.uint8),
    "i16": np.dtype(np.int16),
    "u16": np.dtype(np.uint16),
    "i32": np.dtype(np.int32),
    "u32": np.dtype(np.uint32),
    "i64": np.dtype(np.int64),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
assert NUMPY_DTYPES.keys() == DTYPES.keys()


def numpy_dtype(name: str) -> np.dtype:
    """NumPy dtype of the scalar type called `name`; 4-bit types take one byte per element."""
    return NUMPY_DTYPES[scalar_type(name).name]


def strided_view(
    start: np.ndarray, dtype: np.dtype, sizes: Sequence[int], strides: Sequence[int]
) -> np.ndarray:
    """Elements that lie `strides` bytes apart, from the first byte of `start` (u8) on, unchecked.

    By way of bytes: NumPy's own function asks for a type by its short name, and knows none of
    `f8e5m2`'s.
    """
    whole = as_strided(start, (*sizes, dtype.itemsize), (*strides, 1))
    return whole.view(dtype)[..., 0]


def nearest_float(value: float, dtype: str) -> float:
    """The value of a float type that a literal `value` is: the nearest one, ties to even."""
    with np.errstate(over="ignore"):
        return float(np.float64(value).astype(numpy_dtype(dtype)))
