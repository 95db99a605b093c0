"""The scheduler's programs are never slower than Gemmini's own.

In: shapes on which near-equal tilings differ in what the closed form must not overlook. Out:
failures. Not its job: all of DeepBench (bench/deepbench.py).
"""

from pathlib import Path

import pytest
from gemm_row import Limits, solve_gemm
from gemmini_heuristic import Shape

GEMMINI = str(Path(__file__).parents[2] / "hw_specs" / "gemmini.yaml")
LIMITS = Limits(emulated_calls=3_000_000, solver_seconds=20.0)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(Shape(3072, 1, 128), id="a vector, delayed by its first outputs"),
        pytest.param(Shape(512, 6000, 1536), id="slots that do not alternate"),
        pytest.param(Shape(1024, 1500, 2048), id="a last tile bound by loads"),
    ],
)  # fmt: skip
def test_emulated_cycles_do_not_exceed_the_heuristics(shape: Shape) -> None:
    result = solve_gemm(shape, GEMMINI, LIMITS)
    assert result.error == "" and not result.is_extrapolated
    assert result.emulated_cycles is not None and result.baseline_cycles is not None
    assert result.emulated_cycles <= result.baseline_cycles
