"""A loop shared by several statements becomes two loops.

In: a verified kernel, a loop, a place to cut. Out: an equal kernel. Not its job: giving a
temporary more room (a value handed over in a scalar keeps its loop).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Kernel, Statement, is_integer, may_distribute

from .edit import all_loops, find_loop, fresh_names, rebuild, rename_loops
from .variant import Rewrite


def fission(kernel: Kernel, loop: str, position: int, *, may_reassociate: bool = False) -> Kernel:
    """Cut `loop` before the statement at `position`; loops around it stay shared.

    Args:
        kernel: any verified kernel.
        loop: a loop of the statements at `position - 1` and `position`.
        may_reassociate: floats may be summed in any order, as integers may.

    Returns:
        A kernel in which the second part has loops of its own: `<name>_2`, or close to it.

    Raises:
        KernelError: the loop is not shared there, or a dependence forbids it.

    Source: loop distribution (Allen and Kennedy, section 2.5); derived here.
    """
    under = positions_under(kernel, loop)
    if not under or not under[0] < position <= under[-1]:
        raise KernelError(f"loop {loop!r} is not shared across statement {position}")
    first = [kernel.statements[n] for n in under if n < position]
    second = [kernel.statements[n] for n in under if n >= position]
    for a in first:
        for b in second:
            if not may_cut(kernel, a, b, loop, may_reassociate=may_reassociate):
                raise KernelError(
                    f"loop {loop!r} cannot be cut before statement {position}: a later iteration "
                    "before the cut meets an earlier one after it"
                )
    depth = [own.name for own in first[0].loops].index(loop)
    inner = {own.name for a in first for own in a.loops[depth:]}
    old = [name for name in dict.fromkeys(o.name for b in second for o in b.loops) if name in inner]
    names = dict(zip(old, fresh_names(kernel, old), strict=True))
    renamed = [rename_loops(b, names) for b in second]
    before, after = kernel.statements[:position], kernel.statements[under[-1] + 1 :]
    return rebuild(kernel, (*before, *renamed, *after))


def positions_under(kernel: Kernel, loop: str) -> list[int]:
    """Statements that have the loop."""
    wanted = find_loop(kernel, loop)
    return [n for n, statement in enumerate(kernel.statements) if wanted in statement.loops]


def may_cut(
    kernel: Kernel,
    first: Statement,
    second: Statement,
    loop: str,
    *,
    may_reassociate: bool = False,
) -> bool:
    """May `first` run in all iterations of `loop` and of shared loops inside before `second`?
    Integers may be summed in any order, floats with `may_reassociate`."""
    names = {own.name for own in second.loops}
    shared = tuple(own.name for own in first.loops if own.name in names)
    depth = shared.index(loop)
    is_free = may_reassociate or is_integer(kernel.buffer(first.target.buffer).dtype)
    return may_distribute(
        first, second, shared[depth:], fixed=shared[:depth], may_reassociate=is_free
    )


def fission_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every shared loop at every place where it may be cut."""
    for loop in all_loops(kernel):
        for position in positions_under(kernel, loop.name)[1:]:
            try:
                cut = fission(kernel, loop.name, position)
            except KernelError:
                continue
            yield f"{loop.name} before {kernel.statements[position].target.buffer}", cut


FISSION = Rewrite(
    "fission", "for i: s(i); t(i) = (for i: s(i)); (for i: t(i))", False, fission_sites
)
