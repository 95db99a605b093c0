"""Statements that touch part of their arrays: what lies beside it is neither added nor changed.

In: small kernels on the shipped machines. Out: failures. Not its job: which instruction is chosen.
"""

import pytest

from isamap.hwdesc import load_hardware
from isamap.ir import parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.resources import find_hardware
from isamap.verify import verify_full
from tests.scheduler.cases import MACHINES, machine

KERNELS = {
    "sum over part of both factors": """
A, x, y = In(i8, 3, 5), In(i8, 5), Out(i32, 3)
for i, k in grid(3, 3):
  y[i] += i32(A[i, k]) * i32(x[k])
""",
    "sum over the middle of both factors": """
A, B, C = In(i8, 4, 9), In(i8, 9, 5), Out(i32, 4, 5)
for i, j, k in grid(4, 5, 3):
  C[i, j] += i32(A[i, k + 2]) * i32(B[k + 3, j])
""",
    "sum over part of one factor": """
A, B, C = In(i8, 4, 9), In(i8, 6, 5), Out(i32, 4, 5)
for i, j, k in grid(4, 5, 6):
  C[i, j] += i32(A[i, k]) * i32(B[k, j])
""",
    "sums into part of an array": """
A, x, y = In(i8, 5, 5), In(i8, 5), InOut(i32, 5)
for i, k in grid(3, 5):
  y[i] += i32(A[i, k]) * i32(x[k])
""",
    "sums into every other element": """
A, x, y = In(i8, 5, 5), In(i8, 5), InOut(i32, 6)
for i, k in grid(3, 5):
  y[2 * i] += i32(A[i, k]) * i32(x[k])
""",
    "sums backwards over part": """
A, x, y = In(i8, 3, 5), In(i8, 5), Out(i32, 3)
for i, k in grid(3, 3):
  y[i] += i32(A[i, 4 - k]) * i32(x[4 - k])
""",
    "finished sums into part of an array": """
A, B, D, T = In(i8, 3, 5), In(i8, 5, 3), InOut(i8, 5, 4), Temp(i32, 3, 3)
for i, j, k in grid(3, 3, 5):
  T[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(3, 3):
  D[i, j] = sat_i8(relu(T[i, j]))
""",
    "finished sums into the end of an array": """
A, B, D, T = In(i8, 3, 5), In(i8, 5, 3), InOut(i8, 5, 3), Temp(i32, 3, 3)
for i, j, k in grid(3, 3, 5):
  T[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(3, 3):
  D[i + 2, j] = sat_i8(relu(T[i, j]))
""",
    "sums begun elsewhere into the end of an array": """
A, B, D, S = In(i8, 3, 5), In(i8, 5, 3), InOut(i32, 5, 3), In(i32, 3, 3)
for i, j in grid(3, 3):
  D[i + 2, j] = S[i, j]
for i, j, k in grid(3, 3, 5):
  D[i + 2, j] += i32(A[i, k]) * i32(B[k, j])
""",
    "steps' sums begun elsewhere": """
A, B, D, S = In(i8, 3, 6, 33), In(i8, 4, 6, 2), InOut(i32, 4, 33, 2), In(i32, 33, 2)
for t in range(3):
  for i, j in grid(33, 2):
    D[t + 1, i, j] = S[i, j]
  for i, j, k in grid(33, 2, 6):
    D[t + 1, i, j] += i32(A[t, k, i]) * i32(B[t + 1, k, j])
""",
    "finished sums begun beside an array": """
A, B, b, D, T = In(i8, 3, 5), In(i8, 5, 3), In(i32, 3), Out(i32, 3, 3), Temp(i32, 3, 3)
for i, j, k in grid(3, 3, 5):
  T[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(3, 3):
  D[i, j] = T[i, j] + b.at(j + 1, pad=9)
""",
}


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("text", KERNELS.values(), ids=KERNELS.keys())
def test_what_lies_beside_a_part_does_not_matter(text: str, hw_name: str) -> None:
    subject, hw = parse_semantics(text, "part"), machine(hw_name)
    plan = find_plan(subject, hw, Wishes(time_limit_s=2.0))
    found = verify_full(plan.program, subject, hw)
    assert found.is_verified, found


@pytest.mark.parametrize("taps", [1, 2])
def test_the_host_computes_what_lies_where_indices_fall_with_a_loop(taps: int) -> None:
    """It is cheaper there; loops of one iteration neither rise nor fall."""
    text = f"""
A, x, y = In(i8, 3), In(i8, 2), InOut(i32, 3)
for i, u in grid(3, {taps}):
  y[i] += i32(A.at(i - u, pad=0)) * i32(x[u])
"""
    subject, hw = parse_semantics(text, "part"), load_hardware(find_hardware("gemmini"))
    plan = find_plan(subject, hw, Wishes(time_limit_s=1.0))
    assert plan.tasks[0].on_host
    found = verify_full(plan.program, subject, hw)
    assert found.is_verified, found
