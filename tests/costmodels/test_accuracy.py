"""The closed form is close to the emulator on products of middle size.

In: products on the two shipped accelerators. Out: failures. Not its job: tiny ones, where latencies
that the closed form only approximates are most of the time.
"""

from pathlib import Path

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.scheduler import Wishes, find_schedule

ROOT = Path(__file__).resolve().parent.parent.parent
TOLERANCE = 0.15
SIZES = ((64, 64, 64), (128, 512, 96), (200, 130, 300), (300, 77, 512), (512, 256, 64))


@pytest.mark.parametrize("hw_name", ["gemmini", "vta"])
@pytest.mark.parametrize(("m", "n", "k"), SIZES)
def test_the_estimate_is_close_to_the_emulator(hw_name: str, m: int, n: int, k: int) -> None:
    hw = load_hardware(ROOT / "hw_specs" / f"{hw_name}.yaml")
    kernel = load_kernel(ROOT / "kernels" / "gemm.py", {"m": m, "n": n, "k": k})
    best = find_schedule(kernel, hw, Wishes(time_limit_s=10)).best
    emulated = time_program(best.program, hw, compiled=False).cycles
    assert abs(best.estimate.cycles - emulated) <= TOLERANCE * emulated
