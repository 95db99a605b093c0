"""The best schedule over all coverings of a kernel, and the proof.

In: a kernel, a machine, limits. Out: the chosen schedule, the alternatives that were looked at, a bound for all coverings.
Not its job: emulation, printing.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

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
from isamap.mapper import Covering, Mismatch, coverings, layout_rank
from isamap.program import Program

from .lower import lower
from .solve import Solution, Status, solve

NATURAL_TOLERANCE = 1.25  # repacking a buffer is the user's time too: only worth it for a clear gain
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
    """A covering that was looked at: its bound, and its schedule's cycles if it was worth solving."""

    covering: Covering
    bound_cycles: int
    cycles: int | None


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything `isamap map` knows about a kernel on a machine.

    `bound_cycles` holds for every covering of the chosen layout class under the closed-form model; `status` is
    OPTIMAL when the chosen schedule reaches it. `fastest`: a schedule that is faster but repacks buffers, if any.
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
) -> Answer:
    """Solve coverings in the order of their bounds until no remaining bound beats the best schedule.

    `layouts`: "natural" prefers buffers as they lie unless packing gains more than `NATURAL_TOLERANCE`;
    "packed" takes the fewest cycles whatever must be packed.

    Raises:
        MappingError: nothing matches, no copy fits, or no single unit fits the memories.
    """
    begin = time.perf_counter()
    mismatches: list[Mismatch] = []
    search = _Search(hw, cost, layouts, begin + time_limit_s, workers, seed)
    stream = coverings(kernel, hw, mismatches, may_reassociate=may_reassociate)
    search.run(stream)
    if search.best is None:
        raise MappingError(_why_nothing(kernel, hw, mismatches, search.num_unfit))
    best = search.chosen()
    fastest = search.best if search.best is not best else None
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


class _Search:
    """Best-first over coverings; keeps the best of all and the best with natural layouts."""

    def __init__(
        self, hw: Hardware, cost: str, layouts: str, deadline: float, workers: int, seed: int
    ) -> None:
        self.hw = hw
        self.cost = COST_MODELS[cost]
        self.layouts = layouts
        self.deadline = deadline
        self.workers = workers
        self.seed = seed
        self.best: Schedule | None = None
        self.natural: Schedule | None = None
        self.open_bounds: dict[bool, int] = {}  # least bound of what was not solved to the end
        self.alternatives: list[Alternative] = []
        self.num_unfit = 0
        self.is_complete = True

    def run(self, stream: Iterator[Covering]) -> None:
        """Consume coverings until none can matter."""
        for covering in stream:
            work = count_work(covering, self.hw)
            if self._is_hopeless(work.compute_cycles):
                return
            if len(self.alternatives) >= MAX_COVERINGS or time.perf_counter() > self.deadline:
                self.is_complete = False
                self._leave_open(True, work.compute_cycles)
                return
            self._consider(covering, work)

    def _is_hopeless(self, compute_cycles: int) -> bool:
        """Does the compute bound, which only grows along the stream, rule out everything that follows?"""
        if self.best is None or compute_cycles < self.best.estimate.cycles:
            return False
        if self.natural is not None:
            return compute_cycles >= self.natural.estimate.cycles
        return self.layouts == "packed" or (
            compute_cycles > NATURAL_TOLERANCE * self.best.estimate.cycles
        )

    def _consider(self, covering: Covering, work: Work) -> None:
        bound, _ = bound_cycles(covering, work, self.hw)
        is_natural = all(layout_rank(plan) == 0 for plan in covering.operands)
        rival = self.natural if is_natural and self.layouts == "natural" else self.best
        if rival is not None and bound >= rival.estimate.cycles:
            self.alternatives.append(Alternative(covering, bound, None))
            return
        left = max(0.1, self.deadline - time.perf_counter())
        cutoff = rival.estimate.cycles if rival else None
        solution = solve(
            covering,
            work,
            self.hw,
            time_limit_s=left,
            workers=self.workers,
            seed=self.seed,
            cutoff_cycles=cutoff,
        )
        if solution.tiling is None:
            self.num_unfit += cutoff is None
            self.alternatives.append(Alternative(covering, bound, None))
            return
        program = lower(covering, solution.tiling, self.hw)
        assert program is not None, "a legal tiling was placed before"
        cycles = estimate(covering, work, solution.tiling, self.hw)
        candidate = Candidate(covering, work, solution.tiling, program)
        cost = self.cost(candidate, self.hw)
        found = Schedule(covering, work, solution, cycles, program, cost)
        self.alternatives.append(Alternative(covering, bound, cycles.cycles))
        if solution.status is not Status.OPTIMAL:
            self._leave_open(is_natural, solution.bound_cycles)
        if is_natural and (self.natural is None or cost < self.natural.cost_cycles):
            self.natural = found
        if self.best is None or cost < self.best.cost_cycles:
            self.best = found

    def _leave_open(self, is_natural: bool, bound: int) -> None:
        self.open_bounds[is_natural] = min(bound, self.open_bounds.get(is_natural, bound))

    def chosen(self) -> Schedule:
        """The natural schedule unless packing gains clearly."""
        assert self.best is not None
        if self.layouts == "packed" or self.natural is None:
            return self.best
        is_close = self.natural.cost_cycles <= NATURAL_TOLERANCE * self.best.cost_cycles
        return self.natural if is_close else self.best

    def bound(self, schedule: Schedule) -> int:
        """Least cycles that any covering of the schedule's layout class could still reach."""
        open_bounds = [b for natural, b in self.open_bounds.items() if natural or not schedule.is_natural]
        return min([schedule.solution.cycles, *open_bounds])


def _why_nothing(
    kernel: Kernel, hw: Hardware, mismatches: list[Mismatch], num_unfit: int
) -> str:
    statement = pretty_statement(kernel.statements[0])
    if num_unfit:
        return f"{num_unfit} coverings of {kernel.name} do not fit the memories of {hw.name}:\n{statement}"
    lines = [f"no instruction of {hw.name} computes\n{statement}"]
    for miss in sorted(mismatches, key=lambda m: -m.progress)[:5]:
        lines.append(f"  {miss.instruction}: {miss.reason}")
    return "\n".join(lines)
