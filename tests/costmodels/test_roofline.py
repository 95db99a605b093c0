"""No program is faster than the roofline.

In: small kernels on every machine. Out: failures. Not its job: how tight the bound is.
"""

from pathlib import Path

import pytest

import isamap
from isamap.costmodels import roofline
from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.scheduler import Wishes, find_schedule

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = (
    ("gemm", {"m": 3, "n": 100, "k": 2}),
    ("gemm", {"m": 61, "n": 33, "k": 50}),
    ("gemv", {"m": 90, "k": 71}),
    ("batched_gemm", {"b": 3, "m": 20, "n": 18, "k": 5}),
    ("depthwise_conv", {"h": 4, "w": 5, "c": 6}),
    ("conv2d", {"h": 3, "w": 7, "c": 3, "k": 18, "r": 1, "s": 3, "pad": 0}),
)


@pytest.mark.parametrize("hw_name", ["gemmini", "vta", "vecdot", "outer"])
@pytest.mark.parametrize(("name", "sizes"), CASES)
def test_the_roofline_bounds_the_emulated_program(
    hw_name: str, name: str, sizes: dict[str, int]
) -> None:
    hw = load_hardware(ROOT / "hw_specs" / f"{hw_name}.yaml")
    kernel = load_kernel(ROOT / "kernels" / f"{name}.py", sizes)
    bound = roofline(kernel, hw)
    assert bound.cycles == max(bound.unit_cycles, *(cycles for _, cycles in bound.port_cycles), 0)
    best = find_schedule(kernel, hw, Wishes(time_limit_s=3)).best
    emulated = time_program(best.program, hw).cycles
    assert 0 < bound.cycles <= emulated
    assert bound.cycles <= best.estimate.cycles


def test_compulsory_traffic_of_a_product() -> None:
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": 30, "n": 20, "k": 10})
    bound = roofline(kernel, load_hardware(ROOT / "hw_specs" / "vta.yaml"))
    result = 4 * 30 * 20
    assert bound.read_bytes == 30 * 10 + 10 * 20 + result
    assert bound.written_bytes == result
    traffic = -(-(bound.read_bytes + bound.written_bytes) // 8)
    assert dict(bound.port_cycles)["dram traffic"] == traffic


def test_sums_of_floats_that_may_be_reordered_are_priced_by_the_roofline() -> None:
    sizes = {"m": 8, "n": 16, "k": 8}
    found = isamap.map(
        "gemm:gemm_f32", "x86_avx512", sizes=sizes, may_reassociate=True, cost="roofline",
        verify="off", effort=0.2,
    )  # fmt: skip
    assert not found.program.host_calls, "an instruction computes it, as by the other models"
