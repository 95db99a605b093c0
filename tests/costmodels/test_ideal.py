"""What good tilings come near where caches decide."""

from functools import cache
from pathlib import Path

import pytest

from isamap.costmodels import FASTEST, count_work, estimate, ideal_cycles, least_costs
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings
from isamap.resources import find_hardware
from isamap.scheduler.descend import descend
from tests.costmodels.test_caches import machine, product


def ideal(covering: Covering, hw: Hardware) -> float:
    return ideal_cycles(covering, count_work(covering, hw), hw)


def least(covering: Covering, hw: Hardware) -> float:
    return least_costs(covering, count_work(covering, hw), hw).cycles


def test_arrays_that_a_cache_cannot_keep_enter_once(tmp_path: Path) -> None:
    hw = machine(tmp_path, 256)
    covering = product(hw, 12, 16, 9)
    entering = 4 * (12 * 9 + 9 * 16 + 12 * 16) / 4  # at 4 bytes a cycle
    calls = least(covering, hw)
    longer, shorter = max(entering, calls), min(entering, calls)
    assert ideal(covering, hw) == pytest.approx(longer + shorter / 8)


def test_arrays_that_a_cache_keeps_are_there(tmp_path: Path) -> None:
    hw = machine(tmp_path, 4096)
    covering = product(hw, 12, 16, 9)
    assert ideal(covering, hw) == least(covering, hw)


@cache
def avx512() -> Hardware:
    return load_hardware(find_hardware("x86_avx512"))


@pytest.mark.parametrize(
    ("m", "n", "k"), [(37, 53, 41), (1, 1024, 2048), (64, 700, 900), (1700, 16, 500)]
)
def test_no_tiling_that_is_found_lies_far_below(m: int, n: int, k: int) -> None:
    kernel = load_kernel("kernels/gemm.py", {"m": m, "n": n, "k": k}, "gemm_f32")
    for number, covering in enumerate(coverings(kernel, avx512(), [], may_reassociate=True)):
        if number == 3:
            return
        work = count_work(covering, avx512())
        found = descend(covering, work, avx512(), FASTEST)
        assert found is not None
        cycles = estimate(covering, work, found, avx512()).cycles
        assert cycles >= 0.95 * ideal(covering, avx512())
