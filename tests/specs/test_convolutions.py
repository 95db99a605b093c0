"""Every bundled machine computes a convolution.

In: all files of hw_specs, odd sizes. Out: verdicts. Not its job: quality of schedules.
"""

from pathlib import Path

import pytest

from tests.specs.mapped import MACHINES, assert_an_instruction_computes

SIZES = {"n": 1, "h": 4, "w": 3, "c": 3, "k": 5, "r": 2, "s": 1}


@pytest.mark.parametrize("file", MACHINES, ids=lambda file: file.stem)
def test_a_convolution_runs_on_instructions(file: Path) -> None:
    assert_an_instruction_computes("conv2d:conv2d", file, SIZES)
