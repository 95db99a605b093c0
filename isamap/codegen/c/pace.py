"""How long iterations of loops take.

In: nodes for C, the machine. Out: cycles. Not its job: which hints there are (`prefetch`), whole
programs (`costmodels`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from isamap.hwdesc import Hardware, Memory

from .nodes import CCall, CHint, CIf, CLoop, CNode, CRegion, CShare, CTurn
from .reads import length_of, reads_within, touched_bytes


def entering_cycles(loop: CLoop, hw: Hardware, cache: Memory, around: tuple[CLoop, ...]) -> float:
    """In which what an iteration reads anew enters from memory: of arrays that no cache with lines
    like those of `cache` holds, as far as the loops `around` walk over them."""
    line, last = cache.granule_bytes, hw.last_cache(cache)
    entering = 0.0
    for _, reads, inside in reads_within(loop.body, hw, line, ()):
        rounds = (*inside, loop)
        if touched_bytes(reads, (*rounds, *around), line) > last.size_bytes:
            entering += touched_bytes(reads, rounds, line) / length_of(loop)
    return entering / last.refill_bytes_per_cycle


@dataclass(frozen=True, slots=True)
class Pace:
    """Of a loop that asks the cache for what its iterations read anew: cycles of an iteration's
    calls."""

    calls_cycles: float
    cache: Memory
    last: Memory

    @classmethod
    def of(cls, loop: CLoop, hw: Hardware, cache: Memory) -> "Pace":
        return cls(calls_cycles(loop.body, hw), cache, hw.last_cache(cache))

    def outruns_hints(
        self, num_lines: float, walked_bytes: int, rows: float, row_bytes: float
    ) -> bool:
        """Where an iteration reads so many new lines of all that the loops walk over, along rows
        side by side: are they best left to the hardware?"""
        return self.cache.outruns_hints(
            self.last, self.calls_cycles, num_lines, walked_bytes, rows, row_bytes
        )


def calls_cycles(body: Sequence[CNode], hw: Hardware) -> float:
    """Cycles of one run of the nodes, as far as their calls set the pace."""
    return max(busy_cycles(body, hw).values(), default=0.0)


def busy_cycles(body: Sequence[CNode], hw: Hardware) -> dict[str, float]:
    """Cycles per unit of one run of the nodes, shared by all that there are of it; loops of unknown
    length at their longest."""
    busy: dict[str, float] = {}
    for node in body:
        match node:
            case CLoop(_, first, _, inner):
                times = node.limit - first
                for unit, cycles in busy_cycles(inner, hw).items():
                    busy[unit] = busy.get(unit, 0.0) + times * cycles
            case CCall(issue):
                instruction = hw.instruction(issue.instruction)
                extents = {name: span.limit for name, span in issue.extents}
                cycles = instruction.issue_cycles.evaluate(extents)
                share = cycles / hw.num_units(instruction.unit)
                busy[instruction.unit] = busy.get(instruction.unit, 0.0) + share
            case CIf() | CShare() | CRegion() | CHint() | CTurn():
                pass  # at edges, or around all of the work
    return busy
