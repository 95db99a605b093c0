"""Find the best tiling of one covering, with a proof.

In: a covering, its work, the machine, limits. Out: the tiling, its estimated cycles, the proven
bound and the status. Not its job: which covering.
"""

import time
from dataclasses import dataclass, replace
from enum import Enum

from ortools.sat.python import cp_model

from isamap.costmodels import Tiling, Work, bound_cycles, estimate
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .algebra import add_up
from .greedy import schedule_greedily
from .legality import is_legal
from .model import TilingModel
from .options import stay_choices
from .run_solver import Limits, Report, run_solver
from .stalls import SCALE
from .watch import NOBODY, Progress, Watch

LEAN_EFFORT = 2.5  # deterministic seconds to find, of equally fast tilings, one that moves less


class Status(Enum):
    """What is known about a schedule."""

    OPTIMAL = "optimal"  # nothing in the model's space is better
    FEASIBLE = "feasible"  # stopped by a limit; see the bound
    UNKNOWN = "unknown"  # stopped by a limit before anything was found or ruled out
    INFEASIBLE = "infeasible"  # nothing fits


@dataclass(frozen=True, slots=True)
class Solution:
    """The best tiling found; `bound_cycles` holds for every tiling of this covering under the
    model."""

    status: Status
    tiling: Tiling | None
    cycles: int
    bound_cycles: int
    seconds: float


def solve(
    covering: Covering,
    work: Work,
    hw: Hardware,
    *,
    time_limit_s: float,
    workers: int = 1,
    seed: int = 0,
    cutoff_cycles: int | None = None,
    effort: float | None = None,
    watch: Watch = NOBODY,
) -> Solution:
    """Minimise the closed-form cycles of a covering; the greedy tiling is the hint and the
    fallback.

    `cutoff_cycles`: only tilings below it are wanted; INFEASIBLE with this bound says there is
    none. `effort`: a limit in the solver's deterministic seconds.
    """
    begin = time.perf_counter()
    if not stay_choices(covering, hw):
        return Solution(Status.INFEASIBLE, None, 0, 0, 0.0)
    limits = Limits(begin + time_limit_s, workers, seed, effort)
    built = TilingModel(covering, work, hw)
    if cutoff_cycles is not None:
        built.model.add(built.cycles < cutoff_cycles * SCALE)
    report = _reporter(covering, bound_cycles(covering, work, hw)[0], watch)
    solver, status = run_solver(built.model, limits, lambda: watch.is_stopped, report)
    if status == cp_model.INFEASIBLE and built.is_wide:
        solver, status = run_solver(
            built.model, limits, lambda: watch.is_stopped, report, presolve=False
        )
    assert status != cp_model.MODEL_INVALID, built.model.validate()
    if status == cp_model.INFEASIBLE and cutoff_cycles is not None:
        seconds = time.perf_counter() - begin
        return Solution(Status.INFEASIBLE, None, 0, cutoff_cycles, seconds)
    bound = -(-max(0, round(solver.best_objective_bound)) // SCALE)
    bound = max(bound, bound_cycles(covering, work, hw)[0])
    candidates = []
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        found = built.tiling(solver)
        leanest = _least_traffic(built, solver, limits, watch)
        candidates = [t for t in (leanest, found) if is_legal(covering, t, hw)]
    reached = min((estimate(covering, work, t, hw).cycles for t in candidates), default=None)
    # the model counts in SCALEths of a cycle, and on rare small cases a few cycles too few: then
    # what it found is no proof
    is_optimal = status == cp_model.OPTIMAL and reached is not None and reached <= bound + 1
    if not is_optimal:
        greedy = schedule_greedily(covering, work, hw)
        candidates += [] if greedy is None else [greedy]
    seconds = time.perf_counter() - begin
    if not candidates:
        is_proven = status == cp_model.INFEASIBLE
        nothing = Status.INFEASIBLE if is_proven else Status.UNKNOWN
        return Solution(nothing, None, 0, bound, seconds)
    best = min(candidates, key=lambda t: estimate(covering, work, t, hw).cycles)
    cycles = estimate(covering, work, best, hw).cycles
    return Solution(
        Status.OPTIMAL if is_optimal else Status.FEASIBLE, best, cycles, min(bound, cycles), seconds
    )


def _reporter(covering: Covering, least_cycles: int, watch: Watch) -> Report:
    """Solutions and bounds in the solver's units as progress on this covering."""

    def report(best: float | None, bound: float) -> None:
        cycles = None if best is None else -(-round(best) // SCALE)
        proven = max(least_cycles, -(-round(bound) // SCALE))
        watch.see(Progress(covering.kernel.name, 1, cycles, proven, proven))

    return report


def _least_traffic(
    built: TilingModel, first: cp_model.CpSolver, limits: Limits, watch: Watch
) -> Tiling:
    """Among the tilings as fast as the one found, one that moves least: it leaves the most
    slack."""
    best = built.tiling(first)
    if time.perf_counter() >= limits.deadline or watch.is_stopped:
        return best
    built.model.add(built.cycles <= round(first.objective_value))
    built.model.clear_hints()  # type: ignore[no-untyped-call]
    built.hint(best)
    preferences = add_up(built.late_sums.values()) - add_up(built.doubles)
    built.model.minimize(add_up(built.moved.values()) + built.first_tiles + preferences)
    soon = replace(limits, effort=LEAN_EFFORT)
    presolve = bool(first.parameters.cp_model_presolve)
    solver, status = run_solver(built.model, soon, lambda: watch.is_stopped, presolve=presolve)
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return built.tiling(solver)
    return best
