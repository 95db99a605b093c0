"""Which sums may take over their neighbours, and that those which do are right.

In: small kernels. Out: failures. Not its job: whether a join pays.
"""

import pytest

from isamap.ir import parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.verify import verify_full
from tests.planner.forced_joins import forced_program, joined_numbers
from tests.scheduler.cases import machine

HEAD = """
A, B, b, C = In(i8, 3, 5), In(i8, 5, 3), In(i32, 3), InOut(i32, 3, 3)
T, U = Temp(i32, 3, 3), Temp(i32, 3, 3)
D, E = Out(i32, 3, 3), Out(i32, 3, 3)
"""
SUM = """
for i, j, k in grid(3, 3, 5):
  T[i, j] += i32(A[i, k]) * i32(B[k, j])
"""


def each(text: str) -> str:
    """A statement for all i, j."""
    return f"for i, j in grid(3, 3):\n  {text}\n"


STEPS = """
A, B, b = In(i8, 2, 3, 5), In(i8, 5, 3), In(i32, 3, 3)
T, D, S = Temp(i32, 3, 3), Out(i32, 2, 3, 3), Temp(i32, 2, 3, 3)
"""
SUM_T = """
  for i, j, k in grid(3, 3, 5):
    T[i, j] += i32(A[t, i, k]) * i32(B[k, j])
"""
FINISH_T = """
  for i, j in grid(3, 3):
    D[t, i, j] = relu(T[i, j])
"""

JOINED = {
    "a finish": HEAD + SUM + each("D[i, j] = relu(T[i, j])"),
    "a beginning and a finish": HEAD + each("T[i, j] = b[j]") + SUM + each("D[i, j] = T[i, j]"),
    "an addend": HEAD + SUM + each("D[i, j] = relu(b[j] + T[i, j])"),
    "a transposed finish": HEAD + SUM + each("D[j, i] = T[i, j]"),
    "a finish that reads transposed": HEAD + SUM + each("D[i, j] = T[j, i]"),
    "a finish past another statement": HEAD + SUM + each("E[i, j] = C[i, j]")
    + each("D[i, j] = T[i, j]"),
    "sums from what others left": HEAD + each("T[i, j] = relu(C[i, j])") + SUM
    + each("D[i, j] = T[i, j]"),
    "the sum twice in one reading": HEAD + SUM + each("D[i, j] = T[i, j] + T[i, j]"),
    "steps that begin anew": STEPS + "for t in range(2):\n  for i, j in grid(3, 3):\n"
    "    T[i, j] = b[i, j]\n" + SUM_T + FINISH_T,
    "steps with sums of their own": STEPS + "for t in range(2):"
    + SUM_T.replace("T[i, j]", "S[t, i, j]") + FINISH_T.replace("T[i, j]", "S[t, i, j]"),
}  # fmt: skip

REFUSED = {
    "two readers": HEAD + SUM + each("D[i, j] = T[i, j]") + each("E[i, j] = T[i, j]"),
    "a sum that is seen": HEAD.replace("T, U = Temp(i32, 3, 3)", "T, U = Out(i32, 3, 3)") + SUM
    + each("D[i, j] = T[i, j]"),
    "an outlet that the sum reads": HEAD.replace("A, B, b, C = In(i8, 3, 5)",
    "A, B, b, C = InOut(i8, 3, 5)") + SUM + each("A[i, j] = i8(T[i, j])"),
    "a bias that changes before the finish": HEAD + SUM + each("U[i, j] = C[i, j]")
    + each("C[i, j] = 1") + each("D[i, j] = T[i, j] + U[i, j]")
    + each("E[i, j] = U[i, j] + T[i, j]"),
    "a bias that is written before the sum": HEAD + each("T[i, j] = C[i, j]")
    + each("C[i, j] = 1") + SUM + each("D[i, j] = T[i, j]"),
    "a finish that something reads before": HEAD + SUM + each("E[i, j] = C[i, j]")
    + each("C[i, j] = T[i, j]"),
    "a finish of a part": HEAD + SUM + "for i, j in grid(2, 3):\n  D[i, j] = T[i, j]\n",
    "a sum added to both sides of a maximum": HEAD + SUM
    + each("D[i, j] = max(T[i, j] + b[j], T[i, j])"),
    "two other arrays": HEAD + SUM + each("D[i, j] = max(T[i, j] + b[j], C[i, j])"),
    "an update as finish": HEAD + SUM + each("D[i, j] += T[i, j]"),
    "a sum added in place": HEAD + SUM + each("C[i, j] = C[i, j] + T[i, j]"),
    "a finish in place": HEAD + SUM + each("T[i, j] = relu(T[i, j])"),
    "a diagonal": HEAD + SUM + "for i in range(3):\n  D[i, i] = T[i, i]\n",
    "a sum that goes on in the next step": STEPS + "for t in range(2):" + SUM_T + FINISH_T,
    "a sum begun before all steps": STEPS + each("T[i, j] = b[i, j]") + "for t in range(2):"
    + SUM_T + FINISH_T,
    "a beginning from the last sum": STEPS + "for t in range(2):\n  for i, j in grid(3, 3):\n"
    "    T[i, j] = T[i, j] >> 1\n" + SUM_T + FINISH_T,
}  # fmt: skip


@pytest.mark.parametrize("text", JOINED.values(), ids=JOINED.keys())
def test_a_sum_takes_over_what_it_can(text: str) -> None:
    assert joined_numbers(parse_semantics(text, "joins"))


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_sum_leaves_what_it_may_not_take(text: str) -> None:
    assert not joined_numbers(parse_semantics(text, "stays"))


def test_two_joins_do_not_pass_each_other() -> None:
    """U begins from C before C takes T: either sum may take over, not both."""
    text = HEAD + each("U[i, j] = C[i, j]") + SUM + SUM.replace("T[", "U[")
    text += each("C[i, j] = T[i, j]") + each("E[i, j] = U[i, j]")
    subject, hw = parse_semantics(text, "crossing"), machine("fused_npu")
    plan = find_plan(subject, hw, Wishes())
    assert [len(task.task.statements) for task in plan.tasks] == [1, 2, 1, 1]
    assert verify_full(plan.program, subject, hw).is_verified


@pytest.mark.parametrize("hw_name", ["vta", "gemmini", "fused_npu"])
@pytest.mark.parametrize("text", JOINED.values(), ids=JOINED.keys())
def test_forced_joins_compute_the_same(text: str, hw_name: str) -> None:
    subject, hw = parse_semantics(text, "joins"), machine(hw_name)
    program = forced_program(subject, hw)
    if program is not None:
        found = verify_full(program, subject, hw)
        assert found.is_verified, found


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_kernels_without_joins_are_right(text: str) -> None:
    subject, hw = parse_semantics(text, "stays"), machine("fused_npu")
    found = verify_full(find_plan(subject, hw, Wishes()).program, subject, hw)
    assert found.is_verified, found
