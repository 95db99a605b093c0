"""Sums that blocks add to overlapping places of their target: y[p + u] += .. over p and u."""

import random

import pytest

from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.mapper import coverings
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler.lower import lower
from isamap.verify import verify_full
from tests.scheduler.tilings import random_legal_tiling

SIZES = (
    {"h": 3, "w": 2, "c": 2, "k": 1, "r": 2, "s": 1, "stride": 1},
    {"h": 2, "w": 3, "c": 1, "k": 2, "r": 3, "s": 2, "stride": 2},
)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_no_covering_loses_what_a_block_adds(sizes: dict[str, int]) -> None:
    path, _ = find_kernel("transposed_conv")
    kernel = load_kernel(path, sizes, "transposed_conv")
    hw = load_hardware(find_hardware("outer"))
    found = list(coverings(kernel, hw, []))
    generator = random.Random(str(sizes))
    for covering in generator.sample(found, min(8, len(found))):
        tiling = random_legal_tiling(covering, hw, generator, any_tile=True, attempts=20)
        if tiling is not None:
            program = lower(covering, tiling, hw)
            assert program is not None
            assert verify_full(program, kernel, hw).is_verified, covering.binding
