"""Energy, energy-delay product, traffic and limits: exhaustive search finds nothing better.

In: random small cases. Out: failures. Not its job: cycles alone (`test_model`), energies of the
emulator (`test_moved`).
"""

import pytest

from isamap.costmodels import Aim, Metric, count_work, estimate
from isamap.errors import LimitError
from isamap.scheduler import Status, Wishes, find_schedule
from tests.planner.small_plans import compare_plans
from tests.scheduler.cases import kernel, machine
from tests.scheduler.exhaustive import search_exhaustively
from tests.scheduler.small import Case, compare, slack, small_case

# seeds of `small_case` whose whole space takes less than half a second to search
CASES = (("gemmini", 7), ("gemmini", 16), ("vta", 4), ("vta", 19), ("vecdot", 11), ("outer", 15))
LIMITED = (("gemmini", 7), ("vta", 15), ("vecdot", 2), ("outer", 0))
OTHERS = (Metric.ENERGY, Metric.EDP, Metric.DRAM_BYTES)
GEMM = ("gemm", "gemm", (("m", 70), ("n", 50), ("k", 90)))


def check(case: Case, aim: Aim) -> float | None:
    """The best value of a case, if there is any, after a comparison of both searches."""
    found = compare(case, solve_limit_s=60, aim=aim)
    assert found is not None
    solution, best = found.solution, found.best
    if best is None:
        assert solution.tiling is None and solution.status is Status.INFEASIBLE, case.text
        return None
    assert solution.status is Status.OPTIMAL and solution.tiling is not None, case.text
    work = count_work(case.covering, case.hw)
    costs = estimate(case.covering, work, solution.tiling, case.hw).costs(case.hw)
    assert aim.allows(costs)
    assert best - 1e-9 * best <= solution.value, case.text
    assert solution.value <= best + slack(aim, costs), f"{case.text}: {found.best_text}"
    assert solution.bound <= best
    return best


@pytest.mark.parametrize(("hw_name", "seed"), CASES)
@pytest.mark.parametrize("metric", OTHERS, ids=lambda metric: metric.value)
def test_exhaustive_search_finds_nothing_better_by(metric: Metric, hw_name: str, seed: int) -> None:
    check(small_case(hw_name, seed), Aim.least(metric))


@pytest.mark.parametrize(("hw_name", "seed"), LIMITED)
def test_limits_are_kept_at_the_least_price(hw_name: str, seed: int) -> None:
    case = small_case(hw_name, seed)
    work = count_work(case.covering, case.hw)
    least = {}
    for metric in (Metric.CYCLES, Metric.ENERGY):
        found = search_exhaustively(case.covering, work, case.hw, aim=Aim.least(metric))
        if found is None or found.tiling is None:
            return
        least[metric] = estimate(case.covering, work, found.tiling, case.hw).costs(case.hw)
    thrifty = least[Metric.ENERGY]
    check(case, Aim.least(Metric.CYCLES, ((Metric.ENERGY, thrifty.energy_pj),)))
    between = (least[Metric.CYCLES].cycles + thrifty.cycles) // 2
    check(case, Aim.least(Metric.ENERGY, ((Metric.CYCLES, between),)))
    too_few = least[Metric.CYCLES].cycles - 3
    assert check(case, Aim.least(Metric.DRAM_BYTES, ((Metric.CYCLES, too_few),))) is None


@pytest.mark.parametrize("hw_name", ["gemmini", "vta"])
def test_each_objective_is_best_at_its_own(hw_name: str) -> None:
    subject, hw = kernel(*GEMM), machine(hw_name)
    wishes = {m: Wishes(aim=Aim.least(m), time_limit_s=60) for m in Metric}
    answers = {m: find_schedule(subject, hw, wishes[m]) for m in Metric}
    costs = {m: answer.best.estimate.costs(hw) for m, answer in answers.items()}
    for metric, answer in answers.items():
        assert answer.status is Status.OPTIMAL
        assert answer.bound <= answer.best.solution.value == costs[metric].of(metric)
        for other in costs.values():
            spare = slack(answer.aim, costs[metric]) if metric in (Metric.CYCLES, Metric.EDP) else 0
            assert costs[metric].of(metric) <= other.of(metric) * (1 + 1e-9) + spare


@pytest.mark.parametrize(
    ("hw_name", "seed", "metric"), [("vta", 2, Metric.CYCLES), ("fused_npu", 2, Metric.ENERGY)]
)
def test_no_plan_of_two_statements_is_better(hw_name: str, seed: int, metric: Metric) -> None:
    aim = Aim.least(metric)
    found = compare_plans(hw_name, seed, solve_limit_s=60, aim=aim)
    assert found is not None and found.plan is not None and found.best is not None
    spare = 2 * slack(aim, found.plan.costs)
    assert aim.value(found.plan.costs) <= found.best + spare, found.text


def test_a_limit_that_cannot_be_kept_is_an_error() -> None:
    limits = ((Metric.ENERGY, 1e6), (Metric.DRAM_BYTES, 100_000.0))
    wishes = Wishes(aim=Aim.least(Metric.CYCLES, limits))
    with pytest.raises(LimitError) as caught:
        find_schedule(kernel(*GEMM), machine("gemmini"), wishes)
    head = "no schedule of gemm on gemmini has energy of at most 1 µJ and dram-bytes of at most"
    assert caught.value.message == f"{head} 100 000 bytes"
