"""Look at coverings one by one and keep the best schedule.

In: a stream of coverings, an aim, limits. Out: the best schedule per layout class, what bounds the
rest. Not its job: which coverings there are, the answer made of it (`schedule`).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, islice
from math import inf

from isamap.costmodels import (
    ANALYTICAL,
    CostModel,
    Costs,
    TakesRounds,
    Work,
    count_work,
    least_costs,
)
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, TiledLoop

from .answer import Alternative, Contender, Schedule
from .compare import at_price, candidate, compare, make
from .legality import may_fit
from .natural import rank_of
from .options import stay_choices, why_unordered
from .place import external_bytes
from .pool import CLOSE, FAR
from .solution import KnownModels, Solution, Status
from .solve import solve
from .watch import Relay
from .why_nothing import Misfits
from .wishes import NATURAL_TOLERANCE, Wishes

# Where caches decide, a covering that is looked at later, as it copies more, must be foretold to
# take at most this share: the closed form knows no better. A GRU layer of 2048 units for which a
# copy gained 0.1 % so took 1.08 times as long; over 48 searches on AVX2 answers are foretold 0.1 %
# slower at most (with 0.99 1 %, and 0.06 % in the mean).
CLEARLY = 0.998
RIVAL_EFFORT = 1.0  # deterministic seconds to beat a schedule or to prove that it cannot; else
# its bound stays open
MAX_COVERINGS = 400  # looked at per kernel; what is cut is said in the answer

Rated = tuple[Covering, Work]


class CoveringSearch:
    """Best-first over coverings; keeps the best schedule of every layout rank."""

    def __init__(
        self,
        hw: Hardware,
        wishes: Wishes,
        least: Costs,
        deadline: float,
        known: KnownModels | None = None,
        most: float = inf,
        *,
        is_part: bool = False,
        least_rank: int = 0,
    ) -> None:
        self.hw = hw
        self.wishes = wishes
        self.slack = _slack(wishes.cost)  # of values worth a look
        self.least = least
        self.deadline = deadline
        self.known = known or KnownModels()
        self.most = most  # of the aim's value: only what is below is of use
        # nobody asks what is better than the chosen one and repacks buffers
        self.is_part = is_part and wishes.cost is ANALYTICAL
        self.least_rank = least_rank  # no covering is more natural
        self.floor = 0.0  # nothing that was not looked at is below
        self.by_rank: dict[int, Schedule] = {}
        self.open_bounds: list[
            tuple[int, float]
        ] = []  # (rank, bound) of what was not solved to the end
        self.alternatives: list[Alternative] = []
        self.solved: list[Schedule] = []
        self.contenders: tuple[Contender, ...] = ()
        self.spreads: set[tuple[object, ...]] = set()  # over cores, that were looked at
        self.means: set[tuple[object, ...]] = set()  # of coverings that were looked at
        self.packing: set[tuple[TiledLoop, ...]] = set()  # loops of natural ones that pack
        self.num_unfit = 0
        self.num_slow = 0  # not below `most`
        self.slow_rank = inf  # of the most natural one among them
        self.num_excluded = 0  # by the aim's limits
        self.num_unordered = 0
        self.why_unordered = ""  # of the first one
        self.too_large_bytes = 0  # least room that buffers would need in the external memory
        self.is_complete = True
        self.is_ended = False  # by its time limit

    def run(self, stream: Iterator[Covering], first: Covering | None = None) -> None:
        """Consume coverings until none can matter, `first` before all others.

        Of those with equal compute bounds the most natural come first, then the lowest bounds: what
        is solved early rules out most of what follows.
        """
        if first is not None and self._may_fit(first):
            self._consider(first, count_work(first, self.hw))
        fitting = (covering for covering in stream if covering != first and self._may_fit(covering))
        rated = ((covering, count_work(covering, self.hw)) for covering in fitting)
        for compute_cycles, equals in groupby(rated, lambda pair: pair[1].shared_cycles):
            if self._is_hopeless(compute_cycles):
                return
            self.floor = self._floor(compute_cycles)
            while some := list(self._next_some(equals)):
                for covering, work in sorted(some, key=self._order):
                    if self._must_stop():
                        self.is_complete, self.is_ended = False, self._is_late()
                        self.open_bounds.append((0, self._floor(compute_cycles)))
                        return
                    self._consider(covering, work)

    def _next_some(self, rated: Iterator[Rated]) -> Iterator[Rated]:
        """What is put in order before any of it is solved: as much as is found in time, or one."""
        for pair in islice(rated, MAX_COVERINGS):
            yield pair
            if self._is_late():
                return

    def _may_fit(self, covering: Covering) -> bool:
        """Is there room for single units? Else nothing more is asked about the covering."""
        is_unfit = not may_fit(covering, self.hw)
        self.num_unfit += is_unfit
        return not is_unfit

    def _must_stop(self) -> bool:
        """Is a limit reached? Never without any schedule, as far as time goes."""
        return (self._is_late() and bool(self.by_rank)) or len(self.alternatives) >= MAX_COVERINGS

    def _is_late(self) -> bool:
        return self.wishes.clock.now() > self.deadline or self.wishes.watch.is_stopped

    def _order(self, pair: Rated) -> tuple[int, float, int]:
        least = least_costs(*pair, self.hw).at_least(self.least)
        return self._rank(pair[0]), self.wishes.aim.value(least), self._num_copies(pair[0])

    def _rank(self, covering: Covering) -> int:
        return rank_of(covering, self.wishes.ahead)

    def _is_served(self, covering: Covering, rank: int) -> bool:
        """Has a covering been looked at that caches serve as well?

        One with the same packed operands and layouts, which copied less into registers, where
        neither a port nor the nearest cache counts what calls read in place. Where nothing is
        to be repacked if it can be helped, one that packs operands itself instead.
        """
        means = packed_means(covering)
        if self.wishes.layouts == "natural" and rank and covering.loops in self.packing:
            return True
        is_counted = self.hw.external.ports or self.hw.caches[0].reads_per_cycle
        is_served = means in self.means and not is_counted
        # those that are measured differ
        is_served = is_served and self.wishes.cost.num_candidates == 1
        self.means.add(means)
        if not rank and any(r.is_packed for plan in covering.operands for r in plan.residences):
            self.packing.add(covering.loops)
        return is_served

    def _num_copies(self, covering: Covering) -> int:
        """In how many memories operands stay, where that decides what is looked at first."""
        return sum(len(plan.residences) for plan in covering.operands) if self.hw.caches else 0

    def _floor(self, compute_cycles: int) -> float:
        """What no covering with so many cycles of compute goes below."""
        most = max(compute_cycles, self.least.cycles)
        return self.wishes.aim.value(replace(self.least, cycles=most))

    def _is_hopeless(self, compute_cycles: int) -> bool:
        """Does the compute bound, which only grows along the stream, rule out everything that
        follows?"""
        if not self.wishes.aim.allows(Costs(compute_cycles, 0, 0)):
            return bool(self.num_excluded or self.by_rank)
        floor = self._floor(compute_cycles)
        if not self.by_rank:
            self.num_slow += floor >= self.most
            return floor >= self.most
        if not self._is_near(floor, self.slack * self.fastest().solution.value):
            return True
        natural = [s.solution.value for r, s in self.by_rank.items() if r <= self.least_rank]
        return bool(natural) and floor >= self.slack * min(natural)

    def _tolerance(self) -> float:
        if self.wishes.layouts == "packed":
            return 1.0
        # a core with caches would repack by itself, in every run: packed stays do that for less
        return inf if self.hw.caches else NATURAL_TOLERANCE

    def _is_near(self, value: float, best: float) -> bool:
        """Is it worth it for what is more natural, beside the best one? (Infinitely many times
        nothing would be no number.)"""
        tolerance = self._tolerance()
        return tolerance == inf or value <= tolerance * best

    def _consider(self, covering: Covering, work: Work) -> None:
        least = least_costs(covering, work, self.hw).at_least(self.least)
        needed = external_bytes(covering)
        if needed > self.hw.external.size_bytes:
            self.too_large_bytes = min(needed, self.too_large_bytes or needed)
            return
        if not stay_choices(covering, self.hw):
            self.num_unordered += 1
            whys = (why_unordered(covering, plan, self.hw) for plan in covering.operands)
            self.why_unordered = self.why_unordered or next(filter(None, whys))
            return
        if covering.shares:
            key = (id(covering.single), covering.loops, work)
            if key in self.spreads:  # the same along other axes of the cores
                return
            self.spreads.add(key)
        rank = self._rank(covering)
        if self.hw.caches and self._is_served(covering, rank):
            return
        rivals = [self.slack * s.solution.value for r, s in self.by_rank.items() if r <= rank]
        clearly = CLEARLY if self.hw.caches else 1.0
        wanted = [clearly * value for value in rivals]
        cutoff = min([*wanted, *([self.most] if self.most < inf else [])], default=None)
        bound = self.wishes.aim.value(least)
        passed = Alternative(covering, round(least.cycles), None, bound, None)
        if self.is_part and self._is_outdone(rank, bound):
            self.alternatives.append(passed)
            return
        if cutoff is not None and bound >= cutoff:
            if rivals and bound < min(rivals):
                self.open_bounds.append((rank, bound))
            self._note_slow(rank, rivals)
            self.alternatives.append(passed)
            return
        solution = solve(
            covering,
            work,
            self.hw,
            time_limit_s=max(0.1, self.deadline - self.wishes.clock.now()),
            workers=self.wishes.workers,
            seed=self.wishes.seed,
            aim=self.wishes.aim,
            cutoff=cutoff,
            effort=RIVAL_EFFORT if rivals else None,
            clock=self.wishes.clock,
            watch=self._relay(),
            known=self.known,
        )
        if solution.status is Status.UNKNOWN:
            self.open_bounds.append((rank, solution.bound))
        if solution.tiling is None:
            if cutoff is not None:
                self._note_slow(rank, rivals)
            self.num_unfit += cutoff is None and not self.wishes.aim.limits
            self.num_excluded += bool(self.wishes.aim.limits)
            self.alternatives.append(passed)
            return
        self._keep(covering, work, solution, passed)

    def _is_outdone(self, rank: int, bound: float) -> bool:
        """Would a more natural schedule be chosen before one that only takes so much?"""
        natural = (known for r, known in self.by_rank.items() if r < rank)
        return any(self._is_near(known.cost, bound) for known in natural)

    def _note_slow(self, rank: int, rivals: list[float]) -> None:
        """A covering was passed over: unless for one that is as natural, it is not below `most`."""
        if not rivals:
            self.num_slow += 1
            self.slow_rank = min(self.slow_rank, rank)

    @property
    def holds_below(self) -> float:
        """Asked for less than so much, the search would choose the same: above, a more natural
        schedule that was passed over may be chosen."""
        return self.most if self.slow_rank < self._rank(self.chosen().covering) else inf

    def drop_unnatural(self) -> None:
        """Where the most natural schedule is chosen whatever it takes, one that is not below `most`
        would have been chosen before less natural ones."""
        if self._tolerance() == inf:
            kept = {rank: s for rank, s in self.by_rank.items() if rank <= self.slow_rank}
            self.by_rank = kept

    def _keep(
        self, covering: Covering, work: Work, solution: Solution, passed: Alternative
    ) -> None:
        """Remember a solution if it is the best of its rank."""
        assert solution.tiling is not None, "a solution that is kept has a tiling"
        made = make(covering, work, solution, self.hw, self.wishes.aim)
        if self.wishes.cost.num_candidates == 1:
            (price,) = self.wishes.cost.price([candidate(made)], self.hw)
            made = at_price(made, price.cycles, self.hw, self.wishes.aim)
        found = replace(passed, cycles=made.estimate.cycles, value=solution.value)
        self.alternatives.append(found)
        rank = self._rank(covering)
        if solution.status is not Status.OPTIMAL or self.wishes.cost.num_candidates > 1:
            self.open_bounds.append((rank, solution.bound))
        self.solved.append(made)
        self._offer(made)

    def _offer(self, schedule: Schedule) -> None:
        """Keep the schedule if it is the best of its rank."""
        rank = self._rank(schedule.covering)
        known = self.by_rank.get(rank)
        if known is None or schedule.cost < known.cost:
            self.by_rank[rank] = schedule

    def compare(self) -> None:
        """Let the cost model choose among more schedules than the best of each covering, if it
        wants to, unless the search was stopped. Whether to repack is the closed form's choice, as
        the time it takes is not priced.
        """
        if self.wishes.cost.num_candidates == 1 or self.wishes.watch.is_stopped:
            return
        is_packed = self.wishes.layouts == "packed"
        rank = max(self.by_rank) if is_packed else self._rank(self.chosen().covering)
        solved = [schedule for schedule in self.solved if self._rank(schedule.covering) <= rank]
        self.contenders = compare(solved, self.hw, self.wishes, self.slack)
        self.by_rank.clear()
        for contender in self.contenders:
            if contender.price.cycles is not None:
                self._offer(contender.schedule)

    def _relay(self) -> Relay:
        """The watch of one covering's solution."""
        known = [schedule.solution.value for schedule in self.by_rank.values()]
        bound = min([self.floor, *(bound for _, bound in self.open_bounds)])
        return Relay(self.wishes.watch, len(self.alternatives) + 1, min(known, default=None), bound)

    def fastest(self) -> Schedule:
        """The schedule that the aim likes best, the more natural one of equals."""
        ranks = sorted(self.by_rank)
        return min((self.by_rank[rank] for rank in ranks), key=lambda s: s.cost)

    def chosen(self) -> Schedule:
        """The most natural schedule that the best one does not beat clearly."""
        best = self.fastest().cost
        natural = (self.by_rank[rank] for rank in sorted(self.by_rank))
        return next(schedule for schedule in natural if self._is_near(schedule.cost, best))

    def bound(self, schedule: Schedule) -> float:
        """Least value that a covering that would have been preferred could still reach.

        That is any covering in packed mode, otherwise any that is at least as natural.
        """
        rank = self._rank(schedule.covering)
        rivals = [b for r, b in self.open_bounds if self.wishes.layouts == "packed" or r <= rank]
        return min([schedule.solution.value, *rivals])

    def misfits(self) -> Misfits:
        """Why coverings could not be scheduled."""
        return Misfits(self.too_large_bytes, self.num_unordered, self.num_unfit, self.why_unordered)

    def least_cycles(self) -> int:
        """Least cycles of any covering, whatever the aim."""
        looked_at = [other.bound_cycles for other in self.alternatives]
        return min(looked_at) if self.is_complete else 0


def _slack(cost: CostModel) -> float:
    """How far above the best, under the closed form, the cost model's choice may lie."""
    if cost.num_candidates == 1:
        return 1.0
    return FAR if isinstance(cost, TakesRounds) else CLOSE


def packed_means(covering: Covering) -> tuple[object, ...]:
    """Its loops, and how each buffer lies and is packed."""
    ways = frozenset(
        (
            plan.buffer,
            tuple(r.memory for r in plan.residences if r.is_packed),
            tuple(end.layout for _, _, end in plan.ends),
        )
        for plan in covering.operands
    )
    return covering.loops, ways
