"""What a kernel means, said as plainly as possible: nested loops over single elements.

In, Out: as `interpret`. Not its job: speed; it is the oracle of `interp` on small kernels.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, assert_never

import numpy as np

from isamap.errors import KernelError

from .dtypes import integer_range, is_integer, wrap_integer
from .kernel import Access, Apply, Expr, Immediate, Kernel, Literal, Statement
from .numpy_types import numpy_dtype
from .ops import OPS, SHIFTS, UPDATES, Typing
from .type_of import argument_types

Number = Any  # Python integers; NumPy scalars (of NumPy's or ml_dtypes' types) for floats
Memory = dict[str, np.ndarray]


def interpret_slow(
    kernel: Kernel,
    arrays: Mapping[str, np.ndarray],
    immediates: Mapping[str, int | float] | None = None,
) -> dict[str, np.ndarray]:
    """Run a verified kernel element by element."""
    memory: Memory = {}
    for buffer in kernel.buffers:
        if buffer.role.is_given:
            memory[buffer.name] = np.array(arrays[buffer.name], numpy_dtype(buffer.dtype))
        else:
            memory[buffer.name] = np.zeros(buffer.shape, numpy_dtype(buffer.dtype))
    with np.errstate(all="ignore"):
        run_nest(kernel.statements, 0, {}, kernel, memory, immediates or {})
    outputs = [b.name for b in kernel.buffers if b.role.is_returned]
    return {name: memory[name] for name in outputs}


def run_nest(
    statements: tuple[Statement, ...],
    depth: int,
    values: dict[str, int],
    kernel: Kernel,
    memory: Memory,
    immediates: Mapping[str, int | float],
) -> None:
    """Run neighbours that share their first `depth` loops, whose values are given."""
    position = 0
    while position < len(statements):
        first = statements[position]
        if len(first.loops) == depth:
            run_once(first, values, kernel, memory, immediates)
            position += 1
            continue
        loop = first.loops[depth]
        group = [first]
        for statement in statements[position + 1 :]:
            if statement.loops[: depth + 1] != first.loops[: depth + 1]:
                break
            group.append(statement)
        for value in range(loop.extent):
            inner = {**values, loop.name: value}
            run_nest(tuple(group), depth + 1, inner, kernel, memory, immediates)
        position += len(group)


def run_once(
    statement: Statement,
    values: dict[str, int],
    kernel: Kernel,
    memory: Memory,
    immediates: Mapping[str, int | float],
) -> None:
    """Run one statement in one iteration."""
    dtype = kernel.buffer(statement.target.buffer).dtype

    def value_of(expr: Expr, dtype: str) -> Number:
        match expr:
            case Access():
                return read(expr, values, dtype, memory)
            case Literal(value):
                return number(value, dtype)
            case Immediate(name):
                return number(immediates[name], dtype)
            case Apply(op, args):
                types = argument_types(expr, kernel, dtype)
                numbers = [value_of(a, t) for a, t in zip(args, types, strict=True)]
                return apply_scalar(op, numbers, types[-1], dtype)
            case _:
                assert_never(expr)

    result = value_of(statement.value, dtype)
    index = tuple(i.evaluate(values) for i in statement.target.indices)
    join = UPDATES[statement.update]
    if join is not None:
        old = read(statement.target, values, dtype, memory)
        result = apply_scalar(join, [old, result], dtype, dtype)
    memory[statement.target.buffer][index] = result


def read(access: Access, values: dict[str, int], dtype: str, memory: Memory) -> Number:
    """One element, or the padding value outside."""
    array = memory[access.buffer]
    index = tuple(i.evaluate(values) for i in access.indices)
    if all(0 <= i < size for i, size in zip(index, array.shape, strict=True)):
        return int(array[index]) if is_integer(dtype) else array[index]
    assert access.pad is not None, f"{access} outside of its buffer"
    return number(access.pad, dtype)


def number(value: float, dtype: str) -> Number:
    """A constant in its type."""
    if is_integer(dtype):
        return wrap_integer(int(value), dtype)
    return numpy_dtype(dtype).type(value)


def in_f64(function: Callable[[float], float]) -> Callable[..., Number]:
    """A float function computed in f64; the caller rounds."""
    return lambda x: np.float64(function(np.float64(x)))


SCALAR_OPS: dict[str, Callable[..., Number]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
    "/": lambda a, b: a / b, "//": lambda a, b: a // b, "neg": lambda a: -a, "abs": abs,
    "<<": lambda a, n: a << n, ">>": lambda a, n: a >> n,
    "rshift_round": lambda a, n: (a + (1 << n >> 1)) >> n,
    "&": lambda a, b: a & b, "|": lambda a, b: a | b, "^": lambda a, b: a ^ b,
    "<": lambda a, b: int(a < b), "<=": lambda a, b: int(a <= b), "==": lambda a, b: int(a == b),
    "max": lambda a, b: np.maximum(a, b), "min": lambda a, b: np.minimum(a, b),
    "relu": lambda a: np.maximum(a, type(a)(0)), "select": lambda c, a, b: a if c else b,
    "exp": in_f64(np.exp), "tanh": in_f64(np.tanh), "sqrt": in_f64(np.sqrt),
    "sigmoid": in_f64(lambda x: 1.0 / (1.0 + np.exp(-x))), "round_even": in_f64(np.rint),
}  # fmt: skip


def apply_scalar(op: str, args: list[Number], from_dtype: str, dtype: str) -> Number:
    """One operation on single numbers, rounded or wrapped to its result type."""
    if OPS[op].typing is Typing.CAST:
        return cast_scalar(args[0], from_dtype, dtype, OPS[op].is_saturating)
    if op in SHIFTS and int(args[1]) < 0:
        raise KernelError("negative shift count")
    if op == "//" and args[1] == 0:
        raise KernelError("integer division by zero")
    result = SCALAR_OPS[op](*args)
    if is_integer(dtype):
        return wrap_integer(int(result), dtype)
    return numpy_dtype(dtype).type(result)


def cast_scalar(value: Number, source: str, dtype: str, is_saturating: bool) -> Number:
    """Wrapping or saturating conversion of one number."""
    if not is_integer(dtype):
        return np.asarray(value).astype(numpy_dtype(dtype))[()]
    low, high = integer_range(dtype)
    if is_integer(source):
        whole = int(value)
        return min(max(whole, low), high) if is_saturating else wrap_integer(whole, dtype)
    exact = float(value)
    if math.isnan(exact):
        return 0
    if math.isinf(exact):
        return high if exact > 0 else low
    return min(max(math.trunc(exact), low), high)
