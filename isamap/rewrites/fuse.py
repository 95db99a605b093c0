"""Two loops become one: the inverse of `split`.

In: a verified kernel, two loops. Out: an equal kernel. Not its job: loops whose indices would need
a division (`i*n + j` everywhere, or it cannot be said).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Affine, Kernel, Loop, Statement

from .edit import fresh_names, rebuild, substitute_loops
from .perfect_nest import neighbour_pairs, perfect_nest
from .variant import Rewrite


def fuse(kernel: Kernel, outer: str, inner: str) -> Kernel:
    """Replace a perfect pair of loops by one that runs over both in the same order.

    Args:
        kernel: any verified kernel.
        outer, inner: loops of extents E and f, `inner` directly under `outer` in every statement
            of either, that all indices use as `f*outer + inner` (or with an extent of 1).

    Returns:
        A kernel with a loop `<outer>_<inner>` (or a name close to it) of extent E*f.

    Raises:
        KernelError: the loops are no perfect pair, or an index uses them in another way.

    Source: loop coalescing; derived here.
    """
    nest = perfect_nest(kernel, outer, inner)
    pair = (nest.outer, nest.inner)
    for position in nest.positions:
        for access in kernel.statements[position].accesses:
            for index in access.indices:
                if not moves_as_one(index, *pair):
                    raise KernelError(
                        f"index {index} of {access.buffer!r} does not move with "
                        f"{nest.inner.extent}*{outer} + {inner}"
                    )
    name = fresh_names(kernel, (f"{outer}_{inner}",))[0]
    statements = list(kernel.statements)
    for position in nest.positions:
        statements[position] = fuse_statement(statements[position], pair, name)
    return rebuild(kernel, statements)


def moves_as_one(index: Affine, outer: Loop, inner: Loop) -> bool:
    """Is the index affine in f*outer + inner? A loop of one iteration is always 0."""
    if outer.extent == 1 or inner.extent == 1:
        return True
    return index.coefficient(outer.name) == inner.extent * index.coefficient(inner.name)


def fuse_statement(statement: Statement, pair: tuple[Loop, Loop], name: str) -> Statement:
    """The statement with one loop in the place of the pair."""
    outer, inner = pair
    fused = Loop(name, outer.extent * inner.extent)
    loops = tuple(fused if loop == inner else loop for loop in statement.loops if loop != outer)
    zero, whole = Affine(), Affine.var(name)
    values = {outer.name: zero, inner.name: whole}  # index(f*o + i) at o = 0
    if inner.extent == 1:
        values = {outer.name: whole, inner.name: zero}
    return substitute_loops(statement, loops, values)


def fuse_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every perfect pair that all indices use as one."""
    for nest in neighbour_pairs(kernel):
        try:
            fused = fuse(kernel, nest.outer.name, nest.inner.name)
        except KernelError:
            continue
        yield f"{nest.outer.name}, {nest.inner.name}", fused


FUSE = Rewrite("fuse", "for o in E, j in f: s(f*o + j) = for i in E*f: s(i)", False, fuse_sites)
