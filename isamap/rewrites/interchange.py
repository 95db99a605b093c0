"""Two neighbouring loops change places.

In: a verified kernel, two loops. Out: an equal kernel. Not its job: finding a good order.
"""

from collections.abc import Iterator
from dataclasses import replace

from isamap.errors import KernelError
from isamap.ir import Kernel, is_integer, may_interchange

from .edit import rebuild
from .perfect_nest import PerfectNest, neighbour_pairs, perfect_nest
from .variant import Rewrite


def interchange(kernel: Kernel, outer: str, inner: str, *, may_reassociate: bool = False) -> Kernel:
    """Run `inner` outside of `outer`.

    Args:
        kernel: any verified kernel.
        outer, inner: `inner` is directly under `outer` in every statement of either.
        may_reassociate: floats may be summed in another order.

    Raises:
        KernelError: the loops are no perfect pair, or a dependence forbids it.

    Source: loop interchange by direction vectors (Allen and Kennedy, section 5.2); derived here.
    """
    nest = perfect_nest(kernel, outer, inner)
    if not may_interchange(
        tuple(kernel.statements[position] for position in nest.positions),
        outer,
        inner,
        nest.around,
        may_reassociate=may_reassociate or sums_integers(kernel, nest),
    ):
        raise KernelError(
            f"loops {outer!r} and {inner!r} carry a dependence that their order keeps"
        )
    pair = (nest.outer, nest.inner)
    depth = len(nest.around)
    statements = list(kernel.statements)
    for position in nest.positions:
        loops = statements[position].loops
        swapped = (*loops[:depth], *reversed(pair), *loops[depth + 2 :])
        statements[position] = replace(statements[position], loops=swapped)
    return rebuild(kernel, statements)


def sums_integers(kernel: Kernel, nest: PerfectNest) -> bool:
    """Are all results in the nest integers, which may be joined in any order?"""
    targets = [kernel.statements[position].target for position in nest.positions]
    return all(is_integer(kernel.buffer(target.buffer).dtype) for target in targets)


def try_interchange(kernel: Kernel, nest: PerfectNest, *, may_reassociate: bool) -> Kernel | None:
    """The kernel with the pair swapped, or None."""
    try:
        return interchange(
            kernel, nest.outer.name, nest.inner.name, may_reassociate=may_reassociate
        )
    except KernelError:
        return None


def interchange_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every perfect pair that may be swapped without touching the order of float sums."""
    for nest in neighbour_pairs(kernel):
        swapped = try_interchange(kernel, nest, may_reassociate=False)
        if swapped is not None:
            yield f"{nest.outer.name}, {nest.inner.name}", swapped


def reorder_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every perfect pair that may only be swapped when float sums may be reordered."""
    for nest in neighbour_pairs(kernel):
        if try_interchange(kernel, nest, may_reassociate=False) is not None:
            continue
        swapped = try_interchange(kernel, nest, may_reassociate=True)
        if swapped is not None:
            yield f"{nest.outer.name}, {nest.inner.name}", swapped


INTERCHANGE = Rewrite(
    "interchange", "for i, j: s(i, j) = for j, i: s(i, j)", False, interchange_sites
)
REORDER = Rewrite("reorder", "sum_i sum_j a(i, j) = sum_j sum_i a(i, j)", True, reorder_sites)
