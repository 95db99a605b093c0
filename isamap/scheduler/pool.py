"""Schedules worth a closer look than the closed form's: proposed, seen, and proposed again.

In: solved coverings, an aim; what the ones proposed so far were priced. Out: a few more tilings,
the most promising first. Not its job: prices (a cost model's), coverings that were not solved.

Tilings that are looked at come from a beam search from every solved one (change it a little, see
`neighbours`), from the best of every other order of its loops over tiles, and from the same changes
of those that were priced best. What is expected of a tiling is what the closed form says, corrected
by what it got wrong of tilings that are like it, less `NOVELTY` for what it has in common with none
of those that were seen: what is known says least about it (Srinivas et al. 2010, lower confidence
bounds; the correction is a weighted mean, Nadaraya and Watson 1964).
One of each solved covering in each order is seen sooner or later: where the closed form is wrong,
it is wrong about whole orders.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, log, log2
from statistics import median

import numpy as np
from numpy.typing import NDArray

from isamap.costmodels import Aim, Tiling, estimate
from isamap.hwdesc import Hardware

from .answer import Schedule
from .descend import best_of_orders
from .legality import is_legal
from .neighbours import form, neighbours, sizes_by_loop

BEAM = 8  # tilings per covering whose neighbours are looked at in a round
ROUNDS = 5
CLOSE = 1.3  # times the best cost: what is chosen among once
FAR = 2.0  # the same, where what is seen shows what the closed form gets wrong
LEADERS = 4  # tilings priced best whose neighbours are looked at before each proposal
NOVELTY = 0.15  # of the logarithm of cost, for a tiling that is like none that was seen
ELSEWHERE = 0.8  # how much like itself the same tiling of another covering is
DOUBT = 0.3  # the weight of the closed form's own word, where that of a tiling itself is 1
UNTRIED = 3  # one in so many proposals is of a covering, or an order, of which nothing was seen

Array = NDArray[np.float64]
Forms = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Listed:
    """A tiling of a solved covering, and its value under the closed form."""

    solved: Schedule
    tiling: Tiling
    value: float


class Pool:
    """All tilings that were looked at, and which of them were proposed.

    `reach`: times the least value of all, what is proposed at most; CLOSE or FAR.
    """

    def __init__(self, solved: Sequence[Schedule], hw: Hardware, aim: Aim, reach: float) -> None:
        self.hw = hw
        self.aim = aim
        self.reach = reach
        self.solved = _unlike(solved)
        self.sizes = [sizes_by_loop(schedule.covering, hw) for schedule in self.solved]
        self.names = sorted({loop.name for s in self.solved for loop in s.covering.loops})
        self.listed: list[Listed] = []
        self.places: dict[tuple[int, tuple[object, ...]], int] = {}
        self.tiles: list[list[float]] = []  # of each listed: logarithms of tile sizes
        self.forms: list[tuple[int, ...]] = []  # and numbers of its covering, orders and stays
        self.numbers: dict[object, int] = {}
        self.expanded: set[int] = set()
        self.proposed: list[int] = []
        self.starts: list[int] = []  # of each solved covering
        for number, schedule in enumerate(self.solved):
            self._explore(number, schedule)
        least = min(schedule.solution.value for schedule in self.solved)
        for number, schedule in enumerate(self.solved if reach > CLOSE else ()):
            if schedule.solution.value <= CLOSE * least:
                self._explore_orders(number, schedule)

    def propose(
        self, count: int, priced: Sequence[tuple[Listed, float | None]] = ()
    ) -> tuple[Listed, ...]:
        """Up to `count` that were not proposed before, best expected first; the first of all is the
        closed form's best. `priced`: all that were, with their prices; None: there is none."""
        known = [(self._place(listed), price) for listed, price in priced]
        prices = [(place, price) for place, price in known if price is not None]
        for place, _ in sorted(prices, key=lambda pair: pair[1])[:LEADERS]:
            self._expand(place)
        least = min((listed.value for listed in self.listed), default=inf)
        is_open = np.array([listed.value <= self.reach * least for listed in self.listed])
        is_open[self.proposed] = False
        tiles, forms = np.array(self.tiles), np.array(self.forms, dtype=np.int64)
        expected = self._expect(prices, tiles, forms)
        likeness = np.zeros(len(self.listed))  # to the one most like it that was proposed
        for place in self.proposed:
            np.maximum(likeness, _likeness(tiles, forms, place), out=likeness)
        taken: list[int] = []
        while len(taken) < count and is_open.any():
            place = self._next(expected + NOVELTY * likeness, is_open, len(taken))
            np.maximum(likeness, _likeness(tiles, forms, place), out=likeness)
            is_open[place] = False
            taken.append(place)
            self.proposed.append(place)
        return tuple(self.listed[place] for place in taken)

    def solutions(self) -> tuple[Listed, ...]:
        """The best of each solved covering, as the first that are proposed."""
        assert not self.proposed, "nothing was proposed before"
        self.proposed += self.starts
        return tuple(self.listed[place] for place in self.starts)

    def _next(self, scores: Array, is_open: NDArray[np.bool_], number: int) -> int:
        """The best one that is open; now and then, of a covering in an order of its loops over
        tiles that was not tried."""
        if number % UNTRIED == UNTRIED - 1:
            tried = {self.forms[place][:2] for place in self.proposed}
            is_new = is_open & np.array([form[:2] not in tried for form in self.forms])
            is_open = is_new if is_new.any() else is_open
        return int(np.argmin(np.where(is_open, scores, inf)))

    def _expect(self, prices: Sequence[tuple[int, float]], tiles: Array, forms: Forms) -> Array:
        """Logarithms of values, up to a constant."""
        expected: Array = np.log([max(listed.value, 1e-300) for listed in self.listed])
        if not prices:
            return expected
        errors = [log(max(price, 1e-300)) - expected[place] for place, price in prices]
        typical = median(errors)
        weights, corrections = np.full(len(expected), DOUBT), np.zeros(len(expected))
        for (place, _), error in zip(prices, errors, strict=True):
            weight = _likeness(tiles, forms, place) ** 2
            weights += weight
            corrections += weight * (error - typical)
        expected += corrections / weights
        return expected

    def _explore(self, number: int, schedule: Schedule) -> None:
        """The solution and what lies around it."""
        own = [self._add(number, schedule.tiling, schedule.solution.value)]
        self.starts += own
        for _ in range(ROUNDS):
            ranked = sorted(own, key=lambda place: self.listed[place].value)
            beam = [place for place in ranked if place not in self.expanded][:BEAM]
            for place in beam:
                own += self._expand(place)

    def _explore_orders(self, number: int, schedule: Schedule) -> None:
        """Good tilings of other loop orders, which lead elsewhere."""
        covering, best = schedule.covering, schedule.tiling
        for other in best_of_orders(covering, schedule.work, self.hw, self.aim, best):
            if (number, form(covering, other)) not in self.places:
                self._expand(self._add(number, other, self._value(schedule, other)))

    def _value(self, schedule: Schedule, tiling: Tiling) -> float:
        costs = estimate(schedule.covering, schedule.work, tiling, self.hw).costs(self.hw)
        return self.aim.value(costs) if self.aim.allows(costs) else inf

    def _expand(self, place: int) -> list[int]:
        """Add what is near a tiling; the places of what is new."""
        if place in self.expanded:
            return []
        self.expanded.add(place)
        number, tiling = self.forms[place][0], self.listed[place].tiling
        schedule = self.solved[number]
        covering = schedule.covering
        found = []
        for other in neighbours(covering, tiling, self.sizes[number], self.hw):
            is_known = (number, form(covering, other)) in self.places
            if is_known or not is_legal(covering, other, self.hw):
                continue
            found.append(self._add(number, other, self._value(schedule, other)))
        return found

    def _add(self, number: int, tiling: Tiling, value: float) -> int:
        schedule = self.solved[number]
        key = form(schedule.covering, tiling)
        place = len(self.listed)
        self.places[number, key] = place
        self.listed.append(Listed(schedule, tiling, value))
        known = dict(tiling.tiles)
        self.tiles.append([log2(known.get(name, 1)) for name in self.names])
        _, *others = key
        told = [self.numbers.setdefault(other, len(self.numbers)) for other in others]
        self.forms.append((number, *told))
        return place

    def _place(self, listed: Listed) -> int:
        number = next(n for n, schedule in enumerate(self.solved) if schedule is listed.solved)
        return self.places[number, form(listed.solved.covering, listed.tiling)]


def _unlike(solved: Sequence[Schedule]) -> list[Schedule]:
    """One of those that differ in which factor of a product is which operand alone."""
    found: dict[tuple[object, ...], Schedule] = {}
    for schedule in solved:
        covering = schedule.covering
        means = frozenset(
            (plan.buffer, tuple((stay.memory, stay.is_packed) for stay in plan.residences))
            for plan in covering.operands
        )
        found.setdefault(
            (covering.instruction, covering.loops, means, schedule.solution.value), schedule
        )
    return list(found.values())


def _likeness(tiles: Array, forms: Forms, place: int) -> Array:
    """Of all to one: 1 for the same, less the more they differ."""
    ratios = np.abs(tiles - tiles[place]).sum(axis=1)
    differ = (forms[:, 1:] != forms[place, 1:]).sum(axis=1)
    share = np.where(forms[:, 0] == forms[place, 0], 1.0, ELSEWHERE)
    likeness: Array = share / (1 + ratios + differ)
    return likeness
