"""Plans take as long as their tasks do where these overlap, and where they wait for each other.

In: kernels of several tasks on shipped machines. Out: failures. Not its job: single tasks
(tests/costmodels).
"""

import pytest

import isamap
from isamap.compile import PlanResult
from isamap.ir import Kernel, parse_semantics

TWO = """
A, B, C = In(i8, 32, 48), In(i8, 48, 32), InOut(i32, 32, 32)
D, E, F = In(i8, 32, 48), In(i8, 48, 32), InOut(i32, 32, 32)
for i, j, p in grid(32, 32, 48):
  C[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j, p in grid(32, 32, 48):
  F[i, j] += i32(D[i, p]) * i32(E[p, j])
"""


def plan(kernel: str | Kernel, hw: str, **sizes: int) -> PlanResult:
    found = isamap.map(
        kernel, hw, sizes=sizes, verify="off", may_reassociate=True, time_limit_s=240
    )  # enough on a busy machine
    assert isinstance(found, PlanResult) and found.timing is not None
    assert found.plan.bound_cycles <= found.plan.cycles
    assert found.plan.costs.cycles == found.plan.cycles
    assert abs(found.plan.cycles - found.timing.cycles) <= 0.10 * found.timing.cycles
    return found


def alone(found: PlanResult) -> int:
    return sum(task.cycles for task in found.plan.tasks) + found.plan.repack_cycles


def test_tasks_on_different_data_overlap() -> None:
    found = plan(parse_semantics(TWO, "two"), "gemmini")
    assert found.plan.cycles < alone(found)


@pytest.mark.parametrize(("kernel", "hw"), [("mlp:mlp_scaled", "gemmini"), ("mlp", "tpu_v1")])
def test_layers_begin_with_what_is_there(kernel: str, hw: str) -> None:
    """With the first parts of what the layer before writes; weights, before any of it."""
    found = plan(kernel, hw)
    assert found.timing is not None
    assert found.plan.cycles < 0.95 * alone(found)
    assert abs(found.plan.cycles - found.timing.cycles) <= 0.05 * found.timing.cycles


@pytest.mark.parametrize("steps", [3, 7])
def test_steps_that_need_each_other_do_not(steps: int) -> None:
    found = plan("rnn:rnn_relu_skip", "trainium", steps=steps, batch=16, hidden=128)
    assert found.timing is not None


def test_with_tokens_tasks_end_before_others_begin() -> None:
    found = plan(parse_semantics(TWO, "two"), "vta")
    assert found.plan.cycles == alone(found)
