"""Tilings near a tiling.

In: a covering, a tiling. Out: what differs from it a little. Not its job: which of them are legal
or good.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from isamap.costmodels import Stay, Tiling, may_double
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .options import may_keep_units, stay_choices, tile_options
from .place import external_bytes

Kept = Mapping[tuple[str, int], tuple[str, ...]]  # per operand and residence the loops it keeps
STEPS = (1, 2, 4, 8)  # places in the list of tile sizes
MOST_SLOTS = 4  # of a stay that began with fewer
PARTS = (2, 3, 4, 6, 8, 12, 16)  # of a sum


def sizes_by_loop(covering: Covering, hw: Hardware) -> dict[str, list[int]]:
    """Tile sizes of every loop, ascending."""
    return {
        loop.name: sorted(tile for tile, _ in tile_options(covering, loop, hw))
        for loop in covering.loops
    }


def form(covering: Covering, tiling: Tiling) -> tuple[object, ...]:
    """Equal for tilings with the same program: loops of one iteration stand anywhere."""
    units = covering.units
    outer = tuple([name for name in tiling.outer if tiling.tile(name) < units[name]])
    inner = tuple([name for name in tiling.inner if tiling.tile(name) > 1])
    return tiling.tiles, outer, inner, tiling.stays


def resized(tiling: Tiling, loop: str, sizes: Sequence[int]) -> Iterator[Tiling]:
    """The loop's tile smaller or larger by a few places in `sizes`."""
    tile = tiling.tile(loop)
    place = next((n for n, size in enumerate(sizes) if size >= tile), 0)
    near = {place + sign * step for step in STEPS for sign in (-1, 1)}
    for other in sorted(n for n in near if 0 <= n < len(sizes) and sizes[n] != tile):
        yield tiling.with_tile(loop, sizes[other])


def neighbours(
    covering: Covering, tiling: Tiling, sizes: dict[str, list[int]], hw: Hardware
) -> Iterator[Tiling]:
    """One tile smaller or larger, two loops in the other order, or a packed stay that keeps tiles
    of one loop more or less, or a sum in parts; where no caches decide, what stays otherwise."""
    for name, _ in tiling.tiles:
        yield from resized(tiling, name, sizes[name])
    free = [n for n in tiling.outer if n not in covering.held]
    for order in swapped(tuple(free)):
        yield replace(tiling, outer=(*covering.held, *order))
    for order in swapped(tiling.inner):
        yield replace(tiling, inner=order)
    yield from summed_in_parts(covering, tiling, sizes, hw)
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        if plan.residences[stay.residence].is_packed:
            for kept in _kept(tiling.outer, plan.loops, stay.kept):
                yield _with_stay(tiling, replace(stay, kept=kept))
    if not hw.caches:
        yield from stayed_otherwise(covering, tiling, hw)


def stayed_otherwise(covering: Covering, tiling: Tiling, hw: Hardware) -> Iterator[Tiling]:
    """One stay with a slot more or less, or holding a tile instead of a block, or the other way."""
    now = {(stay.operand, stay.residence): stay for stay in tiling.stays}
    for stay in tiling.stays:
        may_more = may_double(covering.operand(stay.operand), stay.residence, hw)
        most = max(MOST_SLOTS, stay.slots) if may_more else 1
        for slots in (stay.slots - 1, stay.slots + 1):
            if 1 <= slots <= most:
                yield _with_stay(tiling, replace(stay, slots=slots))
    for choice in stay_choices(covering, hw):
        named = zip(covering.operands, choice, strict=True)
        levels = {(plan.name, n): level for plan, chosen in named for n, level in enumerate(chosen)}
        changed = [key for key, level in levels.items() if now[key].level != level]
        if len(changed) == 1:
            (key,) = changed
            yield _with_stay(tiling, replace(now[key], level=levels[key], kept=()))


def _with_stay(tiling: Tiling, changed: Stay) -> Tiling:
    """The stay of the same operand and residence exchanged."""
    key = changed.operand, changed.residence
    stays = (changed if (s.operand, s.residence) == key else s for s in tiling.stays)
    return replace(tiling, stays=tuple(stays))


def swapped_loops(covering: Covering, tiling: Tiling) -> Iterator[Tiling]:
    """Two neighbours in the other order, of loops over tiles or over units that have several
    iterations; held loops stay outside."""
    for outer in _swapped_outer(covering, tiling):
        yield replace(tiling, outer=outer)
    once = [name for name in tiling.inner if tiling.tile(name) == 1]
    for order in swapped(tuple(name for name in tiling.inner if name not in once)):
        yield replace(tiling, inner=(*order, *once))


def _swapped_outer(covering: Covering, tiling: Tiling) -> Iterator[tuple[str, ...]]:
    rest = [name for name in tiling.outer if name not in covering.held]
    once = [name for name in rest if tiling.tile(name) >= covering.loop(name).units]
    for order in swapped(tuple(name for name in rest if name not in once)):
        yield (*covering.held, *order, *once)


def turned(covering: Covering, tiling: Tiling) -> Iterator[Tiling]:
    """Two neighbours in the other order, of loops over tiles that have several iterations, with
    everything that packed stays may keep then."""
    for outer in _swapped_outer(covering, tiling):
        for kept in kept_choices(covering, outer):
            stays = (
                replace(s, kept=kept.get((s.operand, s.residence), s.kept)) for s in tiling.stays
            )
            yield replace(tiling, outer=outer, stays=tuple(stays))


def kept_choices(covering: Covering, outer: tuple[str, ...]) -> Iterator[Kept]:
    """What packed stays keep: tiles of as many of the innermost loops that move them as bring what
    a loop around these finds again."""
    packed = [
        (plan.name, number, plan.loops)
        for plan in covering.operands
        for number, residence in enumerate(plan.residences)
        if residence.is_packed
    ]
    active = [name for name in outer if covering.loop(name).units > 1]
    for choice in product(*(_found_again(active, loops) for _, _, loops in packed)):
        yield {(name, number): kept for kept, (name, number, _) in zip(choice, packed, strict=True)}


def _found_again(outer: list[str], moving: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Of the loops that move a stay, the innermost ones inside each loop that does not; where all
    do, the innermost."""
    loops = [name for name in outer if name in moving]
    found = []
    for number, name in enumerate(outer):
        if name not in moving:
            found.append(tuple(x for x in outer[number:] if x in moving))
    return list(dict.fromkeys(reversed(found))) or [tuple(loops[-1:])]


def swapped(order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Two neighbours in the other order."""
    for n in range(len(order) - 1):
        yield (*order[:n], order[n + 1], order[n], *order[n + 2 :])


def summed_in_parts(
    covering: Covering, tiling: Tiling, sizes: dict[str, list[int]], hw: Hardware
) -> Iterator[Tiling]:
    """A sum that is all done for one tile of what it adds to after the other, done in parts: each
    for all of these tiles. Tiles of inputs in registers become single blocks, side by side where a
    loop around those that move them finds them again. Only where not everything stays in the cache
    that programs ask for lines: parts are there for what does."""
    asked = next((cache for cache in hw.caches if cache.prefetch is not None), None)
    if asked is None or external_bytes(covering) <= asked.size_bytes:
        return
    active = [name for name in tiling.outer if tiling.tile(name) < covering.loop(name).units]
    held = covering.held
    if not active or active[-1] in held or not covering.loop(active[-1]).is_reduction:
        return
    loop = active[-1]
    outer = (*held, loop, *(name for name in tiling.outer if name not in (*held, loop)))
    inner = (loop, *(name for name in tiling.inner if name != loop))
    stays = tuple(single_blocks(covering, stay, inner, hw) for stay in tiling.stays)
    parted = replace(tiling, outer=outer, inner=inner, stays=stays)
    for count in PARTS:
        size = -(-covering.loop(loop).units // count)
        if size in sizes[loop]:
            yield parted.with_tile(loop, size)


def reordered(
    covering: Covering, tiling: Tiling, inner: tuple[str, ...], hw: Hardware
) -> Iterator[Tiling]:
    """Loops over units in that order; single blocks of inputs one at a time, and side by side where
    a loop around those that move them finds them again."""
    alone = tuple(replace(s, kept=s.kept_tiles) for s in tiling.stays)
    beside = tuple(s if s.level else single_blocks(covering, s, inner, hw) for s in alone)
    for stays in dict.fromkeys((alone, beside)):
        yield replace(tiling, inner=inner, stays=stays)


def single_blocks(covering: Covering, stay: Stay, inner: tuple[str, ...], hw: Hardware) -> Stay:
    """Single blocks in a tile's place, where they may lie side by side: of the loops that move them
    inside the first one, of those over units, that finds them again."""
    plan = covering.operand(stay.operand)
    if not may_keep_units(plan, stay.residence, hw):
        return stay
    resting = next((n for n, name in enumerate(inner) if name not in plan.loops), len(inner))
    kept = tuple(name for name in inner[resting:] if name in plan.loops)
    return replace(stay, level=0, kept=kept)


def _kept(
    outer: tuple[str, ...], moving: tuple[str, ...], kept: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """One loop more, from the innermost outwards, or one less."""
    loops = [name for name in outer if name in moving]
    for count in (len(kept) - 1, len(kept) + 1):
        if 0 <= count <= len(loops):
            yield tuple(loops[len(loops) - count :])
