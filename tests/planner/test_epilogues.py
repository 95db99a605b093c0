"""Sums of products with what follows them, over several instructions: what a core with fused
post-processing, a vector engine and an ALU make of it.

In: bundled kernels of several statements, cut small. Out: failures. Not its job: single statements
(`test_elementwise`), the choice between host and machine.
"""

import pytest

import isamap
from isamap.compile import PlanResult
from isamap.ir import load_kernel
from isamap.planner import Plan, Wishes, find_plan
from tests.scheduler.cases import kernel_file, machine

SMALL = (("m", 7), ("n", 21), ("k", 19))


def plan(file: str, name: str, sizes: tuple[tuple[str, int], ...], hw_name: str) -> PlanResult:
    """The plan of a bundled kernel, executed in full."""
    subject = load_kernel(kernel_file(file), dict(sizes), name)
    result = isamap.map(subject, machine(hw_name), verify="full")
    assert isinstance(result, PlanResult)
    assert result.verification.is_verified, result.verification
    return result


def instructions(plan: Plan) -> list[str]:
    """What runs each statement."""
    return [
        "host" if task.on_host or task.answer is None else task.answer.best.covering.instruction
        for task in plan.tasks
    ]


def test_an_epilogue_runs_in_one_instruction_or_step_by_step() -> None:
    fused = plan("gemm_epilogue", "gemm_requantise", SMALL, "fused_npu")
    assert instructions(fused.plan) == ["multiply_rescale"]
    steps = load_kernel(kernel_file("gemm_epilogue"), dict(SMALL), "gemm_requantise_steps")
    found = instructions(find_plan(steps, machine("fused_npu"), Wishes()))
    assert found[:2] == ["zero", "multiply"]  # what follows finds the sums in the accumulator
    assert found[-2:] == ["shift_round", "narrow"]


@pytest.mark.parametrize("hw_name", ["vta", "gemv_engine", "conv_engine", "fused_npu"])
@pytest.mark.parametrize(
    ("file", "name", "sizes"),
    [
        ("gemm_epilogue", "gemm_requantise_steps", SMALL),
        ("gemm_epilogue", "gemm_requantise_bias_first", SMALL),
        ("rnn", "rnn_relu_skip_i8", (("steps", 2), ("batch", 3), ("hidden", 5))),
    ],
)
def test_several_statements_are_right_on_every_machine(
    file: str, name: str, sizes: tuple[tuple[str, int], ...], hw_name: str
) -> None:
    plan(file, name, sizes, hw_name)
