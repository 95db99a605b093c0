"""An operand is read from a copy with permuted dimensions.

In: a verified kernel, a statement, an access, an order. Out: an equal kernel, bit by bit. Not its
job: transposing results; layouts, which a mapping chooses without any copy where it can.
"""

from collections.abc import Iterator
from itertools import combinations

from isamap.errors import KernelError
from isamap.ir import Access, Affine, Kernel

from .copies import read_copy, readable, whole_dimensions
from .variant import Rewrite


def transpose(kernel: Kernel, position: int, access: Access, order: tuple[int, ...]) -> Kernel:
    """Copy the buffer of `access` with its dimensions in `order`, and read the copy.

    `C[i, j] += A[k, i] * B[k, j]` becomes `A_copy[i, k] = A[k, i]` and
    `C[i, j] += A_copy[i, k] * B[k, j]` for the order (1, 0).

    Args:
        kernel: any verified kernel.
        position: a statement that shares no loops with neighbours.
        access: one of its reads, of a buffer that it does not write.
        order: a permutation of the buffer's dimensions, the copy's first one first.

    Raises:
        KernelError: no such statement or access, or `order` is no permutation.
    """
    if sorted(order) != list(range(len(access.indices))):
        raise KernelError(f"{order} is no order of the {len(access.indices)} dimension(s)")
    whole = whole_dimensions(kernel, access)
    source = Access(access.buffer, tuple(Affine.var(d.loop.name) for d in whole), access.pad)
    return read_copy(kernel, position, access, source, tuple(whole[dim] for dim in order))


def transpose_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every access by every exchange of two dimensions of more than one element."""
    for position, access in readable(kernel):
        shape = kernel.buffer(access.buffer).shape
        wide = [dim for dim, size in enumerate(shape) if size > 1]
        for one, two in combinations(wide, 2):
            order = list(range(len(shape)))
            order[one], order[two] = two, one
            site = f"{access.buffer}: dimensions {one} and {two}"
            yield site, transpose(kernel, position, access, tuple(order))


TRANSPOSE = Rewrite(
    "transpose", "s(A[i, j]) = B[j, i] = A[i, j]; s(B[j, i])", False, transpose_sites
)
