"""Write one expression in other ways that give the same bits.

In: an expression of a kernel or an instruction. Out: equal expressions. Not its job: which of them
an instruction computes (`match`, `finish`).

Laws. (1) `relu(x)` is `max(x, 0)`. (2) `relu(f(x)) = f(relu(x))` for every f that never falls and
has f(0) = 0: such are saturating casts, casts to wider floats (they round to nearest, an overflow
is an infinity), rounding to integers, and a product with a positive constant, which rounds to
nearest. A product that underflows from below gives -0 on one side and 0 on the other, so the law is
used only inside a cast to an integer. NaN stays NaN on both sides. (3) Saturating an integer x
equals saturating `round_even(f32(x) * 1)`: f32 holds integers up to 2**24, which is beyond the
limits of the types with at most 16 bits, and rounds larger ones to no less. (4) With numbers, a
difference is a sum (`x - 5 = x + -5`), a quotient by a power of two a product (`x / 8 = x * 0.125`:
both round the same number), and `-x = x * -1`.
Source: derived here.
"""

import math
from collections.abc import Collection, Mapping
from functools import lru_cache

from isamap.hwdesc import Instruction
from isamap.ir import (
    OPS,
    Access,
    Apply,
    Expr,
    Immediate,
    Literal,
    Typing,
    accesses,
    is_cast,
    is_integer,
    is_zero,
    nearest_float,
    scalar_type,
)

WIDE_FLOATS = ("f16", "bf16", "f32", "f64")  # f8e4m3 overflows to NaN
ZERO = Literal(0)
# what the laws put in, take out or replace, with casts
LOOSE = ("*", "max", "relu", "round_even", "neg")
MEMORY = 2**12  # answers that are kept


@lru_cache(maxsize=MEMORY)
def firm_operations(value: Expr) -> tuple[str, ...]:
    """The operations that neither the laws nor `exact_form` add, drop or replace, sorted:
    expressions that differ in them are never spellings of one."""
    if not isinstance(value, Apply) or not accesses(value):
        return ()  # a number, which the kernel has worked out where the instruction has not
    inner = [op for arg in value.args for op in firm_operations(arg)]
    has_number = len(value.args) == 2 and not accesses(value.args[1])
    op = "+" if value.op == "-" and has_number else value.op
    is_loose = is_cast(op) or op in LOOSE or (op == "/" and has_number)
    return tuple(sorted(inner if is_loose else [*inner, op]))


def plain(expr: Expr) -> Expr:
    """Law 1, everywhere."""
    if not isinstance(expr, Apply):
        return expr
    args = tuple(plain(arg) for arg in expr.args)
    return Apply("max", (*args, ZERO)) if expr.op == "relu" else Apply(expr.op, args)


def kernel_spellings(value: Expr, dtypes: Mapping[str, str]) -> tuple[Expr, ...]:
    """The kernel's `value` as it is, but plain; by law 2; by laws 2 and 3.

    `dtypes`: scalar types of the buffers that it reads.
    """
    first = relu_first(plain(value))
    return tuple(dict.fromkeys((plain(value), first, scaled_by_one(first, dtypes))))


def instruction_spellings(value: Expr, instruction: Instruction) -> tuple[Expr, ...]:
    """The instruction's `value` as it is, but plain; by law 2."""
    rules = instruction.immediates
    positive = [rule.name for rule in rules if rule.dtype is not None and rule.minimum > 0]
    return tuple(dict.fromkeys((plain(value), relu_first(plain(value), positive))))


def relu_first(value: Expr, positive: Collection[str] = ()) -> Expr:
    """A plain expression in which law 2 has moved every relu as far inside as it goes.

    `positive`: immediates that are always more than 0.
    """
    if not isinstance(value, Apply):
        return value
    args = tuple(relu_first(arg, positive) for arg in value.args)
    inner = _under_relu(Apply(value.op, args))
    if isinstance(inner, Apply) and OPS[inner.op].is_saturating:
        return relu_first(Apply(inner.op, (Apply("max", (*inner.args, ZERO)),)), positive)
    operation = OPS[value.op]
    if operation.typing is Typing.CAST and is_integer(operation.result) and _wide_type(args[0]):
        return Apply(value.op, (_sink(args[0], False, positive),))
    return Apply(value.op, args)


def _sink(value: Expr, has_relu: bool, positive: Collection[str]) -> Expr:
    """A float whose zero may have either sign, under a relu or not, with its relus inside."""
    below = _under_relu(value)
    if below is not None:
        return _sink(below, True, positive)
    match value:
        case Apply("*", (left, right)) if _is_positive(right, _wide_type(left), positive):
            return Apply("*", (_sink(left, has_relu, positive), right))
        case Apply("*", (left, right)) if _is_positive(left, _wide_type(right), positive):
            return Apply("*", (left, _sink(right, has_relu, positive)))
        case Apply("round_even", (inner,)) if _wide_type(inner):
            return Apply("round_even", (_sink(inner, has_relu, positive),))
        case Apply(op, (inner,)) if op in WIDE_FLOATS:
            return Apply(op, (_sink(inner, has_relu, positive),))
        case _:
            return Apply("max", (value, ZERO)) if has_relu else value


def _under_relu(value: Expr) -> Expr | None:
    """x if the value is `max(x, 0)`."""
    match value:
        case Apply("max", (inner, other)) if is_zero(other):
            return inner
        case Apply("max", (other, inner)) if is_zero(other):
            return inner
        case _:
            return None


def _wide_type(value: Expr) -> str | None:
    """Which of `WIDE_FLOATS` the value has; None if that cannot be told."""
    match value:
        case Apply("*" | "max" | "round_even", args):
            return next(filter(None, map(_wide_type, args)), None)
        case Apply(op, _) if op in WIDE_FLOATS:
            return op
        case _:
            return None


def _is_positive(factor: Expr, dtype: str | None, positive: Collection[str]) -> bool:
    """Is a factor of a product of type `dtype` certainly more than 0 and finite?"""
    match factor:
        case Literal(number) if dtype is not None:
            return 0 < nearest_float(number, dtype) < math.inf
        case Immediate(name):
            return dtype is not None and name in positive
        case _:
            return False


def scaled_by_one(value: Expr, dtypes: Mapping[str, str]) -> Expr:
    """By law 3, if `value` saturates a buffer's element or its relu."""
    match value:
        case Apply(op, (inner,)) if OPS[op].is_saturating:
            base = _under_relu(inner) or inner
            is_whole = isinstance(base, Access) and is_integer(dtypes[base.buffer])
            if is_whole and scalar_type(OPS[op].result).bits <= 16:
                scaled = Apply("*", (Apply("f32", (inner,)), Literal(1)))
                return Apply(op, (Apply("round_even", (scaled,)),))
    return value


def with_numbers(value: Expr, dtypes: Mapping[str, str]) -> Expr:
    """The kernel's value by law 4, everywhere."""
    if not isinstance(value, Apply):
        return value
    args = tuple(with_numbers(arg, dtypes) for arg in value.args)
    dtype = _type_of(Apply(value.op, args), dtypes)
    match value.op, args:
        case "-", (left, Literal(number)) if _has_negative(number, dtype):
            return Apply("+", (left, Literal(-number)))
        case "/", (left, Literal(number)) if _has_inverse(number, dtype):
            return Apply("*", (left, Literal(1 / number)))
        case "neg", (inner,) if _has_negative(1, dtype) and not isinstance(inner, Literal):
            return Apply("*", (inner, Literal(-1)))
    return Apply(value.op, args)


def _type_of(value: Expr, dtypes: Mapping[str, str]) -> str | None:
    """The type of a value of +, -, *, / or neg; None where other operations lie in it."""
    match value:
        case Access(buffer):
            return dtypes.get(buffer)
        case Apply(op, _) if is_cast(op):
            return OPS[op].result
        case Apply("+" | "-" | "*" | "/" | "neg" | "max" | "min", args):
            return next(filter(None, (_type_of(arg, dtypes) for arg in args)), None)
        case _:
            return None


def _has_negative(number: float, dtype: str | None) -> bool:
    """Does the type hold the negative of a number of it, which is not 0?"""
    if dtype is None or number == 0:
        return False
    if not is_integer(dtype):
        return True
    return dtype.startswith("i") and number > -(2 ** (scalar_type(dtype).bits - 1))


def _has_inverse(number: float, dtype: str | None) -> bool:
    """Is a float a power of two, and so its inverse?"""
    if dtype not in WIDE_FLOATS or not number or abs(math.frexp(number)[0]) != 0.5:
        return False
    return nearest_float(number, dtype) == number and nearest_float(1 / number, dtype) * number == 1
