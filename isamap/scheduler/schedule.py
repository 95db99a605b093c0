"""The best schedule over all coverings of a kernel, and the proof.

In: a kernel, a machine, limits. Out: the chosen schedule, the alternatives that were looked at, a
bound for all coverings. Not its job: emulation, printing.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from types import MappingProxyType

from isamap.costmodels import (
    COST_MODELS,
    Candidate,
    Estimate,
    Work,
    bound_cycles,
    count_work,
    estimate,
)
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, pretty_statement
from isamap.mapper import (
    Covering,
    Ends,
    Mismatch,
    coverings,
    find_missing,
    layout_rank,
    nearest_miss,
)
from isamap.program import Layout, Program

from .lower import lower
from .options import stay_choices
from .place import external_bytes
from .same_layout import same_layout
from .solve import Solution, Status, solve
from .watch import NOBODY, Relay, Watch

NATURAL_TOLERANCE = (
    1.25  # repacking a buffer is the user's time too: only worth it for a clear gain
)
RIVAL_EFFORT = 1.0  # deterministic seconds to beat a schedule or to prove that it cannot; else
# its bound stays open
MAX_MISSES = 5  # named in an error
NOWHERE: Mapping[str, str] = MappingProxyType({})
NO_LAYOUTS: Mapping[str, Layout] = MappingProxyType({})
MAX_COVERINGS = 400  # looked at per kernel; what is cut is said in the answer


@dataclass(frozen=True, slots=True)
class Schedule:
    """A covering, scheduled: `solution` holds tiling, status and this covering's own bound."""

    covering: Covering
    work: Work
    solution: Solution
    estimate: Estimate
    program: Program
    cost_cycles: int  # under the chosen cost model

    @property
    def is_natural(self) -> bool:
        """Are all buffers used as they lie in the external memory?"""
        return all(layout_rank(plan) == 0 for plan in self.covering.operands)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A covering that was looked at: its bound, and its schedule's cycles if it was worth
    solving."""

    covering: Covering
    bound_cycles: int
    cycles: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything `isamap map` knows about a kernel on a machine.

    `bound_cycles` holds for every covering of the chosen layout class under the closed-form model;
    `status` is OPTIMAL when the chosen schedule reaches it. `fastest`: a schedule that is faster
    but repacks buffers, if any.
    """

    kernel: Kernel
    best: Schedule
    fastest: Schedule | None
    status: Status
    bound_cycles: int
    alternatives: tuple[Alternative, ...]
    mismatches: tuple[Mismatch, ...]
    num_coverings: int
    is_complete: bool
    seconds: float


def find_schedule(
    kernel: Kernel,
    hw: Hardware,
    *,
    cost: str = "analytical",
    layouts: str = "natural",
    time_limit_s: float = 20.0,
    workers: int = 1,
    seed: int = 0,
    may_reassociate: bool = False,
    held: tuple[str, ...] = (),
    volatile: tuple[tuple[str, str], ...] = (),
    handed_on: frozenset[str] = frozenset(),
    ends: Ends | None = None,
    homes: Mapping[str, str] = NOWHERE,
    agreed: Mapping[str, Layout] = NO_LAYOUTS,
    watch: Watch = NOBODY,
) -> Answer:
    """Solve coverings in the order of their bounds until no remaining bound beats the best
    schedule.

    `layouts`: "natural" repacks as little as possible, unless more repacking gains more than
    `NATURAL_TOLERANCE`; "packed" takes the fewest cycles whatever must be packed.
    `held`, `volatile`, `ends`: as in a `Task`. `handed_on`: buffers that other statements touch
    too; only coverings that use them as they lie are looked at, if there are any. `homes`: buffers
    that lie in a managed memory; `agreed`: in which layout, where that is settled. `watch` ends the
    search with the best so far, in the first covering that can be scheduled with a greedy one.

    Raises:
        MappingError: nothing matches, no copy fits, or no single unit fits the memories.
    """
    begin = time.perf_counter()
    mismatches: list[Mismatch] = []
    search = _Search(hw, cost, layouts, begin + time_limit_s, workers, seed, watch)
    stream = coverings(
        kernel, hw, mismatches, may_reassociate=may_reassociate, held=held, volatile=volatile,
        ends=ends, homes=homes,
    )  # fmt: skip
    stream = filter(partial(_agrees, agreed=agreed), stream)
    if others := handed_on - homes.keys():
        stream = _prefer_natural(stream, others)
    search.run(stream)
    if not search.by_rank:
        raise _why_nothing(kernel, hw, mismatches, search)
    best = search.chosen()
    fastest = search.fastest() if search.fastest() is not best else None
    bound = search.bound(best)
    is_proven = best.solution.status is Status.OPTIMAL and best.solution.cycles <= bound
    return Answer(
        kernel,
        best,
        fastest,
        Status.OPTIMAL if is_proven else Status.FEASIBLE,
        bound,
        tuple(sorted(search.alternatives, key=lambda a: a.cycles or a.bound_cycles)),
        tuple(mismatches),
        len(search.alternatives),
        search.is_complete,
        time.perf_counter() - begin,
    )


def _agrees(covering: Covering, agreed: Mapping[str, Layout]) -> bool:
    """Does the covering use the buffers in the layouts that others use them in?"""
    return all(
        same_layout(end.layout, agreed[name])
        for plan in covering.operands
        for _, name, end in plan.ends
        if name in agreed
    )


def _prefer_natural(stream: Iterator[Covering], names: frozenset[str]) -> Iterator[Covering]:
    """The coverings that use the named buffers as they lie, or all if there is none."""
    others = []
    found = False
    for covering in islice(stream, MAX_COVERINGS):
        if all(
            layout_rank(plan) == 0
            for plan in covering.operands
            if any(name in names for _, name, _ in plan.ends)
        ):
            found = True
            yield covering
        elif not found:
            others.append(covering)
    if not found:
        yield from others


class _Search:
    """Best-first over coverings; keeps the best schedule of every layout rank."""

    def __init__(
        self,
        hw: Hardware,
        cost: str,
        layouts: str,
        deadline: float,
        workers: int,
        seed: int,
        watch: Watch,
    ) -> None:
        self.hw = hw
        self.cost = COST_MODELS[cost]
        self.layouts = layouts
        self.deadline = deadline
        self.workers = workers
        self.seed = seed
        self.watch = watch
        self.floor = 0  # least compute bound of the coverings not looked at
        self.by_rank: dict[int, Schedule] = {}
        self.open_bounds: list[
            tuple[int, int]
        ] = []  # (rank, bound) of what was not solved to the end
        self.alternatives: list[Alternative] = []
        self.num_unfit = 0
        self.num_unordered = 0
        self.too_large_bytes = 0  # least room that buffers would need in the external memory
        self.is_complete = True

    def run(self, stream: Iterator[Covering]) -> None:
        """Consume coverings until none can matter.

        Of those with equal compute bounds the most natural come first, then the lowest bounds: what
        is solved early rules out most of what follows.
        """
        rated = ((covering, count_work(covering, self.hw)) for covering in stream)
        for compute_cycles, equals in groupby(rated, lambda pair: pair[1].compute_cycles):
            if self._is_hopeless(compute_cycles):
                return
            self.floor = compute_cycles
            while some := list(islice(equals, MAX_COVERINGS)):
                for covering, work in sorted(some, key=self._order):
                    if self._must_stop():
                        self.is_complete = False
                        self.open_bounds.append((0, compute_cycles))
                        return
                    self._consider(covering, work)

    def _must_stop(self) -> bool:
        """Is a limit reached? Never without any schedule, as far as time goes."""
        is_late = time.perf_counter() > self.deadline or self.watch.is_stopped
        return (is_late and bool(self.by_rank)) or len(self.alternatives) >= MAX_COVERINGS

    def _order(self, pair: tuple[Covering, Work]) -> tuple[int, int]:
        return _rank(pair[0]), bound_cycles(*pair, self.hw)[0]

    def _is_hopeless(self, compute_cycles: int) -> bool:
        """Does the compute bound, which only grows along the stream, rule out everything that
        follows?"""
        if not self.by_rank:
            return False
        if compute_cycles > self._tolerance() * self.fastest().estimate.cycles:
            return True
        return 0 in self.by_rank and compute_cycles >= self.by_rank[0].estimate.cycles

    def _tolerance(self) -> float:
        return 1.0 if self.layouts == "packed" else NATURAL_TOLERANCE

    def _consider(self, covering: Covering, work: Work) -> None:
        bound, _ = bound_cycles(covering, work, self.hw)
        needed = external_bytes(covering)
        if needed > self.hw.external.size_bytes:
            self.too_large_bytes = min(needed, self.too_large_bytes or needed)
            return
        if not stay_choices(covering, self.hw):
            self.num_unordered += 1
            return
        rank = _rank(covering)
        rivals = [s.estimate.cycles for r, s in self.by_rank.items() if r <= rank]
        cutoff = min(rivals, default=None)
        if cutoff is not None and bound >= cutoff:
            self.alternatives.append(Alternative(covering, bound, None))
            return
        solution = solve(
            covering,
            work,
            self.hw,
            time_limit_s=max(0.1, self.deadline - time.perf_counter()),
            workers=self.workers,
            seed=self.seed,
            cutoff_cycles=cutoff,
            effort=None if cutoff is None else RIVAL_EFFORT,
            watch=self._relay(),
        )
        if solution.status is Status.UNKNOWN:
            self.open_bounds.append((rank, solution.bound_cycles))
        if solution.tiling is None:
            self.num_unfit += cutoff is None
            self.alternatives.append(Alternative(covering, bound, None))
            return
        program = lower(covering, solution.tiling, self.hw)
        assert program is not None, "a legal tiling was placed before"
        parts = estimate(covering, work, solution.tiling, self.hw)
        cost = self.cost(Candidate(covering, work, solution.tiling, program), self.hw)
        self.alternatives.append(Alternative(covering, bound, parts.cycles))
        if solution.status is not Status.OPTIMAL:
            self.open_bounds.append((rank, solution.bound_cycles))
        known = self.by_rank.get(rank)
        if known is None or cost < known.cost_cycles:
            self.by_rank[rank] = Schedule(covering, work, solution, parts, program, cost)

    def _relay(self) -> Relay:
        """The watch of one covering's solution."""
        known = [schedule.estimate.cycles for schedule in self.by_rank.values()]
        bound = min([self.floor, *(bound for _, bound in self.open_bounds)])
        return Relay(self.watch, len(self.alternatives) + 1, min(known, default=None), bound)

    def fastest(self) -> Schedule:
        """The schedule with the fewest cycles, the more natural one of equals."""
        ranks = sorted(self.by_rank)
        return min((self.by_rank[rank] for rank in ranks), key=lambda s: s.cost_cycles)

    def chosen(self) -> Schedule:
        """The most natural schedule that the fastest does not beat clearly."""
        limit = self._tolerance() * self.fastest().cost_cycles
        return next(
            self.by_rank[rank]
            for rank in sorted(self.by_rank)
            if self.by_rank[rank].cost_cycles <= limit
        )

    def bound(self, schedule: Schedule) -> int:
        """Least cycles that a covering that would have been preferred could still reach.

        That is any covering in packed mode, otherwise any that is at least as natural.
        """
        rank = _rank(schedule.covering)
        rivals = [b for r, b in self.open_bounds if self.layouts == "packed" or r <= rank]
        return min([schedule.solution.cycles, *rivals])


def _lacks(operations: tuple[str, ...]) -> str:
    return f"it lacks {', '.join(operations)}" if operations else ""


def _rank(covering: Covering) -> int:
    """How far its buffers are from lying as they do."""
    return sum(layout_rank(plan) for plan in covering.operands)


def _why_nothing(
    kernel: Kernel, hw: Hardware, mismatches: list[Mismatch], search: _Search
) -> MappingError:
    subject = kernel.statements[0]
    statement = pretty_statement(subject)
    if search.too_large_bytes:
        name, size = hw.external.name, hw.external.size_bytes
        return MappingError(
            f"the buffers of {kernel.name} need {search.too_large_bytes / 2**20:.1f} MiB,"
            f" {name!r} of {hw.name} has {size / 2**20:.1f} MiB"
        )
    if search.num_unordered and not search.num_unfit:
        return MappingError(
            f"{search.num_unordered} coverings of {kernel.name} need copies on {hw.name} that"
            " cannot be scheduled so far: more than two in a row, or, with tokens, two in a row or"
            f" an output filled by another unit than the one that computes:\n{statement}",
            loc=subject.loc,
        )
    if search.num_unfit:
        return MappingError(
            f"{search.num_unfit} coverings of {kernel.name} do not fit the memories of {hw.name}:"
            f"\n{statement}",
            loc=subject.loc,
        )
    misses = sorted(mismatches, key=lambda m: -m.progress)
    texts = [f"{miss.instruction}: {miss.reason}" for miss in misses]
    lines = [f"no instruction of {hw.name} computes\n{statement}"]
    missing = find_missing(kernel, subject, hw)
    if missing:
        lines.append(f"  nothing on {hw.name} performs: {', '.join(missing)}")
    lines += [f"  {text}" for text in dict.fromkeys(texts)][:MAX_MISSES]
    return MappingError(
        "\n".join(lines),
        loc=subject.loc,
        hint="" if hw.host else "a machine with a 'host' runs there what no instruction computes",
        reason="; ".join(filter(None, [_lacks(missing), nearest_miss(mismatches)])),
    )
