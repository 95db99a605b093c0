"""Run CP-SAT so that it can be watched and stopped.

In: a model, a deadline, a watch. Out: the solver after its run. Not its job: building the model,
reading the solution.

The solver runs in a thread of its own: the calling one stays awake for a wish to stop and for
Ctrl-C, which Python would otherwise see only after the search.
"""

from collections.abc import Callable
from threading import Thread

from ortools.sat.python import cp_model

from .limits import Limits

POLL_SECONDS = 0.05

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


def run_solver(
    model: cp_model.CpModel,
    limits: Limits,
    is_stopped: Callable[[], bool],
    report: Report | None = None,
    *,
    presolve: bool = True,
) -> tuple[cp_model.CpSolver, cp_model.CpSolverStatus]:
    """Solve until done, out of time, or `is_stopped`; KeyboardInterrupt ends it and passes on."""
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
    # else solutions may creep to a bound that is already known, one unit less each: 57 000 of them
    solver.parameters.use_objective_lb_search = True
    solver.parameters.catch_sigint_signal = False
    if effort is not None:
        solver.parameters.max_deterministic_time = effort
    reporter = _Reporter(report) if report is not None else None
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
    return solver, statuses[0]
