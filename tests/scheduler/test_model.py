"""The CP-SAT model and the closed form price tilings alike, and the solver finds the best one.

In: random small cases. Out: failures. Not its job: whether the closed form is accurate.
"""

import random

import pytest

from isamap.costmodels import Tiling, count_work, estimate, least_costs
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.scheduler import Status
from tests.scheduler.cases import MACHINES, first_coverings, machine
from tests.scheduler.exhaustive import model_cycles
from tests.scheduler.small import compare, small_case
from tests.scheduler.tilings import draw_until_found, random_legal_tiling, with_any_memory

PRICED = (
    ("gemm", "gemm_nt", (("m", 37), ("n", 53), ("k", 41))),
    ("gemv", "gemv", (("m", 100), ("k", 70))),
    ("batched_gemm", "batched_gemm", (("b", 3), ("m", 20), ("n", 40), ("k", 33))),
    ("pointwise_conv", "pointwise_conv", (("h", 5), ("w", 7), ("c", 18), ("k", 9))),
    ("depthwise_conv", "depthwise_conv", (("h", 8), ("w", 7), ("c", 20))),
    ("conv2d", "conv2d", (("h", 7), ("w", 9), ("c", 20), ("k", 18), ("stride", 2))),
)


Drawn = tuple[Covering, Hardware, Tiling]


def random_case(hw_name: str, seed: int) -> Drawn:
    """A legal tiling of a covering on a machine with all of its memory, or little."""
    generator = random.Random(f"{hw_name} {seed}")

    def draw() -> Drawn | None:
        covering = generator.choice(first_coverings(*generator.choice(PRICED), hw_name, 3))
        blocks = (1, 2, 3, 4, 6, 12)
        hw = with_any_memory(machine(hw_name), covering, generator, blocks=blocks, chance=0.6)
        tiling = random_legal_tiling(covering, hw, generator, any_tile=False, attempts=20)
        return None if tiling is None else (covering, hw, tiling)

    return draw_until_found(draw)


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("seed", range(10))
def test_the_model_prices_any_tiling_like_the_closed_form(hw_name: str, seed: int) -> None:
    covering, hw, tiling = random_case(hw_name, seed)
    work = count_work(covering, hw)
    found = model_cycles(covering, work, hw, tiling)
    assert found is not None, f"the model forbids a legal tiling of {covering.binding}: {tiling}"
    expected = estimate(covering, work, tiling, hw).cycles
    # both round up: the model each flow's share, the closed form the sum
    assert abs(found - expected) <= 1 + len(work.flows), f"{covering.binding}: {tiling}"


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("seed", range(10, 15))
def test_no_tiling_is_below_what_its_covering_takes_at_least(hw_name: str, seed: int) -> None:
    covering, hw, tiling = random_case(hw_name, seed)
    work = count_work(covering, hw)
    least, costs = least_costs(covering, work, hw), estimate(covering, work, tiling, hw).costs(hw)
    assert least.at_least(costs) == costs, f"{covering.binding}: {tiling}"


# seeds of `small_case` whose whole space takes less than half a second to search
SEEDS = {
    "gemmini": (4, 6, 7, 8, 16),
    "vta": (4, 5, 15, 18, 19),
    "vecdot": (2, 3, 11, 12, 13),
    "outer": (0, 2, 6, 15, 23),
}


@pytest.mark.parametrize(
    ("hw_name", "seed"), [(name, seed) for name, seeds in SEEDS.items() for seed in seeds]
)
def test_exhaustive_search_finds_nothing_better(hw_name: str, seed: int) -> None:
    case = small_case(hw_name, seed)
    found = compare(case, solve_limit_s=60)
    assert found is not None
    solution, best = found.solution, found.best
    if best is None:
        assert solution.tiling is None and solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    # The model counts in sixteenths, each flow rounded up: it may tie what estimates tell apart.
    assert best <= solution.cycles <= best + 1, f"{case.text}: {found.best_text}"
    assert solution.bound_cycles <= best
