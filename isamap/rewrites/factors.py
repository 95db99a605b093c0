"""Products as lists of factors, through casts that lose nothing.

In: an expression and its type. Out: factors of that type whose wrapping product is the expression.
Not its job: sums, floats inside casts (a cast rounds), choosing among factors.
"""

from collections.abc import Iterable
from functools import reduce

from isamap.ir import (
    OPS,
    Access,
    Apply,
    Expr,
    Kernel,
    Literal,
    argument_types,
    integer_range,
    is_cast,
    is_integer,
    scalar_type,
    wrap_integer,
)

from .edit import used_loops

Interval = tuple[int, int]


def split_factors(expr: Expr, dtype: str, kernel: Kernel) -> tuple[Expr, ...]:
    """Factors of `expr`, each of type `dtype`, left to right; `expr` alone when it is no product.

    A cast to an integer goes to the factors where it is a ring homomorphism: it drops high bits,
    or the product cannot leave the narrower type. Source: arithmetic modulo 2**bits.
    """
    match expr:
        case Apply("*", args):
            return tuple(f for arg in args for f in split_factors(arg, dtype, kernel))
        case Apply("neg", (arg,)) if can_hold(-1, dtype):
            return (Literal(-1), *split_factors(arg, dtype, kernel))
        case Apply(op, (arg,)) if is_cast(op) and is_integer(dtype):
            return split_cast(expr, arg, dtype, kernel)
        case _:
            return (expr,)


def split_cast(expr: Apply, arg: Expr, dtype: str, kernel: Kernel) -> tuple[Expr, ...]:
    """Factors of a cast to an integer type."""
    inner_type = argument_types(expr, kernel, dtype)[0]
    if not is_integer(inner_type):
        return (expr,)
    factors = split_factors(arg, inner_type, kernel)
    if len(factors) < 2:
        return (expr,)
    exact = reduce(multiply_intervals, (interval(f, inner_type, kernel) for f in factors))
    is_saturating = OPS[expr.op].is_saturating
    drops_bits = scalar_type(dtype).bits <= scalar_type(inner_type).bits and not is_saturating
    is_exact = lies_in(exact, inner_type) and (not is_saturating or lies_in(exact, dtype))
    if not (drops_bits or is_exact):
        return (expr,)
    return tuple(cast_integer(f, dtype) for f in factors)


def cast_integer(factor: Expr, dtype: str) -> Expr:
    """An integer factor converted, wrapping."""
    if isinstance(factor, Literal):
        return Literal(wrap_integer(int(factor.value), dtype))
    return Apply(dtype, (factor,))


def interval(expr: Expr, dtype: str, kernel: Kernel) -> Interval:
    """Smallest and largest value that an integer expression may take, from types alone."""
    match expr:
        case Literal(value):
            return int(value), int(value)
        case Apply("*", (left, right)):
            found = multiply_intervals(
                interval(left, dtype, kernel), interval(right, dtype, kernel)
            )
        case Apply(op, (arg,)) if is_cast(op):
            inner_type = argument_types(expr, kernel, dtype)[0]
            if not is_integer(inner_type):
                return integer_range(dtype)
            found = interval(arg, inner_type, kernel)
        case _:
            return integer_range(dtype)
    return found if lies_in(found, dtype) else integer_range(dtype)


def multiply_intervals(left: Interval, right: Interval) -> Interval:
    """Interval of the exact product."""
    corners = [a * b for a in left for b in right]
    return min(corners), max(corners)


def lies_in(found: Interval, dtype: str) -> bool:
    """Can the integer type hold all of the interval?"""
    low, high = integer_range(dtype)
    return low <= found[0] and found[1] <= high


def can_hold(value: int, dtype: str) -> bool:
    """Is `value` one of the type's?"""
    return not is_integer(dtype) or lies_in((value, value), dtype)


def multiply(factors: tuple[Expr, ...]) -> Expr:
    """The product, from the left."""
    return reduce(lambda left, right: Apply("*", (left, right)), factors)


def add_up(terms: Iterable[Expr]) -> Expr:
    """The sum, from the left."""
    return reduce(lambda left, right: Apply("+", (left, right)), terms)


def moving_loops(factors: Iterable[Expr]) -> frozenset[str]:
    """Names of the loops that any of the factors depends on."""
    return frozenset[str]().union(*map(used_loops, factors))


def name_factor(factor: Expr) -> str:
    """A factor for people: the buffer it reads, or its constant."""
    match factor:
        case Access(buffer):
            return buffer
        case Literal(value):
            return str(value)
        case Apply(op, (arg,)) if is_cast(op):
            return name_factor(arg)
        case Apply(op):
            return op
        case _:
            return "?"
