"""The best tiling of one covering under the solver's model, with a proof.

In: as for `solve`. Out: a Solution. Not its job: machines whose caches decide, which the model does
not know.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import ceil, inf

from ortools.sat.python import cp_model

from isamap.costmodels import FASTEST, Aim, Costs, Metric, Tiling, Work, estimate, least_costs
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .algebra import SCALE, Linear, add_up
from .greedy import schedule_greedily
from .legality import is_legal, is_offered
from .limits import Limits
from .model import TilingModel
from .near_tilings import near_tilings, remember
from .run_solver import Report, Run, run_solver
from .solution import KnownModels, Solution, Status
from .target import Target, set_target
from .watch import Progress, Watch

LEAN_EFFORT = 2.5  # deterministic seconds to find, of equally good tilings, a leaner or faster one
ATTEMPTS = 3  # to keep a limit on cycles, which the model counts a few too low or too high


def prove(
    covering: Covering,
    work: Work,
    hw: Hardware,
    aim: Aim,
    limits: Limits,
    watch: Watch,
    cutoff: float | None,
    known: KnownModels | None,
) -> Solution:
    """As `solve`; `known` grows."""
    solving = _Solving(covering, work, hw, aim, limits, watch)
    if known is None or aim.limits:  # whose models change while they are solved
        return solving.solve(cutoff)
    digest = solving.built.digest
    names = {loop.name: str(number) for number, loop in enumerate(covering.loops)}
    before = known.proven.get(digest)
    back = {number: name for name, number in names.items()}
    solution = solving.recall(_renamed(before, back) if before else None, cutoff)
    if solution is None:
        near = near_tilings(known, covering, hw) if aim == FASTEST else ()
        solution = solving.solve(cutoff, near)
        known.proven[digest] = _best_known(before, _renamed(solution, names), cutoff)
        if solution.status is Status.OPTIMAL and solution.tiling is not None:
            remember(known, covering, solution.tiling)
    return solution


def _renamed(solution: Solution, names: Mapping[str, str]) -> Solution:
    """With other names of its loops."""
    tiling = solution.tiling
    if tiling is None:
        return solution
    renamed = Tiling(
        tuple((names[name], tile) for name, tile in tiling.tiles),
        tuple(names[name] for name in tiling.outer),
        tuple(names[name] for name in tiling.inner),
        tuple(replace(s, kept=tuple(names[name] for name in s.kept)) for s in tiling.stays),
    )
    return replace(solution, tiling=renamed)


def _best_known(old: Solution | None, new: Solution, cutoff: float | None) -> Solution:
    """The solution of a model that says most: a best tiling, or the highest bound."""
    most = inf if cutoff is None else cutoff
    new = replace(new, bound=most if new.status is Status.INFEASIBLE else min(new.bound, most))
    if old is None or new.status is Status.OPTIMAL:
        return new
    return old if old.status is Status.OPTIMAL or old.bound >= new.bound else new


class _Solving:
    """One covering's model while it is solved."""

    def __init__(
        self,
        covering: Covering,
        work: Work,
        hw: Hardware,
        aim: Aim,
        limits: Limits,
        watch: Watch,
    ) -> None:
        self.begin = time.perf_counter()
        self.covering = covering
        self.work = work
        self.hw = hw
        self.aim = aim
        self.limits = limits
        self.watch = watch
        self.least = least_costs(covering, work, hw)
        self.built = TilingModel(covering, work, hw)
        self.greedy: Tiling | None = None
        self.target = Target(self.built.cycles, SCALE, 1.0)
        if aim != FASTEST:
            self.greedy = self._grow()
            known = self.costs(self.greedy) if self.greedy else self.least
            is_allowed = self.greedy is not None and aim.allows(known)
            self.target = set_target(self.built, work, hw, aim, known, is_allowed=is_allowed)
            if self.greedy:
                self.built.hint(self.greedy)

    def _grow(self) -> Tiling | None:
        clock = self.limits.clock
        return schedule_greedily(self.covering, self.work, self.hw, self.aim, clock)

    def costs(self, tiling: Tiling) -> Costs:
        """Under the closed form."""
        return estimate(self.covering, self.work, tiling, self.hw).costs(self.hw)

    def recall(self, known: Solution | None, cutoff: float | None) -> Solution | None:
        """What is known of the model as this covering's solution; None where that is too little."""
        if known is None:
            return None
        if cutoff is not None and known.bound >= cutoff:
            return self._nothing(Status.INFEASIBLE, cutoff)
        if known.status is not Status.OPTIMAL or known.tiling is None:
            return None
        is_same = self.aim.value(self.costs(known.tiling)) == known.value
        return known if is_same and is_offered(self.covering, known.tiling, self.hw) else None

    def solve(self, cutoff: float | None, near: Iterable[Tiling] = ()) -> Solution:
        """As the function of this name; `near`: legal tilings, of which one may be best."""
        values = {self.aim.value(self.costs(tiling)): tiling for tiling in near}
        start = min(values, default=inf)
        if start < (inf if cutoff is None else cutoff):
            return self._start_from(values[start], start)
        if cutoff is not None:
            self._add_limit(cutoff)
        found, bound, status = self._search()
        if status == cp_model.INFEASIBLE:
            least = self.aim.value(self.least)
            return self._nothing(Status.INFEASIBLE, least if cutoff is None else cutoff)
        return self._best_of(found, bound, status)

    def _start_from(self, start: Tiling, value: float) -> Solution:
        """The best tiling, where this one has this value: often there is nothing below it, which is
        sooner proven than found out anew."""
        limit = self._add_limit(value)
        found, bound, status = self._search()
        if status == cp_model.INFEASIBLE:
            limit.proto.linear.domain[1] += SCALE  # what takes as long, as whole cycles count
            lean = self._leanest(start, presolve=True)
            legal = [t for t in (lean, start) if is_legal(self.covering, t, self.hw)]
            return self._best_of(legal, value, cp_model.OPTIMAL)
        return self._best_of([*found, start], bound, status)

    def _add_limit(self, cutoff: float) -> cp_model.Constraint:
        """Ask for less than that."""
        below = ceil(cutoff * self.target.scale) - 1
        if self.aim.is_fastest:  # a tiling of fewer cycles takes at least a whole one less
            below = SCALE * (ceil(cutoff) - 1)
        return self.built.model.add(self.target.expression <= below)

    def _best_of(
        self, found: list[Tiling], bound: float, status: cp_model.CpSolverStatus
    ) -> Solution:
        """The best of legal tilings; `bound`, `status`: of the search that found them."""
        bound = max(self.aim.value(self.least), bound)
        reached = min((self.aim.value(self.costs(t)) for t in found), default=None)
        # the model counts in SCALEths of a cycle, and on rare small cases a few cycles too few:
        # then what it found is no proof
        is_optimal = (
            status == cp_model.OPTIMAL
            and reached is not None
            and reached <= bound + self.target.slack
        )
        if not is_optimal:
            greedy = self.greedy or self._grow()
            is_allowed = greedy is not None and self.aim.allows(self.costs(greedy))
            found += [greedy] if greedy is not None and is_allowed else []
        if not found:
            return self._nothing(Status.UNKNOWN, bound)
        best = min(found, key=lambda t: self.aim.value(self.costs(t)))
        return self._solution(best, bound, Status.OPTIMAL if is_optimal else Status.FEASIBLE)

    def _solution(self, best: Tiling, bound: float, status: Status) -> Solution:
        costs = self.costs(best)
        value = self.aim.value(costs)
        bound = min(bound, value)
        cycles = round(costs.cycles)
        bound_cycles = round(bound) if self.aim.is_fastest else round(self.least.cycles)
        seconds = time.perf_counter() - self.begin
        return Solution(status, best, cycles, min(bound_cycles, cycles), seconds, value, bound)

    def _nothing(self, status: Status, bound: float) -> Solution:
        seconds = time.perf_counter() - self.begin
        is_fastest = self.aim.is_fastest
        cycles = round(bound if is_fastest else self.least.cycles)
        return Solution(status, None, 0, cycles, seconds, 0.0, bound)

    def _to_value(self, objective: float) -> float:
        """Something in the model's units in the aim's, whole cycles rounded up."""
        if self.aim.is_fastest:
            return -(-max(0, round(objective)) // SCALE)
        return max(0.0, objective) / self.target.scale

    def _run(self, report: Report) -> Run:
        """Solve the model as it is; one with wide domains that seems infeasible, once more."""
        model, limits = self.built.model, self.limits
        run = run_solver(model, limits, lambda: self.watch.is_stopped, report)
        if run.status == cp_model.INFEASIBLE and self.built.is_wide:
            run = run_solver(model, limits, lambda: self.watch.is_stopped, report, presolve=False)
        assert run.status != cp_model.MODEL_INVALID, model.validate()
        return run

    def _search(self) -> tuple[list[Tiling], float, cp_model.CpSolverStatus]:
        """Legal tilings within the limits, the bound and the solver's status.

        The model counts cycles a few too low or too high: as long as its best exceeds a limit, the
        model's limit is lowered by as much, and the proof is up to these few cycles.
        """
        bound = 0.0
        for _ in range(ATTEMPTS):
            run = self._run(self._report)
            solver, status = run.solver, run.status
            bound = max(bound, self._to_value(run.bound))
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return [], bound, status
            found = self.built.tiling(solver)
            if self.aim.allows(self.costs(found)):
                self.built.model.add(self.target.expression <= round(solver.objective_value))
                presolve = bool(solver.parameters.cp_model_presolve)
                candidates = (self._leanest(found, presolve=presolve), found)
                legal = [t for t in candidates if is_legal(self.covering, t, self.hw)]
                return [t for t in legal if self.aim.allows(self.costs(t))], bound, status
            self._tighten(solver, self.costs(found))
        return [], bound, cp_model.UNKNOWN

    def _tighten(self, solver: cp_model.CpSolver, costs: Costs) -> None:
        """Ask for so much less as a tiling within the model's limits exceeds the true ones."""
        for (metric, most), scaled in zip(self.aim.limits, self.target.limited, strict=True):
            excess = ceil((costs.of(metric) - most) * scaled.scale)
            if excess > 0:
                counted = solver.value(scaled.expression)
                self.built.model.add(scaled.expression <= counted - excess)

    def _report(self, best: float | None, bound: float) -> None:
        """Solutions and bounds in the solver's units as progress on this covering."""
        value = None if best is None else self._to_value(best)
        proven = max(self.aim.value(self.least), self._to_value(bound))
        name = self.covering.kernel.name
        self.watch.see(Progress(name, 1, value, proven, proven, self.aim))

    def _leanest(self, best: Tiling, *, presolve: bool) -> Tiling:
        """Among the tilings that the model still allows, all as good as this one, the fastest; of
        the fastest, one that moves least, in few large tiles, as it leaves the most slack."""
        built, aim = self.built, self.aim
        if self.limits.clock.now() >= self.limits.deadline or self.watch.is_stopped:
            return best
        built.model.clear_hints()  # type: ignore[no-untyped-call]
        built.hint(best)
        goal: Linear = built.cycles
        if aim.uses(Metric.CYCLES):
            preferences = add_up(built.late_sums.values()) - add_up(built.doubles)
            preferences += add_up(built.vars.trips.values()) - add_up(built.kept)
            goal = add_up(built.moved.values()) + built.first_tiles + preferences
        built.model.minimize(goal)
        soon = replace(self.limits, effort=LEAN_EFFORT)
        run = run_solver(built.model, soon, lambda: self.watch.is_stopped, presolve=presolve)
        if run.status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return built.tiling(run.solver)
        return best
