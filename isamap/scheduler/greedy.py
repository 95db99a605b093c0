"""A good legal tiling fast: the solver's hint, and the answer when its time is up.

In: a covering, its work, the machine, an aim. Out: a tiling found by growing tiles while the aim's
value falls, or None when not even single units fit. Not its job: optimality.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, permutations, product

from isamap.costmodels import (
    FASTEST,
    Aim,
    Tiling,
    Work,
    copies_as_written,
)
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan

from .clock import WALL, Clock
from .legality import is_legal
from .neighbours import Kept, kept_choices, single_blocks
from .options import slot_options, stay_choices, stays_of, tile_options
from .ranking import Rank, Ranking


def schedule_greedily(
    covering: Covering, work: Work, hw: Hardware, aim: Aim = FASTEST, clock: Clock = WALL
) -> Tiling | None:
    """Grow tiles one loop at a time while the aim's rank falls; try a few loop orders and
    levels."""
    best: tuple[Rank, Tiling] | None = None
    ranking = Ranking(covering, work, hw, aim)
    for levels in stay_choices(covering, hw):
        for start in starts(covering, work, hw, levels):
            rank, grown = grow(ranking, start)
            if best is None or rank < best[0]:
                best = (rank, grown)
        if best is not None and sum(map(sum, levels)) < sum(map(bool, levels)):
            break
    clock.spend(ranking.effort_s)
    return best[1] if best else None


def starts(
    covering: Covering, work: Work, hw: Hardware, levels: tuple[tuple[int, ...], ...]
) -> Iterator[Tiling]:
    """Legal tilings of single units, of different loop orders and kept loops."""
    inners = _inner_orders(covering, hw, levels)
    for outer in _orders(covering):
        for kept, inner in product(kept_choices(covering, outer), inners):
            start = _smallest(covering, work, hw, levels, outer, inner, kept)
            if start is not None:
                yield start


def _orders(covering: Covering) -> tuple[tuple[str, ...], ...]:
    """Held loops, then output loops in both directions, reductions inside; all orders when there
    are few loops, else of groups of loops that move the same operands: sums that are taken up again
    are read in the order of memory."""
    held = covering.held
    loops = [loop for loop in covering.loops if not loop.is_held]
    names = tuple(loop.name for loop in loops if loop.units > 1)
    rest = tuple(loop.name for loop in loops if loop.units == 1)
    if len(names) <= 3:
        return tuple((*held, *order, *rest) for order in permutations(names))
    free = tuple(n for n in names if not covering.loop(n).is_reduction)
    sums = tuple(n for n in names if covering.loop(n).is_reduction)
    found = [(*free, *sums), (*free[::-1], *sums)]
    groups = _groups(covering, names)
    if len(groups) <= 3:
        found += [tuple(chain(*order)) for order in permutations(groups)]
    return tuple((*held, *order, *rest) for order in dict.fromkeys(found))


def _groups(covering: Covering, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    """The loops in groups that move the same operands, in the order of their first ones."""
    groups: dict[tuple[str, ...], tuple[str, ...]] = {}
    for name in names:
        moved = tuple(plan.name for plan in covering.operands if name in plan.loops)
        groups[moved] = (*groups.get(moved, ()), name)
    return list(groups.values())


def _inner_orders(
    covering: Covering, hw: Hardware, levels: tuple[tuple[int, ...], ...]
) -> tuple[tuple[str, ...], ...]:
    """`inner_order`, and those around others that are stationary where no compiler saves copies."""
    found = [inner_order(covering, levels)]
    for plan, level in zip(covering.operands, levels, strict=True):
        if level[:1] == (0,) and copies_as_written(plan, 0, hw):
            found.append(_resting(covering, plan))
    return tuple(dict.fromkeys(found))


def inner_order(covering: Covering, levels: tuple[tuple[int, ...], ...]) -> tuple[str, ...]:
    """Reductions outside, so that sums of different elements alternate; then the loops of an
    operand that is stationary, in a memory of its own or block by block: it rests in the others."""
    plans = zip(covering.operands, levels, strict=True)
    chained = next((p for p, level in plans if len(level) > 1 or level == (0,)), None)
    return _resting(covering, chained)


def _resting(covering: Covering, plan: OperandPlan | None) -> tuple[str, ...]:
    moving = set(plan.loops) if plan else set()
    return tuple(
        loop.name
        for loop in sorted(covering.loops, key=lambda x: (not x.is_reduction, x.name not in moving))
    )


def _smallest(
    covering: Covering,
    work: Work,
    hw: Hardware,
    levels: tuple[tuple[int, ...], ...],
    outer: tuple[str, ...],
    inner: tuple[str, ...],
    kept: Kept,
) -> Tiling | None:
    """Single-unit tiles, in as many slots as serve and have room."""
    tiles = tuple((loop.name, 1) for loop in covering.loops)
    stays = []
    for stay in stays_of(covering, levels, {}):
        plan = covering.operand(stay.operand)
        if not stay.level and copies_as_written(plan, stay.residence, hw):
            stays.append(single_blocks(covering, stay, inner, hw))
        else:
            stays.append(replace(stay, kept=kept.get((stay.operand, stay.residence), ())))
    tiling = Tiling(tiles, outer, inner, tuple(stays))
    if not is_legal(covering, tiling, hw):
        return None
    for number, stay in enumerate(tiling.stays):
        plan = covering.operand(stay.operand)
        serving = slot_options(covering, work, plan, stay.residence, hw)[1:]
        for slots in serving[:1] if stay.level else serving:
            more = (replace(stay, slots=slots), *tiling.stays[number + 1 :])
            doubled = replace(tiling, stays=(*tiling.stays[:number], *more))
            if is_legal(covering, doubled, hw):
                tiling = doubled
    return tiling


def grow(ranking: Ranking, tiling: Tiling) -> tuple[Rank, Tiling]:
    """Enlarge the tile whose growth gains most, while that gains anything."""
    covering = ranking.covering
    options = {
        loop.name: [t for t, _ in tile_options(covering, loop, ranking.hw)]
        for loop in covering.loops
    }
    least, best = ranking.rank(tiling), tiling
    while True:
        for name, tile in tiling.tiles:
            for bigger in _steps([t for t in options[name] if t > tile]):
                candidate = tiling.with_tile(name, bigger)
                if not ranking.is_possible(candidate):
                    break
                rank = ranking.rank(candidate, least)
                if rank < least:
                    least, best = rank, candidate
        if best is tiling:
            return least, tiling
        tiling = best


def _steps(bigger: list[int]) -> list[int]:
    """The next few sizes and then ever larger ones."""
    ascending = sorted(bigger)
    return [ascending[i] for i in (0, 1, 2, 4, 8, 16, 32, 64) if i < len(ascending)]
