"""How long a port may be held after the end of its last call: it is busy, and bounds nothing then.

In: a machine. Out: cycles per port. Not its job: how busy ports are (`traffic`, `ports`).

What a call reserves of a port does not lengthen the call (docs/timing.md, section 5), so that a
program may end while ports are held.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import prod

from isamap.hwdesc import Hardware, Instruction

from .corners import corners
from .traffic import Port, count_ports

KNOWN = 1 << 6  # machines


def port_floor(hw: Hardware, port: Port, cycles: float) -> float:
    """Least cycles of a program that keeps a port busy so long."""
    return max(0.0, cycles - outlasting_cycles(hw).get(port, 0.0))


@lru_cache(KNOWN)
def outlasting_cycles(hw: Hardware) -> Mapping[Port, float]:
    """Of the call that holds a port longest after its own end; none where none does."""
    found: dict[Port, float] = {}
    for instruction in hw.instructions:
        for values, rounds in _extremes(instruction):
            latency = instruction.latency_cycles.evaluate(values)
            end = max(latency, instruction.issue_cycles.evaluate(values))
            for port, busy in count_ports(instruction, [(rounds, values)], hw):
                found[port] = max(found.get(port, 0.0), busy - end)
    return {port: cycles for port, cycles in found.items() if cycles > 0}


def _extremes(instruction: Instruction) -> Iterator[tuple[Mapping[str, int], int]]:
    """Calls each of whose extents is the smallest or the largest one, of one round and of the most;
    and how many rounds these are."""
    for extents in corners(instruction):
        for repeats in (
            {rule.name: 1 for rule in instruction.repeats},
            {rule.name: rule.maximum for rule in instruction.repeats},
        ):
            yield extents | repeats, prod(repeats.values())
