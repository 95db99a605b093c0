"""Ways out of the chip and in through a second memory: one instruction fills it, another empties.

In: a block as it lies, where it must go. Out: transfers with a passage. Not its job: which layouts
the target may have (`chain`), how many blocks pass at once.
"""

from dataclasses import replace
from math import ceil, lcm

from isamap.hwdesc import Hardware
from isamap.ir import size_bytes

from .covering import CopyDim, Passage, Residence, Transfer
from .roles import InstructionRole, Mover, movers
from .transfer import MoveDim, block_cycles, block_latency, find_transfer

SHARE = 1 / 32  # of a memory, for blocks that pass it
MAX_SLOTS = 64  # in which they take turns


def onward_copies(hw: Hardware, dtype: str, home: str) -> tuple[Mover, ...]:
    """Copies of this type to the memory `home` from any other one on the chip."""
    return tuple(
        mover
        for mover in movers(hw)
        if mover.role is InstructionRole.COPY
        and target_memory(mover) == home
        and source_memory(mover) not in (home, hw.external.name)
        and mover.instruction.semantics.buffer(mover.target).dtype == dtype
    )


def source_memory(mover: Mover) -> str:
    """The memory that a copy reads."""
    return mover.instruction.operand(str(mover.source)).memory


def target_memory(mover: Mover) -> str:
    """The memory that an instruction writes."""
    return mover.instruction.operand(mover.target).memory


def pass_through(
    hw: Hardware,
    ways: tuple[Mover, Mover],
    dims: tuple[MoveDim, ...],
    strides: tuple[int, ...],
    element_bytes: int,
) -> Transfer | None:
    """The transfer by the first mover, onward by the second; None when their rules allow none.

    Args:
        dims: of the block, target strides being those where it lies.
        strides: of its block dimensions where it goes, in bytes.
        element_bytes: where it lies.
    """
    first, second = ways
    narrow = size_bytes(second.instruction.semantics.buffer(second.target).dtype)
    onward = find_transfer(second, _towards(dims, strides, None), narrow)
    if onward is None:
        return None
    memory = target_memory(first)
    rules = (
        first.instruction.operand(first.target),
        second.instruction.operand(str(second.source)),
    )
    align = lcm(hw.memory(memory).granule_bytes, *(rule.align_bytes for rule in rules))
    moved: tuple[CopyDim, ...] = (
        *(d for _, group in onward.assigned for d in group),
        *onward.walked,
    )
    between = {d.block: d.source_stride_bytes for d in moved}
    span = max((d.source_stride_bytes * d.extent for d in moved), default=narrow)
    room = -(-max(span, narrow) // align) * align
    passed = tuple(between.get(number, 0) for number in range(len(strides)))
    here = tuple(dim.target_stride_bytes for dim in dims)
    found = find_transfer(first, _towards(dims, passed, here), element_bytes)
    if found is None:
        return None
    slots = count_slots(hw, (found, onward), (source_memory(first), memory), room)
    return replace(found, onward=Passage(memory, room, align, onward, slots, hw.has_tokens))


def count_slots(
    hw: Hardware, ways: tuple[Transfer, Transfer], memories: tuple[str, str], block_bytes: int
) -> int:
    """How many blocks must be on their way at a time so that nobody waits for a latency, nor a
    whole next tile for the first of `memories` to be free: as many as that one holds wait in the
    second, as far as a small part of it has room. At least two, which take turns, as two tiles do.
    """
    if hw.has_tokens:
        return 2
    into, onward = ((hw.instruction(way.instruction), way) for way in ways)
    pace = max(block_cycles(*into), block_cycles(*onward), 1.0)
    at_once = 1 + ceil((block_latency(*into) + block_cycles(*onward)) / pace)
    kept, passed = (hw.memory(memory) for memory in memories)
    a_tile = kept.size_bytes // max(block_bytes, kept.granule_bytes)
    room = int(SHARE * passed.size_bytes) // block_bytes
    return max(2, min(max(at_once, a_tile), room, MAX_SLOTS))


def passing_in(chain: tuple[Residence, ...], hw: Hardware) -> Residence | None:
    """The innermost residence of a chain from the unit outwards, whose blocks pass the next one's
    memory on their way in without staying there; None for longer chains."""
    if len(chain) == 1:
        return chain[0]
    here, there = chain[:2]
    fill, inward = here.fill, there.fill
    if len(chain) > 2 or fill is None or inward is None:
        return None
    slots = count_slots(hw, (inward, fill), (here.memory, there.memory), there.block_bytes)
    place = there.memory, there.block_bytes, there.align_bytes
    passage = Passage(*place, inward, slots, hw.has_tokens)
    return replace(here, fill=replace(fill, inward=passage))


def _towards(
    dims: tuple[MoveDim, ...], targets: tuple[int, ...], sources: tuple[int, ...] | None
) -> tuple[MoveDim, ...]:
    """The dimensions with other strides: target strides per block dimension, source strides per
    dimension (None: the mover chooses)."""
    moved = []
    for number, dim in enumerate(dims):
        assert dim.block is not None, "windows do not pass"
        source = None if sources is None else sources[number]
        moved.append(
            replace(dim, target_stride_bytes=targets[dim.block], source_stride_bytes=source)
        )
    return tuple(moved)
