"""How many lines are gone where any of a cache's lines makes room for one that enters.

In: how crowded the cache is. Out: a share. Not its job: what lies in it (`caches`).
"""

import functools
from math import exp


def missing_share(crowding: float) -> float:
    """Of lines that are used in turn, those that are gone when their turn comes, where there are
    `crowding` times as many as places and any line makes room for one that enters.

    Source: derived here: of n places a line keeps its own for m * crowding * n new lines with
    (1 - 1/n) ** (m * crowding * n), which is exp(-m * crowding); it is 1 - m, too.
    """
    return _solve(round(100 * crowding))


@functools.cache
def _solve(percent: int) -> float:
    low, high = 0.0, 1.0
    for _ in range(20):
        middle = (low + high) / 2
        is_more = 1.0 - exp(-middle * percent / 100) > middle
        low, high = (middle, high) if is_more else (low, middle)
    return low
