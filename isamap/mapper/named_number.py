"""Tell which immediate, and of what value, makes a pattern a given number.

In: a pattern of an instruction, a number of the kernel. Out: an immediate's name and number. Not
its job: whether a call can encode that number (`immediate_value`).
"""

from collections.abc import Mapping

from isamap.hwdesc import ImmediateRule
from isamap.ir import Apply, Expr, Immediate, Literal


def named_number(
    pattern: Expr, number: int | float, rules: Mapping[str, ImmediateRule]
) -> tuple[str, int | float] | None:
    """`("shift", 6)` for the pattern `15 + shift` and the number 21.

    The pattern is an immediate, or a sum or difference of one and of whole numbers; None for all
    others. Such sums are exact: what the immediate adds gives a number of the kernel, so nothing
    wraps. With a float they would round.
    """
    if isinstance(pattern, Immediate):
        return pattern.name, number
    match pattern:
        case Apply("+", (Literal(int() as known), inner) | (inner, Literal(int() as known))):
            found = named_number(inner, number - known, rules)
        case Apply("-", (inner, Literal(int() as known))):
            found = named_number(inner, number + known, rules)
        case Apply("-", (Literal(int() as known), inner)):
            found = named_number(inner, known - number, rules)
        case _:
            return None
    return found if found and rules[found[0]].dtype is None else None
