"""Sums that Gemmini scales, rounds and saturates on their way out: one task, on the accelerator.

In: bundled kernels and variants of them, cut small and odd. Out: failures. Not its job: other
machines' epilogues (`test_epilogues`), single instructions (`test_float_immediate`).
"""

from dataclasses import replace
from pathlib import Path

import pytest

from isamap.ir import Kernel, load_kernel
from isamap.mapper import cut_tasks, flatten
from isamap.planner import Plan, Wishes, find_plan
from tests.scheduler.cases import kernel_file, machine
from tests.scheduler.execution import assert_computes

HEAD = "from isamap.lang import *\n\n\n@kernel\n"
GEMM = """\
def subject(m=5, n=18, k=3):
    A, B, bias, C = In(i8, m, k), In(i8, k, n), In(i32, n), Out(i8, m, n)
    T = Temp(i32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = VALUE
"""
ONE, ODD = (("m", 1), ("n", 1), ("k", 1)), (("m", 17), ("n", 33), ("k", 20))
CONV = (("h", 3), ("w", 4), ("c", 3), ("k", 18), ("r", 2), ("s", 3))
MLP = (("n", 3), ("c", 17), ("first", 5), ("second", 19), ("k", 2))
Sizes = tuple[tuple[str, int], ...]


def stores(plan: Plan) -> list[str]:
    """The instruction by which each task's result leaves; the plan uses no host."""
    assert not plan.program.host_calls
    names = []
    for task in plan.tasks:
        assert task.answer is not None and not task.on_host
        (target,) = [p for p in task.answer.best.covering.operands if p.outlet is not None]
        drain = target.residences[0].drain
        assert drain is not None
        names.append(drain.instruction)
    return names


def planned(kernel: Kernel) -> Plan:
    """The kernel's plan, its program computing the kernel in both emulators."""
    hw = machine("gemmini")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=60))  # enough on a busy machine
    for compiled in (True, False):
        assert_computes(kernel, plan.program, hw, kernel.name, compiled=compiled)
    return plan


@pytest.mark.parametrize(
    ("file", "name", "sizes", "expected"),
    [
        ("gemm_epilogue", "gemm_requantise_scaled", ONE, ["mvout_i8"]),
        ("gemm_epilogue", "gemm_requantise_scaled", ODD, ["mvout_i8"]),
        ("conv2d_epilogue", "conv2d_requantise_scaled", CONV, ["mvout_relu_i8"]),
        ("mlp", "mlp_scaled", MLP, ["mvout_relu_i8", "mvout_relu_i8", "mvout_i8"]),
    ],
)
def test_bundled_kernels_stay_on_chip_until_they_are_i8(
    file: str, name: str, sizes: Sizes, expected: list[str]
) -> None:
    kernel = load_kernel(kernel_file(file), dict(sizes), name)
    assert len(list(flatten(cut_tasks(kernel)))) >= 2 * len(expected)
    assert stores(planned(kernel)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("sat_i8(round_even(f32(T[i, j] + bias[j]) * 0.02))", "mvout_i8"),
        ("sat_i8(round_even(0.02 * f32(relu(bias[j] + T[i, j]))))", "mvout_relu_i8"),
        ("relu(sat_i8(round_even(f32(T[i, j]) * 0.02)))", "mvout_relu_i8"),
        ("sat_i8(round_even(relu(f32(T[i, j] + bias[j]) * 0.02)))", "mvout_relu_i8"),
        ("sat_i8(T[i, j] + bias[j])", "mvout_i8"),
        ("sat_i8(relu(T[i, j]))", "mvout_relu_i8"),
    ],
)
def test_every_spelling_stays_on_chip(value: str, expected: str, tmp_path: Path) -> None:
    text = GEMM.replace("VALUE", value)
    if "bias" not in value:
        text = text.replace(", bias, C = ", ", C = ").replace(" In(i32, n),", "")
    file = tmp_path / "subject.py"
    file.write_text(HEAD + text)
    assert stores(planned(load_kernel(file, {}, "subject"))) == [expected]


def test_one_task_is_faster_than_several() -> None:
    """Without the scaling stores the sums pass memory and the host scales them."""
    hw = machine("gemmini")
    kernel = load_kernel(kernel_file("gemm_epilogue"), dict(ODD), "gemm_requantise_scaled")
    kept = tuple(i for i in hw.instructions if i.name not in ("mvout_i8", "mvout_relu_i8"))
    poor = replace(hw, instructions=kept)
    fused, apart = find_plan(kernel, hw, Wishes()), find_plan(kernel, poor, Wishes())
    assert stores(fused) == ["mvout_i8"]
    assert len(apart.tasks) > 1 and apart.tasks[-1].on_host
    assert fused.cycles < apart.cycles
    together = assert_computes(kernel, fused.program, hw, "fused").cycles
    assert together < assert_computes(kernel, apart.program, poor, "apart").cycles
