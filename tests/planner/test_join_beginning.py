"""A sum takes over where it begins, also when several statements read it afterwards."""

import random
from pathlib import Path

import pytest

from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.resources import find_hardware
from isamap.verify import Check, verify_plan
from tests.scheduler.vector_machines import random_vector_machine

TWO_READERS = """
A, B, bias = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i32, {n})
C, D = Out(i32, {m}, {n}), Out(i32, {m}, {n})
T = Temp(i32, {m}, {n})
for i, j in grid({m}, {n}):
  T[i, j] = bias[j]
for a, b, p in grid({m}, {n}, {k}):
  T[a, b] += i32(A[a, p]) * i32(B[p, b])
for c, d in grid({m}, {n}):
  C[c, d] = T[c, d] + 1
for e, f in grid({m}, {n}):
  D[e, f] = T[e, f] * 3
"""
STEPS = """
A, B, bias, h = In(i8, 4, {m}, {k}), In(i8, {k}, {n}), In(i32, {n}), Out(i32, 4, {m}, {n})
T = Temp(i32, {m}, {n})
for t in range(4):
  for i, j in grid({m}, {n}):
    T[i, j] = bias[j]
  for a, b, p in grid({m}, {n}, {k}):
    T[a, b] += i32(A[t, a, p]) * i32(B[p, b])
  for c, d in grid({m}, {n}):
    h[t, c, d] = T[c, d] * T[c, d]
"""
ONE_STEP = """
b, x, y = In(i32, 7), In(i32, 5, 7), Out(i32, 5, 7)
for i, j in grid(5, 7):
  y[i, j] = b[j]
for k, l in grid(5, 7):
  y[k, l] += x[k, l]
"""


def build(text: str, m: int, n: int, k: int) -> Kernel:
    """The text at its sizes."""
    return parse_semantics(text.format(m=m, n=n, k=k), "sums")


@pytest.mark.parametrize("machine", ["gemmini", "vta", "outer"])
@pytest.mark.parametrize("text", [TWO_READERS, STEPS], ids=["two readers", "time steps"])
@pytest.mark.parametrize("sizes", [(7, 5, 6), (17, 33, 20)])
def test_the_bias_is_where_the_sum_begins(
    text: str, sizes: tuple[int, int, int], machine: str
) -> None:
    kernel, hw = build(text, *sizes), load_hardware(find_hardware(machine))
    plan = find_plan(kernel, hw, Wishes())
    joined = [task for task in plan.tasks if task.task.parts]
    assert {len(task.task.parts) for task in joined} == {2}  # of each part, where a step is cut
    assert verify_plan(plan, kernel, hw, Check.FULL).is_verified


def test_a_sum_that_is_read_before_it_begins_is_left_alone() -> None:
    text = TWO_READERS.replace("C[c, d] = T[c, d] + 1", "C[c, d] = 0")
    early = "for x, y in grid({m}, {n}):\n  C[x, y] = T[x, y]\n"
    text = text.replace("for i, j in", early + "for i, j in", 1)
    kernel, hw = build(text, 3, 4, 5), load_hardware(find_hardware("gemmini"))
    plan = find_plan(kernel, hw, Wishes())
    assert verify_plan(plan, kernel, hw, Check.FULL).is_verified


@pytest.mark.parametrize("target", ["D", "X"])
@pytest.mark.parametrize("seed", [0, 4, 7])
def test_a_sum_in_one_step_begins_in_the_operand_that_reads_it(
    target: str, seed: int, tmp_path: Path
) -> None:
    """`D = X + Y` reads what it adds to through X, `X = X + Y` where it writes."""
    file = tmp_path / "vectors.yaml"
    file.write_text(random_vector_machine(target, "X + Y", random.Random(seed)))
    hw = load_hardware(file)
    kernel = parse_semantics(ONE_STEP, "sums")
    plan = find_plan(kernel, hw, Wishes())
    assert [len(task.task.parts) for task in plan.tasks] == [2]
    assert verify_plan(plan, kernel, hw, Check.FULL).is_verified
