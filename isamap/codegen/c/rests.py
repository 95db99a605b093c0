"""What a nest of loops leaves in a cache for the one behind it.

In: nodes for C, the machine. Out: whether a walk reads what is there. Not its job: hints
(`prefetch`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isamap.hwdesc import Hardware, Memory

from .nodes import CLoop, CNode
from .reads import Place, Read, Terms, length_of, reads_within, touched_bytes

Span = tuple[int, int]  # first and last byte


@dataclass(frozen=True, slots=True)
class Rests:
    """Bytes without gaps, by how the `num_around` loops around all of them move them."""

    num_around: int
    spans: Mapping[Place, Span] = field(default_factory=dict)

    def hold(self, reads: Sequence[Read], memory: str, loops: tuple[CLoop, ...]) -> bool:
        """Is there all that reads touch in these loops, the innermost first?"""
        place, (first, last) = _span(reads, memory, loops[: len(loops) - self.num_around])
        low, high = self.spans.get(place, (0, -1))
        return low <= first and last <= high


NOTHING = Rests(0)


def rests_of(node: CNode, hw: Hardware, cache: Memory, around: tuple[CLoop, ...]) -> Rests | None:
    """What a nest has read, if the cache holds all of it; else it leaves nothing, nor what was
    there before. None of what is no nest."""
    if not isinstance(node, CLoop):
        return None
    line, spans, total = cache.granule_bytes, {}, 0
    for (memory, _), reads, inside in reads_within((node,), hw, line, ()):
        touched = touched_bytes(reads, inside, line)
        total += touched
        place, (first, last) = _span(reads, memory, inside)
        if last - first < touched:
            spans[place] = first, last
    return Rests(len(around), spans if total <= cache.size_bytes else {})


def _span(reads: Sequence[Read], memory: str, inside: tuple[CLoop, ...]) -> tuple[Place, Span]:
    """From the first byte to the last one while loops run, where those around them are at 0."""
    offset = reads[0].operand.address.offset
    first, last = reads[0].first, max(read.last for read in reads)
    for loop in inside:
        step = offset.coefficient(loop.name)
        ends = step * loop.first, step * (loop.first + length_of(loop) - 1)
        first, last = first + min(ends), last + max(ends)
    names = {loop.name for loop in inside}
    terms: Terms = tuple((name, c) for name, c in offset.terms if name not in names)
    return (memory, terms), (first, last)
