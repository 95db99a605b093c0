"""The normal form of a statement's update.

In: target, update and value as written. Out: the same meaning in the one form that kernels use.
Not its job: rewriting values (terms of a longer sum are not searched for the target).
"""

from .kernel import Access, Apply, Expr
from .ops import UPDATES

SPELLED = {op: update for update, op in UPDATES.items() if op is not None}


def normalise_update(target: Access, update: str, value: Expr) -> tuple[str, Expr]:
    """`x = x + e` and `x = e + x` become `x += e`, bit by bit the same; so do *, max, min; and
    `x = x - e` becomes `x += -e`."""
    if update != "=" or not isinstance(value, Apply) or len(value.args) != 2:
        return update, value
    if value.op == "-" and value.args[0] == target:
        return "+=", Apply("neg", value.args[1:])
    if value.op not in SPELLED or target not in value.args:
        return update, value
    left, right = value.args
    return SPELLED[value.op], right if left == target else left
