"""Different schedules that the closed form likes nearly as well as the best.

In: solved coverings, an aim. Out: the best few tilings of all, as unlike each other as their costs
allow. Not its job: choosing among them (a cost model's), coverings that were not solved.

A beam search from every solved tiling: change one tile size, or swap two neighbours in a loop
order. Of the tilings that are found the next one taken is always the one that costs least with
`CROWDING` added for what it has in common with those taken before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, log2

from isamap.costmodels import Aim, Tiling, estimate, operand_plan
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .answer import Schedule
from .legality import is_legal
from .options import tile_options

BEAM = 8  # tilings per covering whose neighbours are looked at in a round
ROUNDS = 5
CLOSE = 1.3  # times the best cost: more cannot be the model's error
CROWDING = 0.15  # of the best cost, for a tiling equal to one that is taken
ELSEWHERE = 0.8  # how much like itself the same tiling of another covering is
STEPS = (1, 2, 4, 8)  # places in the list of tile sizes


@dataclass(frozen=True, slots=True)
class Listed:
    """A tiling of a solved covering, and its value under the closed form."""

    solved: Schedule
    tiling: Tiling
    value: float


def shortlist(solved: Sequence[Schedule], hw: Hardware, aim: Aim, count: int) -> tuple[Listed, ...]:
    """Up to `count` tilings, the best first; the best of all is among them."""
    pool = [listed for schedule in solved for listed in _explore(schedule, hw, aim)]
    least = min((listed.value for listed in pool), default=inf)
    pool = sorted((x for x in pool if x.value <= CLOSE * least), key=lambda x: x.value)
    taken: list[Listed] = []
    crowds = [0.0] * len(pool)
    while len(taken) < min(count, len(pool)):
        number = min(
            (n for n in range(len(pool)) if crowds[n] < inf),
            key=lambda n: pool[n].value + crowds[n] * CROWDING * least,
        )
        taken.append(pool[number])
        crowds = [max(crowd, _likeness(x, pool[number])) for crowd, x in zip(crowds, pool)]
        crowds[number] = inf
    return tuple(sorted(taken, key=lambda listed: listed.value))


def _explore(schedule: Schedule, hw: Hardware, aim: Aim) -> list[Listed]:
    """The solution and what lies around it, each tiling once."""
    start = schedule.solution.tiling
    assert start is not None, "a schedule has a tiling"
    covering = schedule.covering
    sizes = {
        loop.name: sorted(tile for tile, _ in tile_options(covering, loop, hw))
        for loop in covering.loops
    }
    known = {_form(covering, start): Listed(schedule, start, schedule.solution.value)}
    expanded: set[Tiling] = set()
    for _ in range(ROUNDS):
        ranked = sorted(known.values(), key=lambda listed: listed.value)
        beam = [listed.tiling for listed in ranked if listed.tiling not in expanded][:BEAM]
        for tiling in beam:
            expanded.add(tiling)
            for other in _neighbours(covering, tiling, sizes):
                form = _form(covering, other)
                if form not in known and is_legal(covering, other, hw):
                    costs = estimate(covering, schedule.work, other, hw).costs(hw)
                    value = aim.value(costs) if aim.allows(costs) else inf
                    known[form] = Listed(schedule, other, value)
    return list(known.values())


def _neighbours(
    covering: Covering, tiling: Tiling, sizes: dict[str, list[int]]
) -> Iterator[Tiling]:
    """One tile smaller or larger, two loops in the other order, or a packed stay that keeps tiles
    of one loop more or less."""
    for name, tile in tiling.tiles:
        options = sizes[name]
        place = next((n for n, size in enumerate(options) if size >= tile), 0)
        near = {place + sign * step for step in STEPS for sign in (-1, 1)}
        for other in sorted(n for n in near if 0 <= n < len(options) and options[n] != tile):
            tiles = tuple((n, options[other] if n == name else t) for n, t in tiling.tiles)
            yield replace(tiling, tiles=tiles)
    free = [n for n in tiling.outer if n not in covering.held]
    for order in _swapped(tuple(free)):
        yield replace(tiling, outer=(*covering.held, *order))
    for order in _swapped(tiling.inner):
        yield replace(tiling, inner=order)
    for number, stay in enumerate(tiling.stays):
        plan = operand_plan(covering, stay.operand)
        if plan.residences[stay.residence].is_packed:
            for kept in _kept(tiling.outer, plan.loops, stay.kept):
                changed = replace(stay, kept=kept)
                stays = (*tiling.stays[:number], changed, *tiling.stays[number + 1 :])
                yield replace(tiling, stays=stays)


def _swapped(order: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
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


def _form(covering: Covering, tiling: Tiling) -> tuple[object, ...]:
    """Equal for tilings with the same program: loops of one iteration stand anywhere."""
    units = {loop.name: loop.units for loop in covering.loops}
    outer = tuple(name for name in tiling.outer if tiling.tile(name) < units[name])
    inner = tuple(name for name in tiling.inner if tiling.tile(name) > 1)
    return tiling.tiles, outer, inner, tiling.stays


def _likeness(one: Listed, other: Listed) -> float:
    """1 for equal tilings, less the more they differ."""
    known = dict(other.tiling.tiles)
    ratios = (abs(log2(tile / known.get(name, 1))) for name, tile in one.tiling.tiles)
    orders = (one.tiling.outer != other.tiling.outer) + (one.tiling.inner != other.tiling.inner)
    orders += one.tiling.stays != other.tiling.stays
    share = 1.0 if one.solved is other.solved else ELSEWHERE
    return share / (1 + sum(ratios) + orders)
