"""What the functional mode remembers of every byte: how it was written last.

In: an instruction. Out: the mark its results bear, the least mark of what it may read. Not its
job: keeping the marks (both executions of `run`), time.
"""

from enum import IntEnum

from isamap.hwdesc import Instruction


class Mark(IntEnum):
    """A byte's mark; each has the bits of those before it, so that a conjunction of many bytes'
    marks is the least of them."""

    UNWRITTEN = 0
    COPIED = 1
    COMPUTED = 3


def mark_of(instruction: Instruction) -> Mark:
    """The mark of what the instruction writes."""
    return Mark.COPIED if instruction.is_copy else Mark.COMPUTED


def least_mark(instruction: Instruction) -> Mark:
    """What every byte that it reads must bear at least."""
    return Mark.COMPUTED if instruction.only_computed else Mark.COPIED
