"""What one scalar operation does to errors of its arguments.

In: arguments with their errors, the result. Out: the result's error. Not its job: sums, buffers
(`rounding`, which says what an error is and where the rules come from).
"""

import numpy as np

from .array_ops import Array
from .dtypes import FLOAT_LIMITS, integer_range, is_float, is_integer
from .ops import OPS, Typing

Measured = tuple[Array, Array]  # value, error

EXACT = ("neg", "abs", "relu", "max", "min", "select", "round_even")  # no rounding of their own


def propagate(op: str, args: list[Measured], value: Array, source: str, dtype: str) -> Array:
    """Bound on the result's error; `source` is the type of the last argument, `dtype` the
    result's."""
    values = [np.asarray(part, np.float64) for part, _ in args]
    errors = [error for _, error in args]
    brought = _brought(op, values, errors, source, dtype)
    if is_integer(dtype):
        return _unless_wrapping(op, np.asarray(value, np.float64), brought, dtype)
    own = 0.0 if op in EXACT else rounding(value, brought, dtype)
    if OPS[op].typing is Typing.CAST and _is_kept(values[0], errors[0], source, dtype):
        own = 0.0
    return np.asarray(brought + own)


def _brought(op: str, values: list[Array], errors: list[Array], source: str, dtype: str) -> Array:
    """What the arguments' errors alone make of the result."""
    typing = OPS[op].typing
    any_error = np.asarray(sum(errors[1:], errors[0]))
    if typing is Typing.COMPARE:
        is_open = np.abs(values[0] - values[1]) <= 2 * any_error
        return np.where(is_open & (any_error > 0), 1.0, 0.0)
    if typing is Typing.SELECT:
        kept = np.where(values[0] != 0, errors[1], errors[2])
        either = np.abs(values[1] - values[2]) + 2 * np.maximum(errors[1], errors[2])
        return np.where(errors[0] > 0, either, kept)
    if typing is Typing.CAST or op == "round_even":
        if op == "round_even":
            return _cut(np.rint, values[0], errors[0])
        if is_float(source) and is_integer(dtype):
            return _cut(np.trunc, values[0], errors[0])
        return np.asarray(errors[0])
    match op, values, errors:
        case "+" | "-", _, _:
            return any_error
        case "*", [a, b], [e, f]:
            return np.asarray(times(np.abs(a) + 2 * e, f) + times(np.abs(b) + 2 * f, e))
        case "/", [a, b], [e, f]:
            room = np.where(f > 0, np.maximum(np.abs(b) - 2 * f, 0.0), np.abs(b))
            quotient = np.where(f > 0, (np.abs(a) + 2 * e) / room, 0.0)
            return np.where(any_error > 0, (e + times(quotient, f)) / room, 0.0)
        case "max" | "min", _, _:
            return np.asarray(np.maximum(errors[0], errors[1]))
        case "neg" | "abs" | "relu", _, _:
            return np.asarray(errors[0])
        case ">>" | "rshift_round", [_, n], [e, f]:
            return np.where(f > 0, np.inf, np.where(e > 0, e / 2.0**n + 1, 0.0))
        case _, [a], [e]:
            return np.where(e > 0, times(e, _slope(op, a, 2 * e)), 0.0)
        case _:
            return np.where(any_error > 0, np.inf, 0.0)


def _cut(whole: np.ufunc, value: Array, error: Array) -> Array:
    """Of whole numbers: the same one from all values that are near, else one more apart at most."""
    is_same = whole(value - 2 * error) == whole(value + 2 * error)
    return np.where(is_same | (error == 0), 0.0, np.floor(error + 1))


def _slope(op: str, value: Array, distance: Array) -> Array:
    """The largest slope of a function within a distance of a value."""
    flattest = np.maximum(np.abs(value) - distance, 0.0)
    match op:
        case "exp":
            return np.asarray(np.exp(value + distance))
        case "tanh":
            return np.asarray(1.0 - np.tanh(flattest) ** 2)
        case "sigmoid":
            low = 1.0 / (1.0 + np.exp(flattest))
            return np.asarray(low * (1.0 - low))
        case "sqrt":
            return np.where(value > distance, 0.5 / np.sqrt(value - distance), np.inf)
        case _:
            return np.full_like(value, np.inf)


def rounding(value: Array, brought: Array, dtype: str) -> Array:
    """What rounding to `dtype` adds; infinite where an execution might overflow."""
    limits = FLOAT_LIMITS[dtype]
    size = np.abs(np.asarray(value, np.float64)) + 2 * brought
    own = limits.eps * size + limits.smallest
    overflows = (size > limits.largest) & (brought > 0)
    is_certain = ~np.isfinite(np.asarray(value, np.float64)) & (brought == 0)
    return np.where(overflows, np.inf, np.where(is_certain, 0.0, own))


def _is_kept(value: Array, error: Array, source: str, dtype: str) -> bool:
    """Is every value near this one a value of `dtype`?"""
    step = FLOAT_LIMITS[dtype].eps
    if is_integer(source):
        return bool(np.all(np.abs(value) + 2 * error <= 1 / step))
    return step <= FLOAT_LIMITS[source].eps


def _unless_wrapping(op: str, value: Array, brought: Array, dtype: str) -> Array:
    """Integers wrap: an error that may cross the end of the range has no bound."""
    if OPS[op].is_saturating or OPS[op].typing is Typing.COMPARE:
        return brought
    low, high = integer_range(dtype)
    is_inside = (value - 2 * brought >= low) & (value + 2 * brought <= high)
    return np.where((brought > 0) & ~is_inside, np.inf, brought)


def times(a: Array, b: Array) -> Array:
    """The product of two bounds: nothing times infinity is nothing."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)
