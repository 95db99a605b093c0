"""A sum's loop becomes two, and goes on over zeros where the factor does not divide it.

In: a verified kernel, a loop of a sum, a factor. Out: an equal kernel (but for the sign of float
zeros). Not its job: choosing the factor; copies filled up with zeros (`pad_loops`).

A dot product of four bytes within a product over 16 of them sums over 4 * k + q, where a kernel
has one loop. Cut by 4, that loop is two, and each of them has its place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import Access, Kernel, Statement, map_accesses

from .edit import find_alone, find_loop, replace_statement
from .pad_loops import check_added, grow_loop
from .split import split
from .variant import Rewrite

FACTORS = (2, 4, 8, 16)  # what sites try unless told: elements that small dot products take


def spread(kernel: Kernel, loop: str, factor: int) -> Kernel:
    """Replace `loop` of a sum by ceil(E / factor) times `factor` iterations.

    What moves with the loop is read as zero beyond its buffer.

    Args:
        kernel: any verified kernel.
        loop: name of a loop of one statement, which its target does not move with, extent E.
        factor: at least 1, at most E.

    Raises:
        KernelError: no such loop; the target moves with it; the added products are not all 0.

    Source: strip-mining and zero padding; derived here.
    """
    extent = find_loop(kernel, loop).extent
    grown = -(-extent // factor) * factor
    if grown == extent:
        return split(kernel, loop, factor)
    position = next(
        n for n, s in enumerate(kernel.statements) if any(own.name == loop for own in s.loops)
    )
    statement = find_alone(kernel, position)
    if statement.target.moves_with(loop):
        raise KernelError(f"{statement.target.buffer!r} would grow with {loop!r}")
    check_added(kernel, statement, loop, grown)
    value = map_accesses(statement.value, partial(_read_zeros, loop=loop))
    padded = replace(grow_loop(statement, loop, grown), value=value)
    return split(replace_statement(kernel, position, (padded,)), loop, factor)


def _read_zeros(access: Access, loop: str) -> Access:
    """The access, with zeros outside of a buffer that it moves through by `loop`."""
    return replace(access, pad=0) if access.pad is None and access.moves_with(loop) else access


def _cuts(statement: Statement, factors: Sequence[int]) -> Iterator[tuple[str, int]]:
    """Loops of sums that are longer than a factor, and alone in every index that they move."""
    uses = statement.accesses
    for loop in statement.loops:
        indices = [i for access in uses for i in access.indices if i.coefficient(loop.name)]
        is_alone = all(len(index.terms) == 1 for index in indices)
        if is_alone and not statement.target.moves_with(loop.name):
            yield from ((loop.name, factor) for factor in factors if loop.extent > factor)


def _sites(factors: Sequence[int], kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    for statement in kernel.statements:
        for name, factor in _cuts(statement, factors):
            try:
                cut = spread(kernel, name, factor)
            except KernelError:
                continue
            yield f"{name} = {factor}*outer + inner", cut


def spread_by(factors: Sequence[int]) -> Rewrite:
    """The row that tries these factors."""
    law = "sum_{i<E} a(i)*b(i) = sum_{o<E/f, j<f} a'(f*o + j)*b'(f*o + j), a' = 0 beyond E"
    return Rewrite("spread", law, False, partial(_sites, tuple(factors)))


SPREAD = spread_by(FACTORS)
