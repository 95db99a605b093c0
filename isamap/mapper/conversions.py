"""Which types copies convert on the way to a memory.

In: a machine. Out: memories with the types that come and the types that lie there. Not its job:
routes (`chain`), whether the kernel asks for the conversion (`match`).
"""

from isamap.hwdesc import Hardware
from isamap.shortest_paths import shortest_paths

from .roles import InstructionRole, Mover, movers

CONVERTING = (InstructionRole.NARROW, InstructionRole.CONVERT)

Conversion = tuple[str, str, str]  # memory, type that is brought, type that lies there
Place = tuple[str, str]  # memory, type


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
