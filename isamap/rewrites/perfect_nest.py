"""Pairs of loops with nothing between them.

In: a kernel, two loops. Out: where they stand. Not its job: what may be done with them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from isamap.errors import KernelError
from isamap.ir import Kernel, Loop

from .edit import find_loop


@dataclass(frozen=True, slots=True)
class PerfectNest:
    """`inner` is directly under `outer` in the statements at `positions`, the only ones of both.

    `around`: names of the loops outside.
    """

    outer: Loop
    inner: Loop
    positions: tuple[int, ...]
    around: tuple[str, ...]


def perfect_nest(kernel: Kernel, outer: str, inner: str) -> PerfectNest:
    """The pair `outer`, `inner`; KernelError when some statement has one but not both, in order."""
    pair = (find_loop(kernel, outer), find_loop(kernel, inner))
    positions = tuple(
        n for n, statement in enumerate(kernel.statements) if set(pair) & set(statement.loops)
    )
    depth = kernel.statements[positions[0]].loops.index(pair[0]) if positions else 0
    for position in positions:
        if kernel.statements[position].loops[depth : depth + 2] != pair:
            raise KernelError(f"loop {inner!r} is not alone directly under loop {outer!r}")
    around = kernel.statements[positions[0]].loops[:depth]
    return PerfectNest(*pair, positions, tuple(loop.name for loop in around))


def neighbour_pairs(kernel: Kernel) -> Iterator[PerfectNest]:
    """Every perfect pair of a kernel, outermost first, statement by statement."""
    pairs = dict.fromkeys(
        pair
        for statement in kernel.statements
        for pair in zip(statement.loops, statement.loops[1:], strict=False)
    )
    for outer, inner in pairs:
        try:
            yield perfect_nest(kernel, outer.name, inner.name)
        except KernelError:
            continue
