"""The integer that an expression denotes, without the types it is computed in.

In: an expression and the buffers it reads. Out: an expression whose operations are those of whole
numbers: casts that change nothing are gone, every wrap-around or saturation that may happen is a
cast of its own. Two expressions with one exact form have equal values. Not its job: floats (left as
they are), algebra beyond ranges.
"""

from collections.abc import Callable

from .casts import under_casts
from .dtypes import integer_range, is_integer
from .kernel import Access, Apply, Expr, Immediate, Kernel, Literal, Statement
from .ops import OPS, is_cast
from .type_of import infer_type

Range = tuple[int, int]
OPEN = ("select", ">>", "rshift_round")  # of the same value in any type that holds the arguments


def exact_form(expr: Expr, kernel: Kernel) -> Expr:
    """The exact form of a verified expression; itself where a float or an immediate takes part."""
    found = _reduce(expr, kernel)
    return found[0] if found is not None else expr


def exact_range(expr: Expr, kernel: Kernel) -> Range | None:
    """Least and greatest value that the operand types allow; None where it cannot be told.

    Source: interval arithmetic.
    """
    found = _reduce(expr, kernel)
    return found[1] if found is not None else None


def _reduce(expr: Expr, kernel: Kernel) -> tuple[Expr, Range] | None:
    match expr:
        case Access(buffer, _, pad):
            dtype = kernel.buffer(buffer).dtype
            low, high = integer_range(dtype) if is_integer(dtype) else (0, 0)
            is_plain = is_integer(dtype) and (pad is None or low <= pad <= high)
            return (expr, (low, high)) if is_plain else None
        case Literal(int(value)):
            return expr, (value, value)
        case Literal() | Immediate():
            return None
        case Apply(op, args):
            parts = [_reduce(arg, kernel) for arg in args]
            known = [part for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            return _apply(op, known, infer_type(expr, kernel))


def _apply(
    op: str, parts: list[tuple[Expr, Range]], dtype: str | None
) -> tuple[Expr, Range] | None:
    """The operation on exact arguments, in a cast if its own type may not hold the result."""
    if dtype is None or not is_integer(dtype):
        return None
    limits = integer_range(dtype)
    values, ranges = tuple(part[0] for part in parts), [part[1] for part in parts]
    if is_cast(op):
        return parts[0] if _holds(limits, ranges[0]) else (Apply(op, values), limits)
    if op in OPEN:
        return Apply(op, values), limits
    if op not in RANGES:
        return None
    reached = RANGES[op](ranges)
    whole = Apply(op, values)
    return (whole, reached) if _holds(limits, reached) else (Apply(dtype, (whole,)), limits)


def _holds(limits: Range, reached: Range) -> bool:
    return limits[0] <= reached[0] and reached[1] <= limits[1]


def _product(ranges: list[Range]) -> Range:
    ends = [a * b for a in ranges[0] for b in ranges[1]]
    return min(ends), max(ends)


RANGES: dict[str, Callable[[list[Range]], Range]] = {
    "+": lambda r: (r[0][0] + r[1][0], r[0][1] + r[1][1]),
    "-": lambda r: (r[0][0] - r[1][1], r[0][1] - r[1][0]),
    "*": _product,
    "neg": lambda r: (-r[0][1], -r[0][0]),
    "max": lambda r: (max(r[0][0], r[1][0]), max(r[0][1], r[1][1])),
    "min": lambda r: (min(r[0][0], r[1][0]), min(r[0][1], r[1][1])),
    "relu": lambda r: (max(r[0][0], 0), max(r[0][1], 0)),
}


def saturations(expr: Expr) -> tuple[str, ...]:
    """Saturating casts in `expr`, outermost first."""
    if not isinstance(expr, Apply):
        return ()
    own = (expr.op,) if OPS[expr.op].is_saturating else ()
    return own + tuple(op for arg in expr.args for op in saturations(arg))


def is_copy(statement: Statement) -> bool:
    """Does it only copy, cast or not?"""
    return statement.update == "=" and isinstance(under_casts(statement.value), Access)
