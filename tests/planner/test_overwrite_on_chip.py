"""Results stay on chip for what changes them in place there.

In: products with several steps behind them, odd sizes first. Out: failures. Not its job: the
rewrite (`test_overwrite`), sums that are cleared for others (`test_clear_on_chip`).
"""

import pytest

from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.planner.find_plan import plan_whole
from isamap.planner.schedule_tasks import Known
from isamap.resources import find_hardware
from tests.scheduler.cases import machine
from tests.scheduler.execution import assert_computes

STEPS = """
A, B, V, Y = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i32, {m}, {n}), Out(i32, {m}, {n})
T, S, R = Temp(i32, {m}, {n}), Temp(i32, {m}, {n}), Temp(i32, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid({m}, {n}):
  S[i, j] = rshift_round(T[i, j], 4)
for i, j in grid({m}, {n}):
  R[i, j] = max(S[i, j], -7)
for i, j in grid({m}, {n}):
  Y[i, j] = {last}
"""


def steps(m: int, n: int, k: int, last: str = "R[i, j] + V[i, j]") -> Kernel:
    return parse_semantics(STEPS.format(m=m, n=n, k=k, last=last), "steps")


@pytest.mark.parametrize("sizes", [(7, 5, 6), (1, 64, 33), (32, 32, 32), (17, 16, 1)], ids=str)
def test_what_follows_a_product_is_done_where_its_sums_lie(sizes: tuple[int, int, int]) -> None:
    hw, kernel = machine("fused_npu"), steps(*sizes)
    plan = find_plan(kernel, hw, Wishes(time_limit_s=30))
    assert [str(s) for s in plan.steps] == ["overwrite T", "overwrite S", "clear R"]
    assert all(p.piece.homes["R"].home == "accumulator" for p in plan.tasks)
    instructions = [p.best.covering.instruction for p in plan.tasks]
    assert instructions == ["zero", "multiply", "shift_round", "maximum", "add"]
    for compiled in (True, False):
        assert_computes(kernel, plan.program, hw, "steps", compiled=compiled)
    plain = plan_whole(kernel, hw, Wishes(time_limit_s=30), Known())
    assert plan.cycles < 0.8 * plain.cycles


def test_arrays_lie_as_they_do_unless_packing_is_wished_for() -> None:
    """With rows of 7 for columns of 5, calls on transposed arrays are fewer."""
    hw, kernel = machine("fused_npu"), steps(7, 5, 6)
    natural, packed = (find_plan(kernel, hw, Wishes(layouts=x)) for x in ("natural", "packed"))
    for plan, is_as_it_lies in ((natural, True), (packed, False)):
        places = (*plan.program.inputs, *plan.program.outputs)
        assert {place.buffer for place in places} == set("ABVY")
        assert all(place.layout.is_natural for place in places) is is_as_it_lies
        assert_computes(kernel, plan.program, hw, "steps")
    assert packed.cycles < natural.cycles


def test_what_the_host_reads_is_not_overwritten_for_nothing() -> None:
    """Nothing on the machine divides: what that reads lies in the external memory anyway."""
    hw, kernel = machine("fused_npu"), steps(7, 5, 6, "R[i, j] // 3")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=30))
    assert "overwrite R" not in [str(step) for step in plan.steps]
    assert_computes(kernel, plan.program, hw, "steps")


def test_nothing_is_overwritten_where_no_instruction_changes_what_it_reads() -> None:
    hw = load_hardware(find_hardware("tpu_v1"))
    plan = find_plan(steps(2, 16, 16), hw, Wishes(time_limit_s=5))
    assert not any(step.rewrite == "overwrite" for step in plan.steps)
