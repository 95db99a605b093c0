"""Different schedules that the closed form likes nearly as well as the best.

In: solved coverings, an aim. Out: the best few tilings of all, as unlike each other as their costs
allow. Not its job: choosing among them (a cost model's), coverings that were not solved.

A beam search from every solved tiling: change one tile size, or swap two neighbours in a loop
order. Of the tilings that are found the next one taken is always the one that costs least with
`CROWDING` added for what it has in common with those taken before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log2

from isamap.costmodels import Aim, Tiling, estimate
from isamap.hwdesc import Hardware

from .answer import Schedule
from .legality import is_legal
from .neighbours import form, neighbours, sizes_by_loop

BEAM = 8  # tilings per covering whose neighbours are looked at in a round
ROUNDS = 5
CLOSE = 1.3  # times the best cost: more cannot be the model's error
CROWDING = 0.15  # of the best cost, for a tiling equal to one that is taken
ELSEWHERE = 0.8  # how much like itself the same tiling of another covering is


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
    sizes = sizes_by_loop(covering, hw)
    known = {form(covering, start): Listed(schedule, start, schedule.solution.value)}
    expanded: set[Tiling] = set()
    for _ in range(ROUNDS):
        ranked = sorted(known.values(), key=lambda listed: listed.value)
        beam = [listed.tiling for listed in ranked if listed.tiling not in expanded][:BEAM]
        for tiling in beam:
            expanded.add(tiling)
            for other in neighbours(covering, tiling, sizes):
                key = form(covering, other)
                if key not in known and is_legal(covering, other, hw):
                    costs = estimate(covering, schedule.work, other, hw).costs(hw)
                    value = aim.value(costs) if aim.allows(costs) else inf
                    known[key] = Listed(schedule, other, value)
    return list(known.values())


def _likeness(one: Listed, other: Listed) -> float:
    """1 for equal tilings, less the more they differ."""
    known = dict(other.tiling.tiles)
    ratios = (abs(log2(tile / known.get(name, 1))) for name, tile in one.tiling.tiles)
    orders = (one.tiling.outer != other.tiling.outer) + (one.tiling.inner != other.tiling.inner)
    orders += one.tiling.stays != other.tiling.stays
    share = 1.0 if one.solved is other.solved else ELSEWHERE
    return share / (1 + sum(ratios) + orders)
