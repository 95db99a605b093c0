"""Sums leave out what is zero for sure: products of the zeros around a buffer.

In: a verified kernel, a sum. Out: an equal kernel whose loops run over what may count. Not its
job: iterations of which some read padding and some do not.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import Access, Affine, Apply, Expr, Kernel, Loop, Statement, is_cast, map_accesses

from .attempt import statement_sites
from .copies import drop_pad
from .edit import replace_statement, shared_depth, substitute_loops
from .variant import Rewrite

Range = tuple[int, int]  # first and last value


def drop_padding(kernel: Kernel, position: int) -> Kernel:
    """Leave out first and last iterations of a sum's loops in which all products are zero.

    `for p in 7: y[p] += x.at(2*p - 3, pad=0) * w` becomes `for p in 3: y[p + 2] += x[2*p + 1] * w`
    where x has 7 elements.

    Args:
        kernel: any verified kernel.
        position: of a sum; loops that it shares with neighbours stay as they are.

    Raises:
        KernelError: nothing is zero for sure, or all is.

    Source: index-set splitting (Wolfe, High Performance Compilers, section 9.2) of which one part
    adds zeros; derived here.
    """
    statement = kernel.statements[position]
    shared = statement.loops[: shared_depth(kernel, position)]
    whole = {loop.name: (0, loop.extent - 1) for loop in statement.loops}
    kept = whole
    for read in zero_factors(statement.value) if statement.update == "+=" else ():
        kept = _live(kernel, read, kept, frozenset(loop.name for loop in shared))
    if kept == whole or any(first > last for first, last in kept.values()):
        raise KernelError(f"no iteration of statement {position} adds zeros alone, or all do")
    loops = tuple(Loop(name, last - first + 1) for name, (first, last) in kept.items())
    moved = {name: Affine.var(name) + first for name, (first, _) in kept.items() if first}
    return replace_statement(kernel, position, (_inside(kernel, statement, loops, moved),))


def zero_factors(value: Expr) -> tuple[Access, ...]:
    """Reads that make the value zero where they leave their buffer."""
    match value:
        case Access(pad=0):
            return (value,)
        case Apply(op, args) if op in ("*", "neg") or is_cast(op):
            return tuple(read for arg in args for read in zero_factors(arg))
        case _:
            return ()


def _live(
    kernel: Kernel, read: Access, ranges: Mapping[str, Range], fixed: frozenset[str]
) -> dict[str, Range]:
    """Ranges without the ends at which the read is outside of its buffer whatever the other loops
    do; what one loop loses may cost another one iterations. A range that becomes empty stays so."""
    found = dict(ranges)
    shape = kernel.buffer(read.buffer).shape
    before: dict[str, Range] = {}
    while found != before:
        before = dict(found)
        for index, size in zip(read.indices, shape, strict=True):
            for name in (name for name in index.names if name not in fixed):
                first, last = found[name]
                while first <= last and _is_outside(index, size, found, name, first):
                    first += 1
                while first <= last and _is_outside(index, size, found, name, last):
                    last -= 1
                found[name] = first, last
                if first > last:
                    return found
    return found


def _is_outside(
    index: Affine, size: int, ranges: Mapping[str, Range], name: str, value: int
) -> bool:
    """Is the index outside of 0 .. size - 1 wherever `name` has this value?"""
    low, high = index.interval({**ranges, name: (value, value)})
    return high < 0 or low >= size


def _inside(
    kernel: Kernel, statement: Statement, loops: tuple[Loop, ...], moved: Mapping[str, Affine]
) -> Statement:
    """The statement under smaller loops; reads that never leave their buffers lose their `pad`."""
    smaller = substitute_loops(statement, loops, moved)

    def drop(access: Access) -> Access:
        return drop_pad(access, loops, kernel.buffer(access.buffer).shape)

    return replace(smaller, value=map_accesses(smaller.value, drop))


DROP_PADDING = Rewrite(
    "drop_padding",
    "sum_{p<N} x(p)*w(p) = sum_{a<=p<b} x(p)*w(p), x = 0 elsewhere",
    True,  # zero times infinity
    partial(statement_sites, drop_padding),
)
