"""The solver searches from below and from above in turns.

In: small models, a convolution whose bound begins far below its best schedule. Out: failures. Not
its job: what models say (test_model.py).
"""

import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from ortools.sat.python import cp_model

from isamap.scheduler import EffortClock, Status, Wishes, find_schedule, run_solver
from isamap.scheduler.limits import Limits
from isamap.scheduler.run_solver import Run
from tests.scheduler.cases import kernel, machine

FAR_BOUND = (("n", 16), ("h", 112), ("w", 112), ("c", 64), ("k", 128), ("pad", 1))
NUM_THINGS, MOST = 8, 3  # of each
SOLVED = (cp_model.OPTIMAL, cp_model.FEASIBLE)


@dataclass(frozen=True, slots=True)
class Choice:
    """Take things that are worth enough by two measures, of the least weight."""

    weights: np.ndarray
    worths: np.ndarray
    enough: int

    def model(self, limit: int) -> cp_model.CpModel:
        """What is taken weighs at most `limit`; all of everything is the hint."""
        model = cp_model.CpModel()
        taken = [model.new_int_var(0, MOST, f"taken_{i}") for i in range(NUM_THINGS)]
        for worth in self.worths.tolist():
            model.add(cp_model.LinearExpr.weighted_sum(taken, worth) >= self.enough)
        weight = cp_model.LinearExpr.weighted_sum(taken, self.weights.tolist())
        model.add(weight <= limit)
        model.minimize(weight)
        for thing in taken:
            model.add_hint(thing, MOST)
        return model

    def least(self) -> int:
        """By trying everything."""
        choices = np.indices((MOST + 1,) * NUM_THINGS).reshape(NUM_THINGS, -1)
        is_enough = (self.worths @ choices >= self.enough).all(axis=0)
        return int((self.weights @ choices)[is_enough].min())


def draw(seed: int) -> Choice:
    random = np.random.default_rng(seed)
    worths = random.integers(100, 1000, (2, NUM_THINGS))
    return Choice(random.integers(200, 1000, NUM_THINGS), worths, 800 * NUM_THINGS)


def watch_runs(monkeypatch: pytest.MonkeyPatch) -> list[Run]:
    """All turns of the solver from now on, as they end."""
    runs: list[Run] = []
    inner = run_solver._solve

    def keep(*args: Any, **settings: Any) -> Run:
        runs.append(inner(*args, **settings))
        return runs[-1]

    monkeypatch.setattr(run_solver, "_solve", keep)
    return runs


def solve(model: cp_model.CpModel, effort: float | None = None) -> Run:
    limits = Limits(time.perf_counter() + 60, effort=effort)
    return run_solver.run_solver(model, limits, lambda: False)


@pytest.mark.parametrize("from_below", [False, True])
def test_what_one_turn_leaves_the_next_one_ends(
    from_below: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = watch_runs(monkeypatch)
    for seed, effort in product(range(3), (1e-6, 1e-4, 2.0)):
        turns = ((from_below, effort), (not from_below, effort), (from_below, None))
        monkeypatch.setattr(run_solver, "DIRECTIONS", turns)
        choice = draw(seed)
        run = solve(choice.model(limit=100_000))
        assert (run.status, run.solver.objective_value) == (cp_model.OPTIMAL, choice.least())
        assert run.bound == choice.least()
        assert solve(choice.model(limit=choice.least() - 1)).status == cp_model.INFEASIBLE
    assert {cp_model.UNKNOWN, cp_model.FEASIBLE} <= {run.status for run in runs}


def test_no_turn_loses_what_was_found_or_proven_before(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = watch_runs(monkeypatch)
    for first, effort in product((True, False), (1e-5, 5e-5, 1e-4, 2e-4, 3e-4)):
        turns = ((first, effort / 3), (not first, effort / 3), (first, None))
        monkeypatch.setattr(run_solver, "DIRECTIONS", turns)
        runs.clear()
        run = solve(draw(0).model(limit=100_000), effort)
        found = [turn.solver.objective_value for turn in runs if turn.status in SOLVED]
        assert (run.status in SOLVED) == bool(found)
        assert not found or run.solver.objective_value == min(found)
        assert run.bound == max(turn.bound for turn in runs) <= draw(0).least()


def test_a_solution_far_above_the_bound_is_proven_best() -> None:
    """From below alone its bound took 8 deterministic seconds to come near."""
    wishes = Wishes(time_limit_s=3.0, clock=EffortClock())
    answer = find_schedule(kernel("conv2d", "conv2d", FAR_BOUND), machine("vta"), wishes)
    assert answer.status is Status.OPTIMAL
