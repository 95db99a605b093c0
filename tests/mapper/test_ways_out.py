"""Instructions whose results no copy takes home compute nothing, wherever arrays lie.

In: isamap/mapper/cover.py. Out: nothing. Oracle: all their matches, tried one by one.
"""

import random
from pathlib import Path

import pytest

from isamap.errors import SpecErrors
from isamap.hwdesc import Hardware, MemoryKind, load_hardware
from isamap.ir import Kernel, load_kernel, parse_semantics
from isamap.mapper.blocks import tile_loops
from isamap.mapper.cover import candidates, coverings, why_stuck
from isamap.mapper.cover_match import cover_match
from isamap.mapper.match import Mismatch
from isamap.mapper.operand_plans import OperandPlans
from isamap.mapper.tasks import Setting
from isamap.resources import find_hardware
from tests.scheduler.machines import random_kernel, random_machine

MOST = 60  # candidates, all over the list
COPY = """
A, B = In({dtype}, 9, 24), Out({dtype}, 24, 9)
for i, j in grid(9, 24):
  B[j, i] = A[i, j]"""
GEMM = Path(__file__).parents[2] / "kernels" / "gemm.py"


def number_stuck(kernel: Kernel, hw: Hardware, setting: Setting, seed: str) -> int:
    """Matches that are given up at once; none of them has a covering."""
    found = candidates(kernel, 0, hw, held=setting.held, ends=setting.ends)
    plans = OperandPlans()
    count = 0
    for candidate in random.Random(seed).sample(found, min(len(found), MOST)):
        if why_stuck(kernel, 0, candidate.match.instruction, setting, hw):
            count += 1
            for loops in tile_loops(kernel, 0, candidate.match):
                tried = cover_match(kernel, 0, hw, candidate.match, loops, plans, setting)
                assert isinstance(tried, str), (candidate.match.instruction.name, loops)
    return count


def settings(kernel: Kernel, hw: Hardware) -> list[Setting]:
    """The target in the external memory, and in each one on chip."""
    target = kernel.statements[0].target.buffer
    managed = (memory.name for memory in hw.memories if memory.kind is MemoryKind.MANAGED)
    return [Setting(), *(Setting(homes=((target, name),)) for name in managed)]


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8", "i32"])
@pytest.mark.parametrize(
    "machine", ["x86_golden_cove_amx", "gemmini", "trainium", "opentpu", "power10_mma"]
)
def test_what_is_given_up_at_once_has_no_covering(machine: str, dtype: str) -> None:
    hw = load_hardware(find_hardware(machine))
    kernel = parse_semantics(COPY.format(dtype=dtype), "turned")
    counts = [number_stuck(kernel, hw, s, machine + dtype) for s in settings(kernel, hw)]
    if machine == "x86_golden_cove_amx" and dtype == "bf16":
        assert counts[0] > 0, "tiles hold products' inputs, which are not stored"
    product = load_kernel(GEMM, {"m": 9, "n": 20, "k": 40})
    for setting in settings(product, hw):
        number_stuck(product, hw, setting, machine + dtype)


def test_on_any_machine_too(tmp_path: Path) -> None:
    for seed in range(30):
        generator = random.Random(seed)
        path = tmp_path / f"{seed}.yaml"
        path.write_text(random_machine(generator, is_deep=seed % 2 == 0), encoding="utf-8")
        try:
            hw = load_hardware(path)
        except SpecErrors:
            continue  # a call's data do not fit
        kernel = random_kernel(generator)
        for setting in settings(kernel, hw):
            number_stuck(kernel, hw, setting, str(seed))


def test_the_reason_names_the_memory_and_what_is_missing() -> None:
    hw = load_hardware(find_hardware("x86_golden_cove_amx"))
    kernel = parse_semantics(COPY.format(dtype="bf16"), "turned")
    mismatches: list[Mismatch] = []
    assert not any(
        c.instruction.startswith("load_packed_tile") for c in coverings(kernel, hw, mismatches)
    )
    reasons = [miss.reason for miss in mismatches if miss.instruction == "load_packed_tile_bf16"]
    assert set(reasons) == {"operand D (B): no copy takes bf16 from tmm to dram"}
