"""Reads with padding in loops of C: what is tested, and where.

In: a kernel, a read or statement of it. Out: indices that may be outside of their buffer, tests as
C text. Not its job: the loops.
"""

from collections.abc import Callable

from isamap.cexpr import is_within
from isamap.ir import Access, Affine, Kernel, Statement, index_range


def leaving(kernel: Kernel, read: Access) -> list[tuple[Affine, int]]:
    """The indices of a read with padding that may be outside, and their dimensions' sizes."""
    if read.pad is None:
        return []
    pairs = zip(read.indices, kernel.buffer(read.buffer).shape, strict=True)
    ranges = [(index, size, index_range(index, kernel.extents)) for index, size in pairs]
    return [(index, size) for index, size, (low, high) in ranges if low < 0 or high >= size]


def is_inside(kernel: Kernel, read: Access, text: Callable[[Affine], str]) -> str:
    """C text: is the read inside of its buffer? "1" where that is certain."""
    return " && ".join(is_within(text(index), size) for index, size in leaving(kernel, read)) or "1"


def decided_before(kernel: Kernel, statement: Statement, loop: str) -> tuple[Access, ...]:
    """Reads that are inside of their buffers for all of `loop` or for none of it; a test within it
    would cost compilers their vectors."""
    found = []
    for read in dict.fromkeys(statement.reads):
        tested = leaving(kernel, read)
        if tested and all(loop not in index.names for index, _ in tested):
            found.append(read)
    return tuple(found)
