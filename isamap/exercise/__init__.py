"""Run every instruction of a machine on operands at all their extremes, and compare.

In: a Hardware. Out: what was run and the first difference, per instruction.
"""

from .compare_bits import Difference
from .exercise import Outcome, exercise

__all__ = ["Difference", "Outcome", "exercise"]
