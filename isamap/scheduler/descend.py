"""A good tiling fast where caches decide and the closed form alone judges.

In: a covering, its work, the machine, an aim. Out: the best tiling found, or None when not even
single units fit. Not its job: optimality.

From single units one tiling grows (`greedy`), unless a covering of the same loops has good tiles.
These sizes are then tried under every loop order and with everything that packed stays may keep,
and so are those whose calls read least; the best is improved, one or two tile sizes at a time,
until nothing near is better, and what that finds is tried in all of them again.
Last, its sum is done in parts, of which the best is improved as well, if it comes close.
It ends early where one of these steps leaves it far above what is wanted (`is_promising`).
"""

from bisect import bisect_left, insort
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import combinations, cycle, groupby
from math import inf, prod
from operator import attrgetter, itemgetter

from isamap.costmodels import (
    Aim,
    Tiling,
    Work,
    copies_as_written,
    guards,
    ideal_cycles,
    least_costs,
)
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .clock import WALL, Clock
from .greedy import grow, starts
from .legality import fits
from .neighbours import (
    reordered,
    resized,
    sizes_by_loop,
    summed_in_parts,
    swapped,
    turned,
)
from .options import stay_choices
from .place import external_bytes
from .ranking import NEVER, Rank, Ranking

ROUNDS = 4  # over all loop orders
# That are improved in each: a second one, and growing where tiles of the same loops are known, find
# what is 0.1 % better over 102 searches, for two fifths more estimates. Where copies are made as
# written, more, and what grew elsewhere says nothing.
BEST = 1
BEST_AS_WRITTEN = 3
PROMISING = 1.15  # times the best value: improving gains a tenth (measured over 40 coverings)

# What is wanted is hoped for from so many times its value on, at most, and from as many times what
# it lies above the ideal: when a tiling has grown, when the best order is known, and each time it
# was improved. Over 184 kernels and 937 descents that nothing ended, one from further above led to
# an answer that is better by more than 1.2 %, with 1.5 for the best order; where loads are seen
# beside calls (x86_redwood_cove) three of 60 products are 4 to 6 % better from 1.51 to 1.54 times.
Reach = tuple[float, float]
GROWN = 4.0, 12.0
ORDERED = 1.6, 4.0
IMPROVED = 1.1, 1.3
# What grew must read so many times as many blocks of inputs per call as the tiles that read fewest
# to be compared with these: 8 % fewer tilings are priced than for any, and of 60 products on
# x86_redwood_cove two are foretold 1 % slower.
WIDER = 1.6
# Steps to tiles that read more than so many times as many blocks per call are not priced: of 1400
# on x86_redwood_cove three led on. Over 50 searches answers are 0.06 % slower in the mean, one of
# them 2.3 %, for a tenth fewer estimates.
MOST_READS = 1.5
# Where copies are made as written, what grows under one order says less of the others: over 44
# products on AVX2 this leads to answers that are 2 % better in the mean, 20 % at most.
ORDERED_AS_WRITTEN = 2.0, 6.0
# Where they are, stays that hold single blocks are looked at beside tiles, too, unless what was
# found takes at most so many times the ideal: over 48 searches on AVX2 answers are 0.9 % better in
# the mean, one of 512 x 8 x 500000 49 %, for a twentieth more time; with 1.1 1 %, for a quarter.
FEWER = 1.25
FAR = 1.35  # times the ideal: tiles that lead nowhere with other stays are not tried alone there


def descend(
    covering: Covering,
    work: Work,
    hw: Hardware,
    aim: Aim,
    near: Tiling | None = None,
    cutoff: float = inf,
    clock: Clock = WALL,
    like: Tiling | None = None,
) -> Tiling | None:
    """The best tiling of levels that take tiles; of fewer tiles only where those do not fit.

    `near`: the best of a covering with the same loops and residences, whose like is looked for.
    `like`: of one with the same loops.
    `cutoff`: only tilings with a lower value are wanted; where improving will not reach it, any.
    """
    descent = Descent(covering, work, hw, aim, cutoff, like)
    if near is None or not descent.is_possible(near):
        found = descent.run()
    else:
        found = descent.improve(near) if descent.is_promising(near, descent.ordered) else near
    clock.spend(descent.effort_s)
    return found


def best_of_orders(
    covering: Covering, work: Work, hw: Hardware, aim: Aim, best: Tiling
) -> Iterator[Tiling]:
    """For each order of loops over tiles, a good tiling of that order, looked for from the tiles of
    the best one of all."""
    descent = Descent(covering, work, hw, aim)
    levels = tuple(
        tuple(stay.level for stay in best.stays if stay.operand == plan.name)
        for plan in covering.operands
    )
    for _, alike in groupby(starts(covering, work, hw, levels), attrgetter("outer")):
        for tiling in descent.closest([*alike], best.tiles, NEVER)[:1]:
            if descent.is_possible(tiling):
                yield descent.improve(tiling, keeps_order=True)


class Descent(Ranking):
    """The best tiling so far, and what is known of every one that was looked at."""

    def __init__(
        self,
        covering: Covering,
        work: Work,
        hw: Hardware,
        aim: Aim,
        cutoff: float = inf,
        like: Tiling | None = None,
    ) -> None:
        super().__init__(covering, work, hw, aim)
        self.cutoff = cutoff
        self.like = like
        self.sizes = sizes_by_loop(covering, hw)
        cycles = ideal_cycles(covering, work, hw)
        self.ideal = aim.value(replace(least_costs(covering, work, hw), cycles=cycles))
        self.best: Tiling | None = None
        self.is_as_written = any(
            copies_as_written(plan, 0, hw) for plan in covering.operands if plan.residences
        )
        self.ordered = ORDERED_AS_WRITTEN if self.is_as_written else ORDERED
        self.num_best = BEST_AS_WRITTEN if self.is_as_written else BEST
        sums = {loop.name for loop in covering.loops if loop.is_reduction}
        self.results = [loop.name for loop in covering.loops if not loop.is_reduction]
        self.inputs = [
            [name for name in plan.loops if name not in sums]
            for plan in covering.operands
            if not plan.is_output
        ]

    def run(self) -> Tiling | None:
        """As the function."""
        fewest = 0
        for levels in stay_choices(self.covering, self.hw):
            if _num_tiles(levels) < fewest and self.is_enough():
                break
            tilings = list(starts(self.covering, self.work, self.hw, levels))
            known = self.best
            self.look_at(tilings)
            self.look_from_widest(tilings)
            if known is not None and known is self.best:
                self.look_afresh(tilings)
            if _num_tiles(levels) < sum(map(bool, levels)):
                fewest = _num_tiles(levels)
        return self.best and self.with_parts(self.best)

    def is_enough(self, times: float = FEWER) -> bool:
        """Is it as good, as far as is known, as one of fewer or other tiles may be?"""
        if self.best is None or not self.is_as_written:
            return self.best is not None
        return self.rank(self.best)[1] <= times * self.ideal

    def look_at(self, tilings: list[Tiling]) -> None:
        """Of tilings of single units: enlarge them, and improve the best, as long as that helps."""
        if not tilings:
            return
        if self.best is None:
            self.best = self.as_like(tilings[0])
        if self.best is None:
            _, self.best = grow(self, tilings[0])
            if not self.is_as_written and not self.is_promising(self.best, GROWN):
                return
        for number in range(ROUNDS):
            known = self.rank(self.best)
            limit = known[0], PROMISING * known[1]
            close = self.closest(tilings, self.best.tiles, limit)
            if not number and not self.is_as_written:
                wide = self.widest(tilings[0])
                if self.blocks_read(self.best) > WIDER * self.blocks_read(wide):
                    least = min([known, *map(self.rank, close[:1])])
                    close = [*self.least_of(tilings, wide.tiles, least), *close]
            self.best = min([self.best, *close[:1]], key=self.rank)
            if not number and not self.is_promising(self.best, self.ordered):
                return
            best = min(map(self.improve, close), key=self.rank, default=self.best)
            if self.rank(best) >= known:
                return
            self.best = best
            if not self.is_promising(self.best, IMPROVED):
                return

    def look_from_widest(self, tilings: list[Tiling]) -> None:
        """Where copies are made as written and what was found is far from the ideal, improve what
        is best with the tiles for which calls read least, too, if it comes close."""
        if not tilings or not self.is_as_written or self.is_enough():
            return
        assert self.best is not None, "what is not enough was found"
        if self.is_promising(self.best, self.ordered):
            known = self.rank(self.best)
            wide = self.widest(tilings[0])
            close = self.closest(tilings, wide.tiles, (known[0], PROMISING * known[1]))
            self.best = min([self.best, *map(self.improve, close[:1])], key=self.rank)

    def look_afresh(self, tilings: list[Tiling]) -> None:
        """Where copies are made as written, of large arrays, and what was found, with other stays,
        is far from the ideal: its tiles may lead nowhere here, and some of their own grow."""
        if tilings and self.is_as_written and self.may_stray and not self.is_enough(FAR):
            known, self.best = self.best, None
            self.look_at(tilings)
            self.best = min(filter(None, (known, self.best)), key=self.rank)

    def as_like(self, tiling: Tiling) -> Tiling | None:
        """With the tiles that are known to be good, if there are any and they fit."""
        if self.like is None or self.is_as_written:
            return None
        same = replace(tiling, tiles=self.like.tiles)
        return same if self.is_possible(same) else None

    def least_of(
        self, tilings: list[Tiling], tiles: tuple[tuple[str, int], ...], most: Rank
    ) -> list[Tiling]:
        """Of the tilings with these tiles the best one that is below `most`, if any is."""
        found = []
        for tiling in tilings:
            other = replace(tiling, tiles=tiles)
            rank = self.rank(other, most)
            if rank < most:
                most, found = rank, [other]
        return found

    def widest(self, tiling: Tiling) -> Tiling:
        """With tiles of two loops that move results for which calls read fewest blocks of inputs,
        as far as there is room; of the other loops as it is. Orders under which little grows one
        loop at a time are good under these."""
        best, least = tiling, inf
        free = [x.name for x in self.covering.loops if not x.is_reduction and not x.is_held]
        for one, other in combinations(free, 2):
            sizes = self.sizes[other]
            for size in self.sizes[one]:
                wide = tiling.with_tile(one, size)
                fitting = self.num_fitting(wide, other, len(sizes))
                if not fitting:
                    break
                wide = wide.with_tile(other, sizes[fitting - 1])
                blocks = self.blocks_read(wide)
                if blocks < least:
                    least, best = blocks, wide
        return best

    def blocks_read(self, tiling: Tiling) -> float:
        """Of inputs, per call, where sums stay and nothing else does."""
        read = sum([prod(map(tiling.tile, moved)) for moved in self.inputs])
        return read / prod(map(tiling.tile, self.results))

    def num_fitting(self, tiling: Tiling, name: str, most: int) -> int:
        """Of the first few sizes of a loop, how many there is room for."""

        def is_too_large(size: int) -> bool:
            return not fits(self.covering, tiling.with_tile(name, size), self.hw)

        return bisect_left(self.sizes[name], True, hi=most, key=is_too_large)

    def with_parts(self, tiling: Tiling) -> Tiling:
        """The tiling, or what improving the best one with its sum in parts finds."""
        if not self.is_promising(tiling, IMPROVED):
            return tiling
        known = self.rank(tiling)
        most = known[0], PROMISING * known[1]
        parts = summed_in_parts(self.covering, tiling, self.sizes, self.hw)
        best = min(parts, key=lambda other: self.rank(other, most), default=tiling)
        if self.rank(best, most) > most:
            return tiling
        return min(tiling, self.improve(best), key=self.rank)

    def is_promising(self, tiling: Tiling, reach: Reach) -> bool:
        """May improving it lead to what is wanted?"""
        value = self.rank(tiling)[1]
        times, times_above = reach
        if self.ideal < self.cutoff < inf:
            most = self.ideal + times_above * (self.cutoff - self.ideal)
            return value <= min(times * self.cutoff, most)
        return value <= times * self.cutoff

    def closest(
        self, tilings: list[Tiling], tiles: tuple[tuple[str, int], ...], most: Rank
    ) -> list[Tiling]:
        """Of the tilings with these tiles the best few that are at `most` so."""
        found: list[tuple[Rank, Tiling]] = []
        for tiling in tilings:
            most = found[-1][0] if len(found) == self.num_best else most
            rank, other = self.enlarged(tiling, tiles, most)
            if rank <= most:
                insort(found, (rank, other), key=itemgetter(0))
                del found[self.num_best :]
        return [tiling for _, tiling in found]

    def enlarged(
        self, tiling: Tiling, tiles: tuple[tuple[str, int], ...], most: Rank
    ) -> tuple[Rank, Tiling]:
        """The tiling with these tiles, and its rank (`rank`). Where its order takes unfinished sums
        up again, they were found under orders that do not: then with as much of such a sum at a
        time as is best, and as little of its rows, where that may be what prefetchers follow."""
        same = best = replace(tiling, tiles=tiles)
        least = self.rank(same, most)
        for stay in same.stays:
            if self.covering.operand(stay.operand).is_output:
                for name in guards(self.covering, same, stay).refetch_outer:
                    sizes = self.sizes[name]
                    for start in (same, *self.narrowed(same, name)):
                        for place in (2**n - 1 for n in range(len(sizes).bit_length())):
                            other = start.with_tile(name, sizes[place])
                            rank = self.rank(other, min(least, most))
                            if rank < least:
                                least, best = rank, other
        return least, best

    @cached_property
    def may_stray(self) -> bool:
        """Are the arrays larger than a cache whose prefetchers lose rows?"""
        most = max((x.size_bytes for x in self.hw.caches if x.strayed_cycles), default=inf)
        return external_bytes(self.covering) > most

    def narrowed(self, tiling: Tiling, summed: str) -> Iterator[Tiling]:
        """With single units of the innermost loop over tiles but the sum's: fewer lines are read of
        a row at a time."""
        if self.may_stray:
            units = self.covering.units
            names = [n for n in tiling.outer if n != summed and tiling.tile(n) < units[n]]
            if names and tiling.tile(names[-1]) > 1:
                yield tiling.with_tile(names[-1], 1)

    def improve(self, tiling: Tiling, *, keeps_order: bool = False) -> Tiling:
        """Step to the best of what differs in one way, way by way, until no way leads on."""
        loops = tuple(name for name, _ in tiling.tiles)
        ways: tuple[str | None, ...] = loops if keeps_order else (None, *loops)
        unchanged = 0
        for way in cycle(ways):
            least, best = self.rank(tiling), tiling
            for other in self.near(tiling, way):
                rank = self.rank(other, least)
                if rank < least:
                    least, best = rank, other
            unchanged = unchanged + 1 if best is tiling else 0
            if unchanged == len(ways):
                return tiling
            tiling = best
        raise AssertionError("ways are gone round without end")

    def near(self, tiling: Tiling, loop: str | None) -> Iterator[Tiling]:
        """The loop's tile size changed; where that takes too much room, another one made smaller;
        neither where calls then read far more. Without a loop, two loops in the other order, of
        those over units, too: a block that stays over one of them is copied less, or blocks that
        lie side by side."""
        if loop is None:
            for order in (tiling.inner, *swapped(tiling.inner)):
                yield from reordered(self.covering, tiling, order, self.hw)
            yield from turned(self.covering, tiling)
            return
        most = MOST_READS * self.blocks_read(tiling)
        for changed in resized(tiling, loop, self.sizes[loop]):
            is_smaller = changed.tile(loop) < tiling.tile(loop)
            if not is_smaller and not fits(self.covering, changed, self.hw):
                others = self.smaller(changed, loop)
                yield from (other for other in others if self.blocks_read(other) <= most)
            elif self.blocks_read(changed) <= most:
                yield changed

    def smaller(self, tiling: Tiling, fixed: str) -> Iterator[Tiling]:
        """The largest other tile, one loop at a time, with which a tiling fits (larger ones, it is
        assumed, do not); where both loops move results, the next smaller one, too: registers that
        these leave hold what is read again."""
        for name, tile in tiling.tiles:
            if name != fixed:
                is_sum = any(self.covering.loop(n).is_reduction for n in (name, fixed))
                count = 1 if is_sum else 2
                sizes = self.sizes[name]
                last = bisect_left(sizes, tile)
                fitting = self.num_fitting(tiling, name, last)
                for size in reversed(sizes[max(0, fitting - count) : fitting]):
                    yield tiling.with_tile(name, size)


def _num_tiles(levels: tuple[tuple[int, ...], ...]) -> int:
    return sum(map(sum, levels))
