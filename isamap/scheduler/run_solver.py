"""Run CP-SAT so that it can be watched and stopped.

In: a model, a deadline, a watch. Out: the solver after its runs. Not its job: building the model,
reading the solution.

The solver runs in a thread of its own: the calling one stays awake for a wish to stop and for
Ctrl-C, which Python would otherwise see only after the search.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from threading import Thread

from ortools.sat.python import cp_model

from .limits import Limits

POLL_SECONDS = 0.05
# from below? deterministic seconds of each turn (None: what is left)
DIRECTIONS = ((True, 0.25), (False, 2.0), (True, None))
OPEN = (cp_model.FEASIBLE, cp_model.UNKNOWN)

# called with the objective of the best solution (None: none so far) and the proven bound
Report = Callable[[float | None, float], None]


class _Reporter(cp_model.CpSolverSolutionCallback):
    """Hands every solution and every bound on."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self.report = report
        self.best: float | None = None
        self.bound = 0.0

    def on_solution_callback(self) -> None:
        """A better solution."""
        self.best = self.objective_value
        self.bound = max(self.bound, self.best_objective_bound)
        self.report(self.best, self.bound)

    def see_bound(self, bound: float) -> None:
        """A better bound."""
        self.bound = max(self.bound, bound)
        self.report(self.best, self.bound)


@dataclass(frozen=True, slots=True)
class Run:
    """What a solver ended with. `bound`: the best one proven, by this search or an earlier one."""

    solver: cp_model.CpSolver
    status: cp_model.CpSolverStatus
    bound: float


def run_solver(
    model: cp_model.CpModel,
    limits: Limits,
    is_stopped: Callable[[], bool],
    report: Report | None = None,
    *,
    presolve: bool = True,
) -> Run:
    """Solve until done, out of time, or `is_stopped`; KeyboardInterrupt ends it and passes on.

    In turns, from below and from above, as each has models that take it minutes: from above,
    solutions may creep to a bound that is already known, one unit less each (57 000 of them); from
    below, bounds creep up to a solution that is known and far above them (a 3x3 convolution on vta
    took 8.3 deterministic seconds, which takes 0.3 from above).
    """
    reporter = _Reporter(report) if report is not None else None
    left, best, bound = limits.effort, None, -inf
    for from_below, share in DIRECTIONS:
        effort = share if left is None else left if share is None else min(share, left)
        run = _solve(
            model, replace(limits, effort=effort), is_stopped, reporter, presolve, from_below
        )
        if best and best.status == cp_model.FEASIBLE and run.status == cp_model.INFEASIBLE:
            break  # presolve errs where domains are wide (`prove`)
        bound = max(bound, run.bound)
        best = run if best is None or _is_better(run, best) else best
        left = None if left is None else left - run.solver.response_proto.deterministic_time
        is_over = limits.clock.now() >= limits.deadline or (left is not None and left <= 0)
        if run.status not in OPEN or is_over or is_stopped():
            break
        if best.status == cp_model.FEASIBLE:
            _hint_all(model, best.solver)
    assert best is not None, "there is a turn"
    return replace(best, bound=bound)


def _is_better(run: Run, best: Run) -> bool:
    if run.status == best.status == cp_model.FEASIBLE:
        return bool(run.solver.objective_value < best.solver.objective_value)
    return run.status == cp_model.OPTIMAL or best.status == cp_model.UNKNOWN


def _hint_all(model: cp_model.CpModel, solver: cp_model.CpSolver) -> None:
    """The next search begins with this one's solution."""
    model.clear_hints()  # type: ignore[no-untyped-call]
    for index, value in enumerate(solver.response_proto.solution):
        model.add_hint(model.get_int_var_from_proto_index(index), value)


def _solve(
    model: cp_model.CpModel,
    limits: Limits,
    is_stopped: Callable[[], bool],
    reporter: _Reporter | None,
    presolve: bool,
    from_below: bool,
) -> Run:
    """One turn."""
    solver = cp_model.CpSolver()
    left_s, effort = max(0.0, limits.deadline - limits.clock.now()), limits.effort
    if limits.clock.is_wall:
        solver.parameters.max_time_in_seconds = left_s
    else:
        effort = left_s if effort is None else min(effort, left_s)
    solver.parameters.num_workers = limits.workers
    solver.parameters.random_seed = limits.seed
    solver.parameters.cp_model_presolve = presolve
    # models of some hundred variables: a third less time than with more of both
    solver.parameters.max_presolve_iterations = 1
    solver.parameters.cp_model_probing_level = 1
    solver.parameters.use_objective_lb_search = from_below
    solver.parameters.catch_sigint_signal = False
    if effort is not None:
        solver.parameters.max_deterministic_time = effort
    if reporter is not None:
        solver.best_bound_callback = reporter.see_bound
    statuses: list[cp_model.CpSolverStatus] = []
    thread = Thread(target=lambda: statuses.append(solver.solve(model, reporter)), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(POLL_SECONDS)
            if is_stopped():
                solver.stop_search()
    except BaseException:
        while thread.is_alive():
            solver.stop_search()
            thread.join(POLL_SECONDS)
        raise
    limits.clock.spend(solver.response_proto.deterministic_time)
    return Run(solver, statuses[0], solver.best_objective_bound)
