"""Sums into one array that share loops get loops of their own.

In: a verified kernel. Out: an equal kernel but for rounding. Not its job: cuts that keep the order
of every sum, and sums of integers, which need no permission (`fission`, `mapper.cut_tasks`).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Kernel

from .attempt import attempt
from .fission import fission
from .variant import Rewrite


def part_sums(kernel: Kernel) -> Kernel:
    """Write `for k: y += a(k); y += b(k)` as `for k: y += a(k)` and `for k: y += b(k)`.

    Loops are cut wherever nothing but the order of sums of floats ties statements together, as in
    the products of complex numbers in pairs; outermost first, so that time steps stay shared.

    Returns:
        A kernel equal on all inputs but for rounding: floats are summed in another order.

    Raises:
        KernelError: no such sums share loops.

    Source: associativity; loop distribution (Allen and Kennedy, section 2.5).
    """
    found = kernel
    for position in range(1, len(kernel.statements)):
        found = _cut_before(found, position) or found
    if found == kernel:
        raise KernelError(f"no sums of floats in {kernel.name!r} are tied by their order alone")
    return found


def _cut_before(kernel: Kernel, position: int) -> Kernel | None:
    """Cut the outermost loop that only the order of sums keeps from being cut before a statement;
    None where there is none."""
    before, statement = kernel.statements[position - 1 : position + 1]
    for loop in statement.loops:
        if loop not in before.loops or attempt(fission, kernel, loop.name, position):
            return None
        cut = attempt(fission, kernel, loop.name, position, may_reassociate=True)
        if cut is not None:
            return cut
    return None


def part_sums_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """All such sums at once."""
    parted = attempt(part_sums, kernel)
    if parted is not None:
        yield "all sums", parted


PART_SUMS = Rewrite(
    "part_sums",
    "for k: y += a(k); y += b(k)  =  (for k: y += a(k)); (for k: y += b(k))",
    True,
    part_sums_sites,
)
