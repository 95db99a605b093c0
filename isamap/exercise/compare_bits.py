"""The first element that is not what it should be.

In: two arrays. Out: a difference, or None. Not its job: tolerance: there is none.
"""

from dataclasses import dataclass

import numpy as np


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


def first_difference(operand: str, found: np.ndarray, expected: np.ndarray) -> Difference | None:
    """Equal means the same bits; one NaN is as good as another."""
    same = np.asarray(found == expected)
    if found.dtype.kind not in "iu":
        left, right = found.astype(np.float64), expected.astype(np.float64)
        same = (same & (np.signbit(left) == np.signbit(right))) | (np.isnan(left) & np.isnan(right))
    wrong = np.argwhere(~same)
    if not wrong.size:
        return None
    index = tuple(int(n) for n in wrong[0])
    return Difference(operand, index, float(found[index]), float(expected[index]))
