"""Every bundled machine computes a matrix product.

In: all files of hw_specs, odd sizes. Out: verdicts. Not its job: quality of schedules.
"""

from pathlib import Path

import pytest

from tests.specs.mapped import FILES, Sizes, assert_an_instruction_computes

SIZES: list[Sizes] = [{"m": 5, "n": 3, "k": 7}, {"m": 1, "n": 1, "k": 1}]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("sizes", SIZES)
def test_a_matrix_product_runs_on_instructions(file: Path, sizes: Sizes) -> None:
    assert_an_instruction_computes("gemm:gemm", file, sizes)
