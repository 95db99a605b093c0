"""Tilings that were best for the same call on other sizes, as a start.

In: a covering, what is known of coverings like it. Out: tilings that a search may choose. Not its
job: whether one is best (`prove`).
"""

from collections.abc import Iterator
from dataclasses import replace

from isamap.costmodels import Tiling
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, TiledLoop

from .legality import is_offered
from .neighbours import sizes_by_loop
from .solution import KnownModels

MAX_NEAR = 4  # of those known, the latest


def near_tilings(known: KnownModels, covering: Covering, hw: Hardware) -> Iterator[Tiling]:
    """What was best for coverings like this one, in its own sizes, if a search may choose it."""
    for loops, tiling in known.alike.get(_kind(covering), [])[-MAX_NEAR:]:
        found = _carried_over(loops, tiling, covering, hw)
        if is_offered(covering, found, hw):
            yield found


def remember(known: KnownModels, covering: Covering, tiling: Tiling) -> None:
    """The tiling is best for the covering."""
    known.alike.setdefault(_kind(covering), []).append((covering.loops, tiling))


def _kind(covering: Covering) -> tuple[object, ...]:
    """Equal for coverings between which tilings are carried over loop by loop."""
    stays = tuple((p.name, tuple(r.memory for r in p.residences)) for p in covering.operands)
    return covering.instruction, stays, len(covering.loops)


def _carried_over(
    loops: tuple[TiledLoop, ...], tiling: Tiling, covering: Covering, hw: Hardware
) -> Tiling:
    """The same tiles, or the largest below where there are none of that size, or the least there
    are; all of a loop that was one tile."""
    new = {old.name: loop.name for old, loop in zip(loops, covering.loops, strict=True)}
    units = {loop.name: loop.units for loop in loops}
    sizes = sizes_by_loop(covering, hw)
    tiles = []
    for name, tile in tiling.tiles:
        known = sizes[new[name]]
        below = [size for size in known if size <= tile or tile == units[name]]
        tiles.append((new[name], max(below, default=known[0])))
    stays = (replace(s, kept=tuple(new[name] for name in s.kept)) for s in tiling.stays)
    return Tiling(
        tuple(tiles),
        tuple(new[name] for name in tiling.outer),
        tuple(new[name] for name in tiling.inner),
        tuple(stays),
    )
