"""How well two lists of figures agree on an order.

In: two lists. Out: Spearman's rank correlation. Not its job: where they come from.
"""

from collections.abc import Sequence
from math import prod, sqrt

LEAST = 3  # pairs that say anything


def correlate_ranks(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, equal figures sharing the mean of their ranks: 1 for the same
    order, -1 for the reverse. None for fewer than three pairs or a list of equal figures.

    Source: Spearman 1904; Pearson's correlation of the ranks.
    """
    assert len(first) == len(second), "figures come in pairs"
    if len(first) < LEAST or len(set(first)) == 1 or len(set(second)) == 1:
        return None
    one, other = _ranks(first), _ranks(second)
    mean = (len(first) - 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(one, other, strict=True))
    variances = [sum((rank - mean) ** 2 for rank in ranks) for ranks in (one, other)]
    return covariance / sqrt(prod(variances))


def _ranks(figures: Sequence[float]) -> list[float]:
    """From 0; the mean for equal ones."""
    below = {figure: sum(other < figure for other in figures) for figure in figures}
    equal = {figure: sum(other == figure for other in figures) for figure in figures}
    return [below[figure] + (equal[figure] - 1) / 2 for figure in figures]
