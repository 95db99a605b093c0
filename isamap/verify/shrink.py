"""Cut a scheduled kernel down to sizes that execute in an instant and keep every edge.

In: a kernel, or a covering and its tiling, and how much may remain. Out: the small ones. Not its
job: finding the covering of the small kernel, running it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isamap.costmodels import Tiling, trips
from isamap.ir import Buffer, Kernel, Loop, Statement, index_range
from isamap.mapper import Covering


@dataclass(frozen=True, slots=True)
class Limits:
    """What remains of each loop: at most so many units per tile and so many tiles."""

    units: int
    tiles: int


def shrink(kernel: Kernel, extents: Mapping[str, int], period: int = 1) -> Kernel:
    """The kernel with smaller loops; buffers lose what the loops no longer reach.

    Padded accesses keep their borders: they reach as far outside the smaller buffer as before.

    Args:
        extents: new extent by loop name, at most the old one; other loops stay.
        period: buffers without borders lose multiples of so many elements in each dimension: rows
            then begin as far beyond a multiple of it as before.
    """
    statements = tuple(
        replace(statement, loops=tuple(_shrunk(loop, extents) for loop in statement.loops))
        for statement in kernel.statements
    )
    before = kernel.statements
    buffers = tuple(_fit(buffer, before, statements, period) for buffer in kernel.buffers)
    return replace(kernel, buffers=buffers, statements=statements)


def _shrunk(loop: Loop, extents: Mapping[str, int]) -> Loop:
    extent = extents.get(loop.name, loop.extent)
    assert extent <= loop.extent, f"loop {loop.name} grows from {loop.extent} to {extent}"
    return Loop(loop.name, extent)


def _fit(
    buffer: Buffer, old: tuple[Statement, ...], new: tuple[Statement, ...], period: int
) -> Buffer:
    """Each dimension shrinks by what the farthest access lost; an unused buffer stays."""
    before, after = _reach(buffer, old), _reach(buffer, new)
    own = [a for statement in old for a in statement.accesses if a.buffer == buffer.name]
    step = 1 if any(access.pad is not None for access in own) else period
    shape = tuple(
        size - (far - near) // step * step
        for size, far, near in zip(buffer.shape, before, after, strict=True)
    )
    return replace(buffer, shape=shape)


def _reach(buffer: Buffer, statements: tuple[Statement, ...]) -> tuple[int, ...]:
    """The largest index along each dimension."""
    highest = [0] * len(buffer.shape)
    for statement in statements:
        extents = statement.extents
        for access in statement.accesses:
            if access.buffer == buffer.name:
                for dim, index in enumerate(access.indices):
                    highest[dim] = max(highest[dim], index_range(index, extents)[1])
    return tuple(highest)


def shrink_tiling(
    covering: Covering, tiling: Tiling, limits: Limits
) -> tuple[dict[str, int], Tiling]:
    """Loop extents and a tiling with the same structure.

    Kept: whether there are several tiles, whether a tile has several units, whether the last tile
    and the last unit are partial (the last unit keeps its extent), both orders, every stay, how
    many units the last cores lack.
    """
    extents: dict[str, int] = {}
    tiles: list[tuple[str, int]] = []
    for name, tile in tiling.tiles:
        loop = covering.loop(name)
        new_tile = min(tile, limits.units)
        num_tiles = min(trips(covering, tiling, name), limits.tiles)
        has_partial_tile = loop.units % tile != 0 and num_tiles > 1
        units = (num_tiles - 1) * new_tile + (1 if has_partial_tile else new_tile)
        idle = loop.units * loop.cores - loop.total_units  # the last cores' shares lack these
        missing = loop.total_units * loop.block - loop.kernel_extent
        extents[name] = (units * loop.cores - idle) * loop.block - missing
        tiles.append((name, new_tile))
    in_kernel = {loop.name for loop in covering.kernel.statements[covering.statement].loops}
    return {n: e for n, e in extents.items() if n in in_kernel}, replace(tiling, tiles=tuple(tiles))
