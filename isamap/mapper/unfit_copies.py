"""Which copies write where an operand's blocks are read, and fit them not.

In: the chains of an operand that found none. Out: words for a person. Not its job: the search.
"""

from isamap.ir import size_bytes

from .chain import Chains
from .conversions import ends
from .covering import Residence
from .roles import Mover
from .transfer import find_transfer


def unfit_copies(chains: Chains, here: Residence) -> str:
    """`; load writes there, but its loops do not fit blocks of 16 of i (64 B apart)`; empty
    where every copy into that memory fits the blocks as they lie, or there is none."""
    names = [m.instruction.name for m in chains.movers_to(here) if not _fits(chains, here, m)]
    if not names:
        return ""
    write, whose = ("write", "their") if len(names) > 1 else ("writes", "its")
    blocks = zip(chains.blocks, here.block_strides_bytes, strict=True)
    parts = [f"{b.extent} of {b.instruction_loop} ({step} B apart)" for b, step in blocks]
    shape = f"blocks of {' x '.join(parts)}" if parts else "single elements"
    return f"; {', '.join(names)} {write} there, but {whose} loops and strides do not fit {shape}"


def _fits(chains: Chains, here: Residence, mover: Mover) -> bool:
    """May the copy fill a block where it is read, wherever it comes from?"""
    if not chains.reaches(here, mover, mover.target):
        return False
    _, dtype = ends(mover)[0]
    return find_transfer(mover, chains.dims(here, None), size_bytes(dtype)) is not None
