"""Sums stay on chip for what is done to each channel of them, also where they must be cleared.

In: products with a multiplier and a bias per channel, of one row and of several. Out: failures. Not
its job: the rewrite (`test_clear`), homes of other temporaries (`test_keep_on_chip`).
"""

import pytest

from isamap.ir import Kernel, parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.planner.find_plan import plan_whole
from isamap.planner.schedule_tasks import Known
from tests.scheduler.cases import machine
from tests.scheduler.execution import assert_computes

LAYER = """
A, B, scale, bias = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i32, {n}), In(i32, {n})
D = Out(i32, {m}, {n})
T = Temp(i32, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid({m}, {n}):
  D[i, j] = relu(T[i, j] * scale[j] + bias[j])
"""


def layer(m: int, n: int, k: int) -> Kernel:
    return parse_semantics(LAYER.format(m=m, n=n, k=k), "layer")


@pytest.mark.parametrize("sizes", [(1, 32, 32), (16, 32, 32), (3, 16, 5), (32, 48, 7)], ids=str)
def test_a_sum_waits_on_chip_for_its_scale(sizes: tuple[int, int, int]) -> None:
    """The product is cleared in the accumulator, where the vector unit then scales it."""
    hw, kernel = machine("fused_npu"), layer(*sizes)
    plan = find_plan(kernel, hw, Wishes(time_limit_s=30))
    assert [str(step) for step in plan.steps] == ["clear T"]
    assert all(p.piece.homes["T"].home == "accumulator" for p in plan.tasks)
    instructions = [p.best.covering.instruction for p in plan.tasks]
    assert instructions == ["zero", "multiply", "multiply_add_relu"]
    for compiled in (True, False):
        assert_computes(kernel, plan.program, hw, "layer", compiled=compiled)
    plain = plan_whole(kernel, hw, Wishes(time_limit_s=30), Known())
    assert plan.cycles < plain.cycles
    assert not any(p.piece.homes for p in plain.tasks)


def test_what_no_memory_holds_passes_the_external_one() -> None:
    """An accumulator of 64 KiB for 96 KiB of sums: nothing is cleared apart."""
    hw, kernel = machine("fused_npu"), layer(384, 64, 4)
    plan = find_plan(kernel, hw, Wishes(time_limit_s=5))
    assert not any(step.rewrite == "clear" for step in plan.steps)
