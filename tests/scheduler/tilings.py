"""Tilings to test with: random ones, and all there are.

In: a covering, the machine. Out: tilings of the space that the solver decides in. Not its job:
their cost, lowering them.
"""

import random
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, combinations, permutations, product
from typing import TypeVar

from isamap.costmodels import Stay, Tiling, Work, count_work, needs_one_slot
from isamap.hwdesc import Hardware, MemoryKind
from isamap.mapper import Covering, OperandPlan, TiledLoop
from isamap.scheduler.legality import fits, is_legal
from isamap.scheduler.options import must_divide, slot_options, stay_choices, tile_options
from isamap.scheduler.place import passages

Drawn = TypeVar("Drawn")

Levels = tuple[tuple[int, ...], ...]
Kept = tuple[tuple[str, ...], ...]


@lru_cache(100)
def work_of(covering: Covering, hw: Hardware) -> Work:
    """As `count_work`: tilings are drawn by the hundred until one is legal."""
    return count_work(covering, hw)


def active_loops(covering: Covering) -> tuple[str, ...]:
    """Loops of more than one unit: all others have nothing to decide."""
    return tuple(loop.name for loop in covering.loops if loop.units > 1)


def slot_choices(
    covering: Covering, work: Work, plan: OperandPlan, number: int, hw: Hardware
) -> tuple[int, ...]:
    """Numbers of buffers that a stay of the operand may have, also where they would not serve."""
    more = slot_options(covering, work, plan, number, hw)[2:]
    return (1,) if needs_one_slot(plan, hw) else (1, 2, *more)


def keepable_loops(
    covering: Covering, plan: OperandPlan, hw: Hardware, level: int, tiles: dict[str, int]
) -> tuple[str, ...]:
    """Loops whose tiles a stay may hold side by side."""
    is_token = hw.has_tokens
    if level == 0 or (is_token and plan.is_output):
        return ()
    windows = {name for axis in plan.axes if axis.is_window for name in axis.loops}
    return tuple(
        name
        for name in plan.loops
        if name not in windows and covering.loop(name).units > tiles[name]
    )


def all_tilings(
    covering: Covering,
    hw: Hardware,
    sizes: Mapping[str, Sequence[int]] | None = None,
    is_over: Callable[[], bool] = lambda: False,
) -> Iterator[Tiling]:
    """Every legal tiling over the solver's tile sizes; orders that differ in idle loops come once.

    `sizes`: other tile sizes to try, per loop. `is_over`: asked now and then; ends them.

    A stay with one slot is left out where the same tiling with two is legal: no estimate rises
    with slots.
    """
    names = tuple(loop.name for loop in covering.loops)
    options = [[tile for tile, _ in tile_options(covering, loop, hw)] for loop in covering.loops]
    options = options if sizes is None else [list(sizes[name]) for name in names]
    work = work_of(covering, hw)
    for chosen in product(*options):
        tiles = dict(zip(names, chosen, strict=True))
        many_tiles = [n for n in names if covering.loop(n).units > tiles[n]]
        many_units = [n for n in names if tiles[n] > 1]
        rooms: dict[Hashable, bool] = {}
        for outer in _orders(names, many_tiles):
            for inner in _orders(names, many_units):
                if is_over():
                    return
                for levels in stay_choices(covering, hw):
                    yield from _all_stays(covering, work, hw, tiles, outer, inner, levels, rooms)


def _orders(names: tuple[str, ...], moving: list[str]) -> Iterator[tuple[str, ...]]:
    rest = tuple(name for name in names if name not in moving)
    for order in permutations(moving):
        yield (*order, *rest)


def _all_stays(
    covering: Covering,
    work: Work,
    hw: Hardware,
    tiles: dict[str, int],
    outer: tuple[str, ...],
    inner: tuple[str, ...],
    levels: Levels,
    rooms: dict[Hashable, bool],
) -> Iterator[Tiling]:
    """`rooms`: which stays fit, grows; whatever the order of loops, they take the same room."""
    keys = [
        (plan, number, level)
        for plan, choice in zip(covering.operands, levels, strict=True)
        for number, level in enumerate(choice)
    ]
    kept = [_subsets(keepable_loops(covering, p, hw, level, tiles)) for p, _, level in keys]
    slots = [slot_choices(covering, work, plan, number, hw)[::-1] for plan, number, _ in keys]
    pairs = [(n - 1, n) for n, (_, number, _) in enumerate(keys) if number > 0]
    fewest = tuple(min(counts) for counts in slots)

    def tiling_of(held: Kept, counts: tuple[int, ...]) -> Tiling:
        rows = zip(keys, counts, held, strict=True)
        stays = tuple(Stay(plan.name, n, level, count, x) for (plan, n, level), count, x in rows)
        return Tiling(tuple(tiles.items()), outer, inner, stays)

    def has_room(held: Kept, counts: tuple[int, ...]) -> bool:
        place = levels, held, counts
        if place not in rooms:
            rooms[place] = fits(covering, tiling_of(held, counts), hw)
        return rooms[place]

    for kept_choice in product(*kept):
        if not all(set(kept_choice[n]) <= set(kept_choice[outer]) for n, outer in pairs):
            continue  # never legal, and most of them
        if not has_room(kept_choice, fewest):
            continue  # more slots take more room
        legal: list[tuple[int, ...]] = []
        for slot_choice in product(*slots):
            if any(all(a >= b for a, b in zip(more, slot_choice, strict=True)) for more in legal):
                continue
            if has_room(kept_choice, slot_choice):
                tiling = tiling_of(kept_choice, slot_choice)
                if is_legal(covering, tiling, hw):
                    legal.append(slot_choice)
                    yield tiling


def _subsets(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return list(chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)))


def random_tiling(
    covering: Covering,
    hw: Hardware,
    generator: random.Random,
    *,
    any_tile: bool,
    any_kept: bool = False,
) -> Tiling:
    """A tiling of the space, not necessarily one that fits.

    `any_tile`: also sizes no solver would try. `any_kept`: tiles of whatever loops, most of which
    may not be kept.
    """
    tiles = {
        loop.name: _random_tile(covering, loop, hw, generator, any_tile) for loop in covering.loops
    }
    active = list(active_loops(covering))
    rest = [loop.name for loop in covering.loops if loop.name not in active]
    levels = generator.choice(stay_choices(covering, hw))
    stays = []
    work = work_of(covering, hw)
    for plan, choice in zip(covering.operands, levels, strict=True):
        for number, level in enumerate(choice):
            may_keep = keepable_loops(covering, plan, hw, level, tiles)
            if any_kept:
                may_keep = tuple(active)
            kept = tuple(name for name in may_keep if generator.random() < 0.3)
            slots = generator.choice(slot_choices(covering, work, plan, number, hw))
            stays.append(Stay(plan.name, number, level, slots, kept))
    orders = [(*generator.sample(active, len(active)), *rest) for _ in range(2)]
    return Tiling(tuple(tiles.items()), orders[0], orders[1], tuple(stays))


def _random_tile(
    covering: Covering, loop: TiledLoop, hw: Hardware, generator: random.Random, any_tile: bool
) -> int:
    options = [tile for tile, _ in tile_options(covering, loop, hw)]
    if any_tile and not must_divide(covering, loop):
        options = list(range(1, loop.units + 1))
    return generator.choice(options)


def random_legal_tiling(
    covering: Covering,
    hw: Hardware,
    generator: random.Random,
    *,
    any_tile: bool,
    any_kept: bool = False,
    attempts: int = 60,
) -> Tiling | None:
    """A random tiling that fits, or None after so many attempts."""
    if not stay_choices(covering, hw):
        return None
    for _ in range(attempts):
        tiling = random_tiling(covering, hw, generator, any_tile=any_tile, any_kept=any_kept)
        if is_legal(covering, tiling, hw):
            return tiling
    return None


def draw_until_found(draw: Callable[[], Drawn | None], attempts: int = 500) -> Drawn:
    """What `draw` gives first but for None; where that never comes, the test fails, not hangs."""
    for _ in range(attempts):
        if (drawn := draw()) is not None:
            return drawn
    raise AssertionError(f"nothing found in {attempts} draws")


def with_any_memory(
    hw: Hardware,
    covering: Covering,
    generator: random.Random,
    *,
    blocks: tuple[int, ...] = (2, 3, 4, 6, 12),
    chance: float = 0.7,
) -> Hardware:
    """The machine, by `chance` with memories of room for one of `blocks` blocks each."""
    if generator.random() >= chance:
        return hw
    room = {memory.name: generator.choice(blocks) for memory in hw.memories}
    return with_less_memory(hw, covering, room)


def with_less_memory(hw: Hardware, covering: Covering, blocks: dict[str, int]) -> Hardware:
    """The machine with managed memories of room for so many blocks, and for what passes them.

    One block of each of the covering's operands in a memory makes 1.
    """
    sizes: Counter[str] = Counter()
    for plan in covering.operands:
        for residence in plan.residences:
            sizes[residence.memory] += residence.position_bytes * blocks.get(residence.memory, 0)
    for passage in passages(covering).values():
        sizes[passage.memory] += passage.block_bytes * passage.slots
    memories = tuple(
        replace(memory, size_bytes=min(memory.size_bytes, sizes[memory.name]))
        if memory.kind is MemoryKind.MANAGED and memory.name in sizes and memory.name in blocks
        else memory
        for memory in hw.memories
    )
    return replace(hw, memories=memories)


def packed_once(covering: Covering, j: int) -> Tiling:
    """Of a product: a row of the result at a time, `j` blocks of it in registers; all that is
    packed is packed with the first one."""
    stays = []
    for plan in covering.operands:
        for number, residence in enumerate(plan.residences):
            kept = ("j", "p") if residence.is_packed else ()
            level = 1 if residence.is_packed or plan.is_output else 0
            stays.append(Stay(plan.name, number, level, 1, kept))
    tiles = (("i", 1), ("j", j), ("p", 1))
    return Tiling(tiles, ("i", "j", "p"), ("p", "j", "i"), tuple(stays))
