"""One instruction of two statements on a sum and what becomes of it."""

from pathlib import Path

import pytest

from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.mapper import Mismatch, Task, coverings, cut_tasks, join_tasks
from isamap.planner import Wishes, find_plan
from isamap.resources import find_hardware
from isamap.verify import Check, verify_plan

NPU = load_hardware(find_hardware("fused_npu"))
TEXT = """
A, B, bias, C = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i32, {n}), Out(i8, {m}, {n})
T = Temp(i32, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for a, b in grid({m}, {n}):
  C[a, b] = {value}
"""
RESCALED = "sat_i8(rshift_round(relu(T[a, b] + bias[b]), 7))"


def layer(m: int, n: int, k: int, value: str = RESCALED) -> Kernel:
    """A matrix product with what becomes of it."""
    return parse_semantics(TEXT.format(m=m, n=n, k=k, value=value), "layer")


def joined(kernel: Kernel) -> Task:
    """The sum with its finish."""
    siblings = tuple(node for node in cut_tasks(kernel) if isinstance(node, Task))
    return join_tasks(kernel, siblings, 0)[0]


def instructions(kernel: Kernel, mismatches: list[Mismatch]) -> set[str]:
    """Instructions that compute the joined task."""
    task = joined(kernel)
    return {c.instruction for c in coverings(task.kernel, NPU, mismatches, task.setting())}


@pytest.mark.parametrize(("m", "n", "k"), [(1, 1, 1), (17, 20, 33), (5, 7, 64), (32, 16, 63)])
def test_a_layer_runs_in_one_instruction_and_is_right(m: int, n: int, k: int) -> None:
    kernel = layer(m, n, k)
    assert instructions(kernel, []) == {"multiply", "multiply_rescale"}
    plan = find_plan(kernel, NPU, Wishes())
    assert verify_plan(plan, kernel, NPU, Check.FULL).is_verified


def test_clearing_the_temporary_first_says_nothing_new(tmp_path: Path) -> None:
    text = find_hardware("fused_npu").read_text()
    fused = text.index("multiply_rescale")
    loops = "for i, j in grid(dim, dim):\n"
    assert loops in text[fused:]
    cleared = text[fused:].replace(loops, loops + 8 * " " + "T[i, j] = 0\n", 1)
    (tmp_path / "cleared.yaml").write_text(text[:fused] + cleared)
    hw = load_hardware(tmp_path / "cleared.yaml")
    assert len(hw.instruction("multiply_rescale").semantics.statements) == 3
    plan = find_plan(layer(5, 7, 9), hw, Wishes())
    assert [t.answer and t.answer.best.covering.instruction for t in plan.tasks] == [
        "multiply_rescale"
    ]
    assert verify_plan(plan, layer(5, 7, 9), hw, Check.FULL).is_verified


def test_a_sum_longer_than_a_call_is_not_finished_in_one() -> None:
    mismatches: list[Mismatch] = []
    assert instructions(layer(4, 4, 65), mismatches) == {"multiply"}
    assert any("longer than a call takes" in miss.reason for miss in mismatches)


def test_another_finish_does_not_match() -> None:
    mismatches: list[Mismatch] = []
    value = "sat_i8(rshift_round(T[a, b] + bias[b], 7))"
    assert instructions(layer(4, 4, 4, value), mismatches) == {"multiply"}
    reasons = [m.reason for m in mismatches if m.instruction == "multiply_rescale"]
    assert len(reasons) == 1 and "max(" in reasons[0]
