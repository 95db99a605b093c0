"""Machines that run under QEMU: every instruction on odd sizes, exact on whole numbers."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import isamap
from isamap.codegen import find_toolchain
from isamap.hwdesc import Instruction
from isamap.program import Issue, Node
from isamap.resources import find_hardware

KERNELS = Path(__file__).parent.parent / "codegen" / "c_kernels.py"
SIZES = ((1, 1, 1), (13, 18, 7))
CASES = (
    ("arm_neon", "sgemm", "fmla"),
    ("arm_neon", "gemm", "sdot"),
    ("arm_neon", "gemm_nt", "smmla"),
    ("arm_neon", "bgemm", "bfmmla"),
    ("arm_sve", "sgemm", "fmla"),
    ("arm_sve", "gemm", "sdot"),
    ("arm_sme", "sgemm", "fmopa"),
    ("arm_sme", "bgemm", "bfmopa"),
    ("power10_mma", "sgemm", "xvf32gerpp"),
    ("power10_mma", "sgemm_adds", "xvf32gerpp"),
    ("power10_mma", "gemm_iu", "xvi8ger4pp"),
    ("power10_mma", "bgemm", "xvbf16ger2pp"),
    ("riscv_rvv", "sgemm", "vfmacc_vf"),
    ("riscv_rvv", "gemm_i32", "vmacc_vx"),
)


@cache
def machine_with(name: str, computing: str) -> isamap.Hardware:
    """The machine with no other instruction that multiplies; skip where it cannot be run."""
    hw = isamap.load_hardware(find_hardware(name))
    try:
        find_toolchain(hw)
    except isamap.IsamapError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    kept = tuple(i for i in hw.instructions if i.name == computing or not adds_up(i))
    return replace(hw, instructions=kept, host=None)


def adds_up(instruction: Instruction) -> bool:
    """Does the instruction sum anything up?"""
    return any(s.update == "+=" for s in instruction.semantics.statements)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("machine, kernel, instruction", CASES)
def test_every_element_is_right(
    machine: str, kernel: str, instruction: str, sizes: tuple[int, int, int]
) -> None:
    hw = machine_with(machine, instruction)
    kernel_file = f"{KERNELS}:{kernel}"
    named = dict(zip("mnk", sizes, strict=True))
    done = isamap.run_on(kernel_file, hw, sizes=named, time_limit_s=1, may_reassociate=True)
    assert done.mismatch is None
    assert any(call.instruction == instruction for call in calls_of(done.mapped.program.body))


def test_vectors_that_overlap_from_one_iteration_to_the_next_are_read_again() -> None:
    """GCC 12 would take a vector that was stored before for one that was changed since."""
    hw = isamap.load_hardware(find_hardware("arm_neon"))
    try:
        find_toolchain(hw)
    except isamap.IsamapError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    sizes = {"h": 5, "w": 6, "c": 5, "k": 1, "r": 3, "s": 2, "stride": 1}
    done = isamap.run_on("transposed_conv", hw, sizes=sizes, time_limit_s=0.02)
    assert done.mismatch is None


def test_a_product_and_its_sum_may_be_rounded_once() -> None:
    """The last statement of layer_norm is a product and a sum, which NEON does at once."""
    hw = isamap.load_hardware(find_hardware("arm_neon"))
    try:
        find_toolchain(hw)
    except isamap.IsamapError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    done = isamap.run_on("layer_norm", hw, sizes={"m": 11, "n": 37}, time_limit_s=5)
    assert "fmla" in {call.instruction for call in calls_of(done.mapped.program.body)}
    assert done.mismatch is None
    assert 0 < done.tolerance < 1e-4  # some tens of roundings of numbers around 1: eps is 1.2e-7


def calls_of(body: tuple[Node, ...]) -> list[Issue]:
    """All issues, in order."""
    issues = []
    for node in body:
        if isinstance(node, Issue):
            issues.append(node)
        else:
            issues += calls_of(node.body)
    return issues
