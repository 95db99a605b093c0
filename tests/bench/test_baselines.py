"""The schedulers that the benchmarks compare with search what they say.

In: small products on machines. Out: failures. Not its job: which scheduler is better.
"""

import pytest
from baselines import (
    Candidate,
    Found,
    search_divisors,
    search_greedily,
    search_randomly,
)

from isamap.costmodels import count_work, estimate
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import coverings
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler import lower, solve
from isamap.scheduler.legality import is_legal

MACHINES = ("gemmini", "vta")


def subject(name: str) -> tuple[Hardware, list[Candidate]]:
    """Two coverings of a product of 6 x 4 x 2 units or so."""
    hw = load_hardware(find_hardware(name))
    kernel = load_kernel(find_kernel("gemm")[0], {"m": 91, "n": 63, "k": 29}, "gemm")
    found = list(coverings(kernel, hw, []))[:2]
    return hw, [(covering, count_work(covering, hw)) for covering in found]


def check(found: Found, hw: Hardware) -> None:
    """Is it a legal tiling of a covering, priced rightly, with a program?"""
    assert found.covering is not None and found.tiling is not None
    assert is_legal(found.covering, found.tiling, hw)
    work = count_work(found.covering, hw)
    assert estimate(found.covering, work, found.tiling, hw).cycles == found.cycles
    program = lower(found.covering, found.tiling, hw)
    assert program is not None and time_program(program, hw).cycles > 0


@pytest.mark.parametrize("name", MACHINES)
def test_each_search_finds_a_legal_tiling_and_none_beats_the_proof(name: str) -> None:
    hw, candidates = subject(name)
    best = min(solve(*c, hw, time_limit_s=10).cycles for c in candidates)
    searches = {
        "random": search_randomly(candidates, hw, samples=200, seed=1),
        "divisors": search_divisors(candidates[:1], hw, limit_s=2),
        "greedy": search_greedily(candidates, hw),
    }
    for found in searches.values():
        check(found, hw)
        assert found.cycles is not None and found.cycles >= best - 1
    assert searches["random"].num_tried == 200 and searches["random"].is_complete


def test_random_samples_repeat_with_their_seed() -> None:
    hw, candidates = subject("gemmini")
    first, again, other = (
        search_randomly(candidates, hw, samples=50, seed=seed) for seed in (3, 3, 4)
    )
    assert first.tiling == again.tiling
    assert first.tiling != other.tiling


def test_divisors_divide() -> None:
    hw, candidates = subject("gemmini")
    found = search_divisors(candidates[:1], hw, limit_s=1)
    assert found.covering is not None and found.tiling is not None
    for loop in found.covering.loops:
        assert loop.units % found.tiling.tile(loop.name) == 0
