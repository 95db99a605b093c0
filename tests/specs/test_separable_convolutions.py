"""Every bundled machine computes a depthwise-separable convolution, in part on instructions.

In: files of hw_specs that test_plans_oracle does not take, odd sizes. Out: verdicts. Not its job:
quality of schedules.
"""

from pathlib import Path

import pytest

import isamap
from isamap.compile import PlanResult
from tests.specs.mapped import MACHINES, assert_an_instruction_computes
from tests.verify.test_plans_oracle import MACHINES as ELSEWHERE

ENOUGH = 0.1  # effort, to try the rewritten forms
SIZES = {"n": 1, "h": 3, "w": 2, "c": 2, "k": 2, "r": 1, "s": 2}
OURS = [file for file in MACHINES if file.stem not in ELSEWHERE]


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_a_separable_convolution_runs_on_instructions(file: Path) -> None:
    assert_an_instruction_computes("separable_conv:separable_conv", file, SIZES, ENOUGH)


def test_a_host_splits_what_an_instruction_left_with_one_more_dimension() -> None:
    """Sums that lie as a form of the kernel with an extent of 1 behind them are read as digits."""
    sizes = {**SIZES, "h": 4, "w": 4, "c": 16, "k": 4}
    found = isamap.map("separable_conv", "power10_mma", sizes=sizes, effort=ENOUGH)
    assert isinstance(found, PlanResult) and found.verification.is_verified
    places = [p for p in found.program.scratch if len(p.layout.axes) > len(p.layout.shape)]
    assert places and found.program.host_calls
