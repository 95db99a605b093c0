"""What a round of hardware loops takes at least of its unit, beside a call of one round.

In: a machine. Out: a share per unit. Not its job: how many rounds a program gives to a call: that
the closed form prices a call a round, and what a call takes once is paid for all of its rounds.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import prod

from isamap.hwdesc import Hardware, Instruction

from .corners import corners

EACH = 16  # rounds up to which every count is looked at; then powers of two and the most
KNOWN = 1 << 6  # machines


@lru_cache(KNOWN)
def least_shares(hw: Hardware) -> Mapping[str, float]:
    """Per unit the least part of what the closed form counts that its calls may take: 1 where
    rounds are all that calls take."""
    shares = {unit.name: 1.0 for unit in hw.units}
    for instruction in hw.instructions:
        if instruction.repeats:
            least = min(_shares(instruction))
            shares[instruction.unit] = min(shares[instruction.unit], least)
    return shares


def _shares(instruction: Instruction) -> Iterator[float]:
    """Of calls each of whose extents is the smallest or the largest one."""
    counts = [_counts(rule.maximum) for rule in instruction.repeats]
    names = [rule.name for rule in instruction.repeats]
    for extents in corners(instruction):
        alone = instruction.issue_cycles.evaluate(extents | dict.fromkeys(names, 1))
        for rounds in product(*counts):
            together = extents | dict(zip(names, rounds, strict=True))
            issue = instruction.issue_cycles.evaluate(together)
            yield issue / (prod(rounds) * alone) if alone else 1.0


def _counts(most: int) -> list[int]:
    powers = [1 << place for place in range(most.bit_length())]
    return sorted({*range(1, min(most, EACH) + 1), *powers, most})
