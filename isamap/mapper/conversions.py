"""Which types copies convert on the way to a memory.

In: a machine. Out: memories with the types that come and the types that lie there. Not its job:
routes (`chain`), whether the kernel asks for the conversion (`match`).
"""

from collections.abc import Mapping
from functools import lru_cache

from isamap.hwdesc import Hardware
from isamap.shortest_paths import shortest_paths

from .roles import KNOWN, InstructionRole, Mover, movers

CONVERTING = (InstructionRole.NARROW, InstructionRole.CONVERT)

Conversion = tuple[str, str, str]  # memory, type that is brought, type that lies there
Place = tuple[str, str]  # memory, type


@lru_cache(KNOWN)
def conversions(hw: Hardware) -> frozenset[Conversion]:
    """What can lie in a memory on chip after one conversion on the way, and copies."""
    inward = [mover for mover in movers(hw) if ends(mover)[1][0] != hw.external.name]
    copies = [ends(mover) for mover in inward if mover.role is InstructionRole.COPY]
    return frozenset(
        (memory, brought, dtype)
        for (source, brought), target in map(ends, filter(is_converting, inward))
        if source != target[0]
        for memory, dtype in shortest_paths(copies, target)
    )


@lru_cache(KNOWN)
def departures(hw: Hardware) -> frozenset[Place]:
    """Where copies begin that may take home what was computed: as it is, or its low bits."""
    roles = InstructionRole.COPY, InstructionRole.NARROW
    return frozenset(ends(mover)[0] for mover in movers(hw) if mover.role in roles)


@lru_cache(KNOWN)
def arrivals(
    hw: Hardware, types: tuple[str, str], outside: str
) -> Mapping[Place, tuple[Mover, ...]]:
    """Copies by where they end, from places that a buffer of the first type reaches which lies in
    the memory `outside`: as it is or, converted once, in the second type."""
    inward = (mover for mover in movers(hw) if ends(mover)[1][0] != hw.external.name)
    copies = [mover for mover in inward if brings(mover, types)]
    reached = shortest_paths([ends(mover) for mover in copies], (outside, types[0]))
    found: dict[Place, tuple[Mover, ...]] = {}
    for mover in copies:
        source, target = ends(mover)
        if source in reached:
            found[target] = (*found.get(target, ()), mover)
    return found


def is_converting(mover: Mover) -> bool:
    """Does it copy into another type?"""
    return mover.role in CONVERTING


def brings(mover: Mover, types: tuple[str, str]) -> bool:
    """Does it copy one of these types, or convert the first into the second?"""
    (_, source), (_, target) = ends(mover)
    if mover.role is InstructionRole.COPY:
        return target in types
    return is_converting(mover) and (source, target) == types


def ends(mover: Mover) -> tuple[Place, Place]:
    """Where the instruction moves data from, and where to; the same place if it reads nothing."""
    return _place(mover, mover.source or mover.target), _place(mover, mover.target)


def _place(mover: Mover, operand: str) -> Place:
    buffer = mover.instruction.semantics.buffer(operand)
    return mover.instruction.operand(operand).memory, buffer.dtype
