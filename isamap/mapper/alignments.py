"""Which alignments a place may be given, so that copies which ask for more can reach it.

In: a memory, what its reader asks for. Out: alignments worth a try. Not its job: copies themselves.
"""

from collections.abc import Iterator
from math import lcm

from isamap.hwdesc import Hardware

from .roles import movers


def alignments(hw: Hardware, memory: str, own: int) -> tuple[int, ...]:
    """`own`, and wider ones where an instruction that copies to or from the memory, or clears it,
    asks for more: what lies as close as its reader allows is out of that one's reach."""
    wider = {lcm(own, asked) for asked in _asked(hw, memory)}
    return (own, *sorted(wider - {own}))


def _asked(hw: Hardware, memory: str) -> Iterator[int]:
    for mover in movers(hw):
        for rule in mover.instruction.operands:
            if rule.memory == memory:
                yield rule.align_bytes
