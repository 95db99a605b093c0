"""The first element that is not what it should be.

In: two arrays. Out: a difference, or None. Not its job: tolerance: there is none.

`max` and `min` are commutative, so that of zeros of both signs either may come out: processors
differ in that, and NumPy with them.
"""

from dataclasses import dataclass

import numpy as np

from isamap.ir import Apply, Expr, Kernel

CHOOSE_ZEROS = ("max", "min", "relu")


@dataclass(frozen=True, slots=True)
class Difference:
    """An element of an operand after a call."""

    operand: str
    index: tuple[int, ...]
    found: float
    expected: float

    def __str__(self) -> str:
        where = ", ".join(map(str, self.index))
        return f"{self.operand}[{where}] is {self.found:g}, should be {self.expected:g}"


def may_choose_zeros(semantics: Kernel) -> bool:
    """Is a `max` or `min` taken of anything?"""
    updates = {f"{name}=" for name in CHOOSE_ZEROS}
    return any(s.update in updates or _chooses(s.value) for s in semantics.statements)


def _chooses(value: Expr) -> bool:
    match value:
        case Apply(op, args):
            return op in CHOOSE_ZEROS or any(map(_chooses, args))
        case _:
            return False


def first_difference(
    operand: str, found: np.ndarray, expected: np.ndarray, *, any_zero: bool = False
) -> Difference | None:
    """Equal means the same bits; one NaN is as good as another, and with `any_zero` one zero."""
    same = np.asarray(found == expected)
    if found.dtype.kind not in "iu":
        left, right = found.astype(np.float64), expected.astype(np.float64)
        may_differ = any_zero & (expected == 0)
        same &= may_differ | (np.signbit(left) == np.signbit(right))
        same |= np.isnan(left) & np.isnan(right)
    wrong = np.argwhere(~same)
    if not wrong.size:
        return None
    index = tuple(int(n) for n in wrong[0])
    return Difference(operand, index, float(found[index]), float(expected[index]))
