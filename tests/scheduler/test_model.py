"""The CP-SAT model and the closed form price every tiling alike, and the solver finds the best one."""

import random

import pytest
from cases import MACHINES, first_coverings, machine
from exhaustive import model_cycles, search_exhaustively
from tilings import random_legal_tiling, with_less_memory

from isamap.costmodels import count_work, estimate
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.scheduler import Status, solve

PRICED = (
    ("gemm", "gemm_nt", (("m", 37), ("n", 53), ("k", 41))),
    ("gemv", "gemv", (("m", 100), ("k", 70))),
    ("batched_gemm", "batched_gemm", (("b", 3), ("m", 20), ("n", 40), ("k", 33))),
    ("pointwise_conv", "pointwise_conv", (("h", 5), ("w", 7), ("c", 18), ("k", 9))),
    ("depthwise_conv", "depthwise_conv", (("h", 8), ("w", 7), ("c", 20))),
    ("conv2d", "conv2d", (("h", 7), ("w", 9), ("c", 20), ("k", 18), ("stride", 2))),
)


def random_case(hw_name: str, seed: int) -> tuple[Covering, Hardware, random.Random]:
    """A covering on a machine that has all of its memory, or little."""
    generator = random.Random(f"{hw_name} {seed}")
    covering = generator.choice(first_coverings(*generator.choice(PRICED), hw_name, 3))
    hw = machine(hw_name)
    if generator.random() < 0.6:
        room = {memory.name: generator.choice((1, 2, 3, 4, 6, 12)) for memory in hw.memories}
        hw = with_less_memory(hw, covering, room)
    return covering, hw, generator


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("seed", range(12))
def test_the_model_prices_any_tiling_like_the_closed_form(hw_name: str, seed: int) -> None:
    covering, hw, generator = random_case(hw_name, seed)
    tiling = random_legal_tiling(covering, hw, generator, any_tile=False)
    if tiling is None:
        pytest.skip("no random tiling fits")
    work = count_work(covering, hw)
    found = model_cycles(covering, work, hw, tiling)
    assert found is not None, f"the model forbids a legal tiling of {covering.binding}: {tiling}"
    expected = estimate(covering, work, tiling, hw).cycles
    # both round up: the model each flow's share, the closed form the sum
    assert abs(found - expected) <= 1 + len(work.flows), f"{covering.binding}: {tiling}"


SMALL = (
    ("gemm", "gemm", (("m", 40), ("n", 20), ("k", 33))),
    ("gemv", "gemv", (("m", 95), ("k", 66))),
    ("batched_gemm", "batched_gemm", (("b", 2), ("m", 3), ("n", 16), ("k", 1))),
    ("gemm", "gemm", (("m", 14), ("n", 11), ("k", 56))),
    ("conv2d", "conv2d", (("h", 2), ("w", 1), ("c", 3), ("k", 33), ("r", 2), ("s", 1))),
)


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("seed", range(6))
def test_exhaustive_search_finds_nothing_better(hw_name: str, seed: int) -> None:
    generator = random.Random(f"small {hw_name} {seed}")
    covering = generator.choice(first_coverings(*generator.choice(SMALL), hw_name, 3))
    room = {m.name: generator.choice((2, 3, 4, 6, 12)) for m in machine(hw_name).memories}
    hw = with_less_memory(machine(hw_name), covering, room)
    work = count_work(covering, hw)
    best = search_exhaustively(covering, work, hw, time_limit_s=3)
    if best is None:
        pytest.skip("too many tilings")
    solution = solve(covering, work, hw, time_limit_s=20)
    if best.tiling is None:
        assert solution.tiling is None and solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    assert solution.cycles <= best.cycles, f"{covering.binding}: {best.tiling}"
    assert solution.bound_cycles <= best.cycles
