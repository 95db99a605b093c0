"""Tilings near a tiling.

In: a covering, a tiling. Out: what differs from it a little. Not its job: which of them are legal
or good.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isamap.costmodels import Tiling, operand_plan
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .options import tile_options

STEPS = (1, 2, 4, 8)  # places in the list of tile sizes


def sizes_by_loop(covering: Covering, hw: Hardware) -> dict[str, list[int]]:
    """Tile sizes of every loop, ascending."""
    return {
        loop.name: sorted(tile for tile, _ in tile_options(covering, loop, hw))
        for loop in covering.loops
    }


def form(covering: Covering, tiling: Tiling) -> tuple[object, ...]:
    """Equal for tilings with the same program: loops of one iteration stand anywhere."""
    units = {loop.name: loop.units for loop in covering.loops}
    outer = tuple(name for name in tiling.outer if tiling.tile(name) < units[name])
    inner = tuple(name for name in tiling.inner if tiling.tile(name) > 1)
    return tiling.tiles, outer, inner, tiling.stays


def with_tile(tiling: Tiling, loop: str, tile: int) -> Tiling:
    """One loop's tile another."""
    return replace(tiling, tiles=tuple((n, tile if n == loop else t) for n, t in tiling.tiles))


def resized(tiling: Tiling, loop: str, sizes: Sequence[int]) -> Iterator[Tiling]:
    """The loop's tile smaller or larger by a few places in `sizes`."""
    tile = tiling.tile(loop)
    place = next((n for n, size in enumerate(sizes) if size >= tile), 0)
    near = {place + sign * step for step in STEPS for sign in (-1, 1)}
    for other in sorted(n for n in near if 0 <= n < len(sizes) and sizes[n] != tile):
        yield with_tile(tiling, loop, sizes[other])


def neighbours(covering: Covering, tiling: Tiling, sizes: dict[str, list[int]]) -> Iterator[Tiling]:
    """One tile smaller or larger, two loops in the other order, or a packed stay that keeps tiles
    of one loop more or less."""
    for name, _ in tiling.tiles:
        yield from resized(tiling, name, sizes[name])
    free = [n for n in tiling.outer if n not in covering.held]
    for order in swapped(tuple(free)):
        yield replace(tiling, outer=(*covering.held, *order))
    for order in swapped(tiling.inner):
        yield replace(tiling, inner=order)
    for number, stay in enumerate(tiling.stays):
        plan = operand_plan(covering, stay.operand)
        if plan.residences[stay.residence].is_packed:
            for kept in _kept(tiling.outer, plan.loops, stay.kept):
                changed = replace(stay, kept=kept)
                stays = (*tiling.stays[:number], changed, *tiling.stays[number + 1 :])
                yield replace(tiling, stays=stays)


def swapped(order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Two neighbours in the other order."""
    for n in range(len(order) - 1):
        yield (*order[:n], order[n + 1], order[n], *order[n + 2 :])


def _kept(
    outer: tuple[str, ...], moving: tuple[str, ...], kept: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """One loop more, from the innermost outwards, or one less."""
    loops = [name for name in outer if name in moving]
    for count in (len(kept) - 1, len(kept) + 1):
        if 0 <= count <= len(loops):
            yield tuple(loops[len(loops) - count :])
