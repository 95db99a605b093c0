"""Scalar operations over whole NumPy arrays.

In: operand arrays and the scalar type they have. Out: the result array. Integers of every type
travel as int64 holding in-range values; floats travel in their own type. Not its job: finding
operands (`evaluate`).
"""

from collections.abc import Callable

import numpy as np

from isamap.errors import KernelError

from .dtypes import integer_range, is_integer, scalar_type
from .numpy_types import numpy_dtype
from .ops import OPS, Typing

Array = np.ndarray


def wrap_array(values: Array, dtype: str) -> Array:
    """int64 values modulo 2**bits, brought into the integer type's range."""
    bits = scalar_type(dtype).bits
    if bits == 64:
        return values
    low, _ = integer_range(dtype)
    return np.asarray(((values - low) & (2**bits - 1)) + low)


def check_counts(counts: Array) -> None:
    """KernelError when a shift count is negative."""
    if np.any(counts < 0):
        raise KernelError("negative shift count")


def shift_left(values: Array, counts: Array) -> Array:
    """values * 2**counts, low 64 bits."""
    check_counts(counts)
    return np.where(counts > 63, 0, np.left_shift(values, np.minimum(counts, 63)))


def shift_right(values: Array, counts: Array) -> Array:
    """floor(values / 2**counts)."""
    check_counts(counts)
    return np.asarray(np.right_shift(values, np.minimum(counts, 63)))


def shift_round(values: Array, counts: Array) -> Array:
    """floor((values + 2**(counts-1)) / 2**counts): the last bit shifted out rounds up."""
    check_counts(counts)
    last_bit = np.where(counts > 0, shift_right(values, np.maximum(counts - 1, 0)) & 1, 0)
    return np.where(counts > 63, 0, shift_right(values, counts) + last_bit)


def floor_divide(left: Array, right: Array) -> Array:
    """Floor division; KernelError for a zero divisor. -2**63 // -1 wraps to itself."""
    if np.any(right == 0):
        raise KernelError("integer division by zero")
    return np.where(right == -1, -left, np.floor_divide(left, np.where(right == -1, 1, right)))


def sigmoid(values: Array) -> Array:
    """Logistic function of f64 values."""
    return np.asarray(1.0 / (1.0 + np.exp(-values)))


def choose(condition: Array, if_true: Array, if_false: Array) -> Array:
    """`if_true` where the condition is not 0."""
    return np.asarray(np.where(condition != 0, if_true, if_false))


INTEGER_OPS: dict[str, Callable[..., Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "//": floor_divide,
    "<<": shift_left, ">>": shift_right, "rshift_round": shift_round,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor,
    "neg": np.negative, "abs": np.abs, "relu": lambda x: np.maximum(x, 0),
}  # fmt: skip
FLOAT_OPS: dict[str, Callable[..., Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "neg": np.negative,
    "abs": np.abs, "relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
}  # fmt: skip
ROUNDED_ONCE: dict[str, Callable[[Array], Array]] = {  # computed in f64
    "exp": np.exp, "tanh": np.tanh, "sqrt": np.sqrt, "sigmoid": sigmoid, "round_even": np.rint,
}  # fmt: skip
ANY_OPS: dict[str, Callable[..., Array]] = {
    "max": np.maximum, "min": np.minimum,
    "<": np.less, "<=": np.less_equal, "==": np.equal,
    "select": choose,
}  # fmt: skip


def apply_op(op: str, args: list[Array], from_dtype: str, dtype: str) -> Array:
    """Value of one operation; `from_dtype` is its last operand's type, `dtype` the result's."""
    operation = OPS[op]
    if operation.typing is Typing.CAST:
        return convert(args[0], from_dtype, dtype, operation.is_saturating)
    if operation.typing is Typing.COMPARE:
        return np.asarray(ANY_OPS[op](*args)).astype(np.int64)
    if op in ANY_OPS:
        return np.asarray(ANY_OPS[op](*args))
    if is_integer(dtype):
        return wrap_array(np.asarray(INTEGER_OPS[op](*args)), dtype)
    if op in ROUNDED_ONCE:
        exact = ROUNDED_ONCE[op](np.ascontiguousarray(args[0], dtype=np.float64))
        return np.asarray(exact).reshape(args[0].shape).astype(numpy_dtype(dtype))
    return np.asarray(FLOAT_OPS[op](*args))


def convert(values: Array, source: str, dtype: str, is_saturating: bool) -> Array:
    """A cast; to floats it rounds to nearest even (f8e4m3 overflows to NaN)."""
    if not is_integer(dtype):
        return values.astype(numpy_dtype(dtype))
    low, high = integer_range(dtype)
    if is_integer(source):
        return np.clip(values, low, high) if is_saturating else wrap_array(values, dtype)
    whole = np.trunc(values.astype(np.float64))
    too_high, too_low = whole >= float(high + 1), whole < float(low)
    inside = np.where(too_high | too_low | np.isnan(whole), 0.0, whole).astype(np.int64)
    return np.where(too_high, high, np.where(too_low, low, inside))
