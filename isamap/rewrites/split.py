"""One loop becomes two.

In: a verified kernel, a loop, a factor. Out: an equal kernel. Not its job: choosing the factor,
extents that the factor does not divide (`pad_loops` first).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Affine, Kernel, Loop, Statement

from .edit import all_loops, find_loop, fresh_names, rebuild, substitute_loops
from .variant import Rewrite


def split(kernel: Kernel, loop: str, factor: int) -> Kernel:
    """Replace `loop` by an outer and an inner loop of extent `factor`, in the same order.

    Args:
        kernel: any verified kernel.
        loop: name of a loop of `kernel`, extent E.
        factor: inner extent f, 1 <= f <= E, f divides E.

    Returns:
        A kernel with loops `<loop>_o` (extent E/f) and `<loop>_i` (extent f), or names close to
        these where they are taken.

    Raises:
        KernelError: no such loop, or f does not divide E.

    Source: strip-mining; derived here.
    """
    extent = find_loop(kernel, loop).extent
    if not 1 <= factor <= extent or extent % factor:
        raise KernelError(f"{factor} does not divide the extent {extent} of loop {loop!r}")
    outer_name, inner_name = fresh_names(kernel, (f"{loop}_o", f"{loop}_i"))
    pair = (Loop(outer_name, extent // factor), Loop(inner_name, factor))
    value = Affine.of([(outer_name, factor), (inner_name, 1)])
    return rebuild(kernel, [split_statement(s, loop, pair, value) for s in kernel.statements])


def split_statement(
    statement: Statement, loop: str, pair: tuple[Loop, Loop], value: Affine
) -> Statement:
    """The statement with `pair` in the place of `loop`, if it has that loop."""
    if all(own.name != loop for own in statement.loops):
        return statement
    loops = [new for own in statement.loops for new in (pair if own.name == loop else (own,))]
    return substitute_loops(statement, tuple(loops), {loop: value})


def split_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every loop by every proper divisor of its extent."""
    for loop in all_loops(kernel):
        for factor in range(2, loop.extent // 2 + 1):
            if loop.extent % factor == 0:
                site = f"{loop.name} = {factor}*outer + inner"
                yield site, split(kernel, loop.name, factor)


SPLIT = Rewrite("split", "for i in E: s(i) = for o in E/f, j in f: s(f*o + j)", False, split_sites)
