"""Looking on, stopping early, and the same answer every time.

In: small and larger searches under watches that stop them. Out: verdicts. Not its job: terminals
and signals (tests/cli/test_live.py).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

import pytest

from isamap.costmodels import Costs
from isamap.mapper import Covering, coverings, unit_cycles
from isamap.planner import Plan, find_best_plan, find_plan
from isamap.scheduler import NOBODY, Answer, Progress, Status, Wishes, find_schedule, is_legal
from isamap.scheduler.search_coverings import CoveringSearch
from isamap.verify import verify_full
from tests.scheduler.cases import kernel, machine

SMALL = ("gemm", "gemm", (("m", 40), ("n", 24), ("k", 36)))
LARGE = ("conv2d", "conv2d", (("h", 56), ("w", 56), ("c", 64), ("k", 64)))
STEPS = ("gru", "gru_i8", (("steps", 3), ("batch", 2), ("inputs", 5), ("hidden", 7)))
CONV = (("h", 5), ("w", 4), ("c", 3), ("k", 18))
SIMPLE_STEPS = ("rnn", "rnn_i8", (("steps", 3), ("batch", 2), ("inputs", 5), ("hidden", 7)))


@dataclass
class Stopper:
    """Stops at the `limit`-th improvement."""

    limit: int
    seen: list[Progress] = field(default_factory=list)

    @property
    def is_stopped(self) -> bool:
        return len(self.seen) >= self.limit

    def see(self, progress: Progress) -> None:
        self.seen.append(progress)


@cache
def optimum(name: str) -> Answer:
    """Of the large search, on that machine, when nobody looks on."""
    return find_schedule(kernel(*LARGE), machine(name))


def test_after_the_time_limit_nothing_more_is_put_in_order() -> None:
    """Of the coverings with the least compute, no more are looked for than it takes to answer."""
    subject, hw = kernel("conv2d", "conv2d", CONV), machine("gemmini")
    drawn: list[Covering] = []

    def stream() -> Iterator[Covering]:
        for covering in coverings(subject, hw, []):
            drawn.append(covering)
            yield covering

    search = CoveringSearch(hw, Wishes(), Costs(0, 0, 0), deadline=0.0)
    search.run(stream())
    assert search.chosen().program and not search.is_complete
    assert len(drawn) < 10
    found = islice(coverings(subject, hw, []), 40)
    assert len({unit_cycles(covering, hw) for covering in found}) == 1, "else nothing is tested"


def test_incumbent_and_bound_approach_each_other() -> None:
    watch = Stopper(10**9)
    answer = find_schedule(kernel(*LARGE), machine("gemmini"), Wishes(watch=watch))
    assert answer.status is Status.OPTIMAL
    first = [p for p in watch.seen if p.num_coverings == 1]
    cycles = [p.value for p in first if p.value is not None]
    bounds = [p.covering_bound for p in first]
    assert cycles == sorted(cycles, reverse=True)
    assert bounds == sorted(bounds)
    assert all(p.bound <= answer.bound_cycles for p in watch.seen), "bounds hold"
    assert all(p.gap is None or 0 <= p.gap < 1 for p in watch.seen)
    assert {p.subject for p in watch.seen} == {"conv2d"}


@pytest.mark.parametrize("limit", [0, 1, 4])
@pytest.mark.parametrize("name", ["gemmini", "vta"])
def test_stopped_search_gives_a_legal_answer_and_an_honest_bound(name: str, limit: int) -> None:
    subject, hw = kernel(*LARGE), machine(name)
    answer = find_schedule(subject, hw, Wishes(watch=Stopper(limit)))
    best = answer.best
    assert is_legal(best.covering, best.tiling, hw)
    assert answer.bound_cycles <= optimum(name).bound_cycles <= best.solution.cycles
    if answer.status is Status.OPTIMAL:
        assert best.solution.cycles == optimum(name).best.solution.cycles


@pytest.mark.parametrize("name", ["gemmini", "vta"])
def test_stopped_plan_computes_the_kernel(name: str) -> None:
    subject, hw = kernel(*STEPS), machine(name)
    plan = find_best_plan(subject, hw, Wishes(watch=Stopper(0)))
    assert plan.cut
    assert verify_full(plan.program, subject, hw).is_verified


def test_plan_out_of_time_computes_the_kernel() -> None:
    subject, hw = kernel(*STEPS), machine("gemmini")
    plan = find_plan(subject, hw, Wishes(time_limit_s=0.0))
    assert verify_full(plan.program, subject, hw).is_verified


def test_who_looks_on_changes_nothing() -> None:
    hw = machine("gemmini")
    plans = [
        find_plan(kernel(*SIMPLE_STEPS), hw, Wishes(time_limit_s=300, watch=watch))
        for watch in (NOBODY, Stopper(10**9))
    ]
    assert facts(plans[0]) == facts(plans[1])


def test_same_seed_same_plan() -> None:
    hw = machine("vta")
    first, second = (find_plan(kernel(*STEPS), hw, Wishes(seed=7)) for _ in range(2))
    assert facts(first) == facts(second)


def facts(plan: Plan) -> tuple[object, ...]:
    """All that a plan decides."""
    return plan.program, plan.cycles, plan.bound_cycles, plan.status
