"""Extents at which what an instruction takes is looked for at its least, or at its most.

In: an instruction. Out: extents of its loops. Not its job: expressions that turn in between.
"""

from collections.abc import Iterator
from itertools import product

from isamap.hwdesc import ExtentRule, Instruction


def corners(instruction: Instruction) -> Iterator[dict[str, int]]:
    """Each loop as short or as long as it may be, in all combinations."""
    loops = [loop for loop, _ in instruction.extents]
    for extents in product(*(_ends(rule) for _, rule in instruction.extents)):
        yield dict(zip(loops, extents, strict=True))


def _ends(rule: ExtentRule) -> list[int]:
    least = next(extent for extent in range(1, rule.maximum + 1) if rule.allows(extent))
    return sorted({least, rule.maximum})
