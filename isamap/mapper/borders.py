"""Places around arrays that loops reach when they run past the kernel's extents.

In: a covering. Out: what is written there, and who counts on zeros there. Not its job: layouts
that have such places, where tasks hand arrays on.
"""

from collections.abc import Iterable, Set

from isamap.ir import Affine, Statement

from .blocks import is_zero_past, leaves
from .covering import Covering, TiledLoop


def fills_border(covering: Covering, buffer: str) -> bool:
    """May places around the elements of `buffer`, which is written, hold something else than zeros
    afterwards?"""
    statement = _statement(covering)
    past = [name for name in _past(covering) if statement.target.moves_with(name)]
    begun = {name for plan in covering.operands for out, name, _ in plan.ends if not out}
    read = {access.buffer for access in statement.reads}
    is_sum_of_zeros = (
        statement.target.buffer == buffer
        and statement.update == "+="
        and begun <= read | {buffer}
        and all(is_zero_past(name, covering.kernel, covering.statement) for name in past)
    )
    return bool(past) and not is_sum_of_zeros


def needs_zeros(covering: Covering, buffers: Set[str]) -> bool:
    """Is the result right only if places around the elements of `buffers` read zero?"""
    statement, kernel = _statement(covering), covering.kernel
    if any(access.buffer in buffers and access.pad is not None for access in statement.reads):
        return True
    past = [
        name for name in _past(covering) if not leaves(statement.target, name, kernel, statement)
    ]
    return not all(is_zero_past(name, kernel, covering.statement, but=buffers) for name in past)


def positions_past(covering: Covering, buffer: str) -> tuple[int, ...]:
    """Positions of each dimension of a buffer that the statement reaches in all where it runs past
    the dimension's end, else 0."""
    rows = [
        [reach_past(covering.loops, index) for index in read.indices]
        for read in (_statement(covering).target, *_statement(covering).reads)
        if read.buffer == buffer
    ]
    return tuple(max(column) for column in zip(*rows, strict=True))


def reach_past(loops: Iterable[TiledLoop], index: Affine) -> int:
    """Positions that loops of an index reach which run past their end; 0 if none does."""
    past = (x.extent for x in loops if x.name in index.names and x.extent > x.kernel_extent)
    return max(past, default=0)


def _statement(covering: Covering) -> Statement:
    return covering.kernel.statements[covering.statement]


def _past(covering: Covering) -> list[str]:
    own = {loop.name for loop in _statement(covering).loops}
    return [x.name for x in covering.loops if x.extent > x.kernel_extent and x.name in own]
