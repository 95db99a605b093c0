"""Operands planned once give the coverings that planning each anew gives.

In: isamap/mapper/operand_plans.py. Out: nothing. Not its job: plans themselves.
"""

import random
from pathlib import Path

import pytest

from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.mapper.blocks import tile_loops
from isamap.mapper.cover import candidates
from isamap.mapper.cover_match import cover_match
from isamap.mapper.operand_plans import OperandPlans

ROOT = Path(__file__).parents[2]
CASES = (
    ("gemm.py", {"m": 20, "n": 3, "k": 40}),
    ("conv2d.py", {"n": 2, "h": 9, "w": 7, "c": 3, "k": 20, "stride": 2}),
)
MOST = 40  # candidates, all over the list: neighbours differ in one loop and share most operands


@pytest.mark.parametrize("machine", ["gemmini", "vta", "conv_engine"])
@pytest.mark.parametrize(("file", "sizes"), CASES)
def test_remembered_plans_are_those_found_anew(
    machine: str, file: str, sizes: dict[str, int]
) -> None:
    hw = load_hardware(str(ROOT / "hw_specs" / f"{machine}.yaml"))
    kernel = load_kernel(ROOT / "kernels" / file, sizes)
    shared = OperandPlans()
    found = candidates(kernel, 0, hw, [])
    count = 0
    for candidate in random.Random(file + machine).sample(found, min(len(found), MOST)):
        for loops in tile_loops(kernel, 0, candidate.match):
            known = cover_match(kernel, 0, hw, candidate.match, loops, shared)
            assert known == cover_match(kernel, 0, hw, candidate.match, loops, OperandPlans())
            count += 1
    assert count > 0
