"""Every bundled machine computes a matrix product.

In: all files of hw_specs, odd sizes. Out: verdicts. Not its job: quality of schedules.
"""

from pathlib import Path

import pytest

from tests.specs.mapped import FILES, assert_an_instruction_computes


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_matrix_product_runs_on_instructions(file: Path) -> None:
    """Timed by the compiled emulator, too, as the plan's price is."""
    assert_an_instruction_computes("gemm:gemm", file, {"m": 5, "n": 3, "k": 7})


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_one_product_runs_on_instructions(file: Path) -> None:
    assert_an_instruction_computes("gemm:gemm", file, {"m": 1, "n": 1, "k": 1})
