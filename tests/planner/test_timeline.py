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

# weights that the host changes after every product with them
CHANGED = """
A, W, C = In(i8, 6, 64, 64), InOut(i8, 64, 64), InOut(i32, 6, 64, 64)
for s in range(6):
  for i, j, p in grid(64, 64, 64):
    C[s, i, j] += i32(A[s, i, p]) * i32(W[p, j])
  for q, r in grid(64, 64):
    W[q, r] = i8(i32(W[q, r]) * 3 + 1)
"""
# weights that the host makes before every product with them, in the same place
MADE = """
A, V, C = In(i8, 6, 64, 64), In(i8, 6, 64, 64), InOut(i32, 6, 64, 64)
W = Temp(i8, 64, 64)
for s in range(6):
  for q, r in grid(64, 64):
    W[q, r] = i8(i32(V[s, q, r]) * 3 + 1)
  for i, j, p in grid(64, 64, 64):
    C[s, i, j] += i32(A[s, i, p]) * i32(W[p, j])
"""
# sums of which the host changes the first row after every product
FIRST_ROW = """
A, W, C = In(i8, 6, 64, 64), In(i8, 64, 64), Out(i32, 64, 64)
for s in range(6):
  for i, j, p in grid(64, 64, 64):
    C[i, j] += i32(A[s, i, p]) * i32(W[p, j])
  for r in range(64):
    C[0, r] = 7
"""
# every step in the same few places on chip
SHIFTED = """
A = InOut(i32, 34, 3)
for i, j in grid(32, 3):
  A[i, j] = A[i + 2, j]
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


@pytest.mark.parametrize("kernel", [CHANGED, MADE])
@pytest.mark.parametrize("hw", ["gemmini", "tpu_v1"])
def test_what_is_read_is_not_overwritten_meanwhile(kernel: str, hw: str) -> None:
    found = plan(parse_semantics(kernel, "overwritten"), hw)
    assert found.timing is not None
    assert abs(found.plan.cycles - found.timing.cycles) <= 0.02 * found.timing.cycles


def test_what_was_laid_out_anew_may_be_overwritten() -> None:
    """The outer product reads blocks into which the host copies the weights."""
    found = plan(parse_semantics(CHANGED, "changed"), "outer")
    assert found.timing is not None and found.plan.repack_cycles
    assert found.plan.cycles == found.timing.cycles  # the host's own


@pytest.mark.parametrize("hw", ["gemmini", "fused_npu"])
def test_tasks_wait_only_for_the_part_that_both_touch(hw: str) -> None:
    found = plan(parse_semantics(FIRST_ROW, "first_row"), hw)
    assert found.timing is not None
    assert abs(found.plan.cycles - found.timing.cycles) <= 0.05 * found.timing.cycles


@pytest.mark.parametrize("steps", [3, 7])
def test_steps_that_need_each_other_do_not(steps: int) -> None:
    found = plan("rnn:rnn_relu_skip", "trainium", steps=steps, batch=16, hidden=128)
    assert found.timing is not None


def test_with_tokens_tasks_end_before_others_begin() -> None:
    found = plan(parse_semantics(TWO, "two"), "vta")
    assert found.plan.cycles == alone(found)


@pytest.mark.parametrize("hw", ["mesh", "gemmini_os", "aie_ml", "conv_engine"])
def test_steps_take_turns_in_their_places_on_chip(hw: str) -> None:
    """A place is filled again when what it held has been stored: a copy's way in and out for as
    many steps as there are places, not for each of them as if there were one for all."""
    found = plan(parse_semantics(SHIFTED, "shifted"), hw)
    assert found.timing is not None and len(found.plan.tasks) == 1
    assert not found.plan.tasks[0].on_host
