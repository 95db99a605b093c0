"""What a round of hardware loops takes at least of its unit, beside a call of one round.

In: a machine. Out: a share per unit. Not its job: how many rounds a program gives to a call: that
the closed form prices a call a round, and what a call takes once is paid for all of its rounds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from math import prod

from isamap.hwdesc import Expression, Hardware

from .corners import corners

EACH = 16  # rounds up to which every count is looked at; then powers of two and the most
KNOWN = 1 << 6  # machines
KNOWN_SHARES = 1 << 10  # instructions that take different cycles


@lru_cache(KNOWN)
def least_shares(hw: Hardware) -> Mapping[str, float]:
    """Per unit the least part of what the closed form counts that its calls may take: 1 where
    rounds are all that calls take."""
    shares = {unit.name: 1.0 for unit in hw.units}
    for instruction in hw.instructions:
        if instruction.repeats:
            calls = tuple(tuple(extents.items()) for extents in corners(instruction))
            rounds = tuple((rule.name, rule.maximum) for rule in instruction.repeats)
            least = _least_share(instruction.issue_cycles, calls, rounds)
            shares[instruction.unit] = min(shares[instruction.unit], least)
    return shares


@lru_cache(KNOWN_SHARES)
def _least_share(
    issue: Expression,
    calls: tuple[tuple[tuple[str, int], ...], ...],
    rounds: tuple[tuple[str, int], ...],
) -> float:
    """Of calls each of whose extents is the smallest or the largest one: of all that take as many
    cycles, and of variants of their machine, once."""
    return min(_shares(issue, map(dict, calls), rounds))


def _shares(
    issue: Expression, calls: Iterable[dict[str, int]], rounds: Sequence[tuple[str, int]]
) -> Iterator[float]:
    """`rounds`: the most of each repeat."""
    names = [name for name, _ in rounds]
    factors = issue.factors()  # so many times one round's cycles, exactly: one count tells
    counts = [[1] if name in factors else _counts(most) for name, most in rounds]
    for extents in calls:
        alone = issue.evaluate(extents | dict.fromkeys(names, 1))
        for numbers in product(*counts):
            together = issue.evaluate(extents | dict(zip(names, numbers, strict=True)))
            yield together / (prod(numbers) * alone) if alone else 1.0


def _counts(most: int) -> list[int]:
    powers = [1 << place for place in range(most.bit_length())]
    return sorted({*range(1, min(most, EACH) + 1), *powers, most})
