"""Expressions without casts.

In: expressions. Out: what they cast. Not its job: which casts change a value (`exact_form`).
"""

from .kernel import Apply, Expr
from .ops import is_cast


def under_casts(expr: Expr) -> Expr:
    """What the outermost casts, if any, are of."""
    while isinstance(expr, Apply) and is_cast(expr.op):
        (expr,) = expr.args
    return expr


def without_casts(expr: Expr) -> Expr:
    """The expression as if every type held every value."""
    if not isinstance(expr, Apply):
        return expr
    args = tuple(without_casts(arg) for arg in expr.args)
    return args[0] if is_cast(expr.op) else Apply(expr.op, args)
