"""An AI Core of Huawei's Ascend: products, layers and networks through its five pipes.

In: hw_specs/ascend.yaml, odd sizes. Out: verdicts, how near the closed form is. Not its job: one
product and one convolution of every machine (`test_matrix_products`, `test_convolutions`).
"""

from functools import cache
from pathlib import Path

import pytest

import isamap
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, parse_semantics

FILE = Path(__file__).parents[2] / "hw_specs" / "ascend.yaml"
TWO_LAYERS = """
A, B, C, D = In(i8, 35, 70), In(i8, 70, 64), In(i8, 64, 33), Out(i8, 35, 33)
S, U, T = Temp(i32, 35, 64), Temp(i8, 35, 64), Temp(i32, 35, 33)
for i, j, p in grid(35, 64, 70):
  S[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid(35, 64):
  U[i, j] = sat_i8(rshift_round(relu(S[i, j]), 6))
for i, j, p in grid(35, 33, 64):
  T[i, j] += i32(U[i, p]) * i32(C[p, j])
for i, j in grid(35, 33):
  D[i, j] = sat_i8(rshift_round(T[i, j], 5))
"""
HALVES = """
A, B, C, T = In(f16, 33, 48), In(f16, 48, 20), Out(f16, 33, 20), Temp(f32, 33, 20)
for i, j, p in grid(33, 20, 48):
  T[i, j] += f32(A[i, p]) * f32(B[p, j])
for i, j in grid(33, 20):
  C[i, j] = f16(T[i, j])
"""
LARGEST = """
A, B, C = In(i32, 9, 70), In(i32, 9, 70), Out(i32, 9, 70)
for i, j in grid(9, 70):
  C[i, j] = max(A[i, j], B[i, j])
"""


@cache
def ascend() -> Hardware:
    return load_hardware(FILE)


@pytest.mark.parametrize("sizes", [(37, 41, 70), (100, 24, 32), (1, 65, 129)], ids=str)
def test_products_of_odd_sizes_add_to_what_is_there(sizes: tuple[int, int, int]) -> None:
    """No task is the host's: the vector unit brings the sums."""
    found = isamap.map(
        "gemm", ascend(), sizes=dict(zip("mnk", sizes, strict=True)), verify="full", effort=0.2
    )
    assert isinstance(found, isamap.Result)
    assert found.verification.is_verified, found.verification.failure


@pytest.mark.parametrize("sizes", [(256, 256, 512), (64, 512, 512), (200, 200, 1000)], ids=str)
def test_the_closed_form_is_near_what_is_emulated(sizes: tuple[int, int, int]) -> None:
    found = isamap.map("gemm", ascend(), sizes=dict(zip("mnk", sizes, strict=True)), verify="off")
    assert isinstance(found, isamap.Result)
    cycles = found.timing.cycles
    assert abs(found.schedule.solution.cycles - cycles) <= 0.1 * cycles
    assert found.roofline.cycles <= cycles


def tasks_of(kernel: Kernel | str) -> list[str]:
    """The instructions that compute the tasks of a plan that is right."""
    found = isamap.map(kernel, ascend(), verify="full", effort=0.1, may_reassociate=True)
    assert found.verification.is_verified, found.verification.failure
    if not isinstance(found, isamap.PlanResult):
        return [found.schedule.covering.instruction]
    assert not any(task.on_host for task in found.plan.tasks)
    return [task.best.covering.instruction for task in found.plan.tasks]


def test_layers_and_networks_are_computed_without_the_host() -> None:
    for kernel in ("gemm_epilogue", "mlp", parse_semantics(TWO_LAYERS, "two_layers")):
        assert set(tasks_of(kernel)) == {"multiply"}
    assert tasks_of(parse_semantics(HALVES, "halves")) == ["multiply_half"]
    assert tasks_of(parse_semantics(LARGEST, "largest")) == ["vmax_i32"]


def test_results_of_a_layer_stay_in_l1_for_the_next_one() -> None:
    found = isamap.map(parse_semantics(TWO_LAYERS, "two_layers"), ascend(), verify="full")
    assert isinstance(found, isamap.PlanResult)
    assert found.verification.is_verified, found.verification.failure
    homes = {
        external.home
        for task in found.plan.tasks
        if task.answer is not None
        for plan in task.best.covering.operands
        for _, buffer, external in plan.ends
        if buffer == "U"
    }
    assert homes == {"l1"}
