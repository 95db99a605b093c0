"""Two neighbouring statements change places, so that others become neighbours (`join`).

In: a verified kernel, a place. Out: an equal kernel. Not its job: moving whole nests of statements.
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Kernel, is_integer, may_swap

from .edit import rebuild
from .variant import Rewrite


def swap(kernel: Kernel, position: int) -> Kernel:
    """Run the statement at `position` right after its successor, bit by bit the same.

    Args:
        kernel: any verified kernel.
        position: of a statement with a successor; loops that either shares with others must
            remain shared.

    Raises:
        KernelError: no successor, or a dependence or a shared loop forbids it.

    Source: statement reordering (Allen and Kennedy, section 2.3); derived here.
    """
    if not 0 <= position < len(kernel.statements) - 1:
        raise KernelError(f"statement {position} of {kernel.name!r} has no successor")
    first, second = kernel.statements[position : position + 2]
    is_exact = is_integer(kernel.buffer(first.target.buffer).dtype)
    if not may_swap(first, second, may_reassociate=is_exact):
        raise KernelError(f"statements {position} and {position + 1} depend on each other")
    before, after = kernel.statements[:position], kernel.statements[position + 2 :]
    return rebuild(kernel, (*before, second, first, *after))


def swap_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every statement that may run after its successor."""
    for position, (first, second) in enumerate(
        zip(kernel.statements, kernel.statements[1:], strict=False)
    ):
        try:
            swapped = swap(kernel, position)
        except KernelError:
            continue
        yield f"{first.target.buffer} after {second.target.buffer}", swapped


SWAP = Rewrite("swap", "s; t = t; s where neither touches what the other writes", False, swap_sites)
