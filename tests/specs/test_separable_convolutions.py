"""Every bundled machine computes a depthwise-separable convolution, in part on instructions.

In: files of hw_specs that test_plans_oracle does not take, odd sizes. Out: verdicts. Not its job:
quality of schedules.
"""

from pathlib import Path

import pytest

from tests.specs.mapped import MACHINES, assert_an_instruction_computes
from tests.verify.test_plans_oracle import MACHINES as ELSEWHERE

ENOUGH_S = 4.0  # to try the rewritten forms
SIZES = {"n": 1, "h": 3, "w": 2, "c": 2, "k": 2, "r": 1, "s": 2}
OURS = [file for file in MACHINES if file.stem not in ELSEWHERE]


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_a_separable_convolution_runs_on_instructions(file: Path) -> None:
    assert_an_instruction_computes("separable_conv:separable_conv", file, SIZES, ENOUGH_S)
