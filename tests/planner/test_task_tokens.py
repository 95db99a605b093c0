"""Tokens between and within the tasks of one program.

In: small kernels of several statements on the machine with tokens. Out: failures. Not its job:
single statements (`test_tokens`).
"""

from collections import Counter
from dataclasses import replace

import pytest

from isamap.emulator import time_program
from isamap.errors import MappingError, ProgramError
from isamap.hwdesc import Hardware
from isamap.ir import parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.program import Program
from isamap.verify import verify_full
from tests.scheduler.cases import machine
from tests.scheduler.test_tokens import without_one_token, without_tokens

TWO_SUMS = """
A, B, C, D, T = In(i8, 5, 40), In(i8, 40, 20), In(i8, 20, 33), Out(i32, 5, 33), Temp(i8, 5, 20)
S = Temp(i32, 5, 20)
for i, j, k in grid(5, 20, 40):
  S[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(5, 20):
  T[i, j] = i8(min(max(S[i, j], -128), 127))
for i, j, k in grid(5, 33, 20):
  D[i, j] += i32(T[i, k]) * i32(C[k, j])
"""
STEPS = """
A, B, C = In(i8, 2, 9, 96), In(i8, 96, 9), In(i8, 96, 9)
T, S, D = Temp(i32, 9, 9), Temp(i32, 9, 9), Out(i32, 2, 9, 9)
for t in range(2):
  for i, j, k in grid(9, 9, 96):
    T[i, j] += i32(A[t, i, k]) * i32(B[k, j])
  for i, j, k in grid(9, 9, 96):
    S[i, j] += i32(A[t, i, k]) * i32(C[k, j])
  for i, j in grid(9, 9):
    D[t, i, j] = T[i, j] + S[i, j]
"""
FINISHED = """
A, B, b, D = In(i8, 2, 17), In(i8, 17, 40), In(i32, 2, 40), Out(i8, 2, 40)
T, E = Temp(i32, 2, 40), Out(i32, 2, 40)
for i, j in grid(2, 40):
  T[i, j] = b[i, j]
for i, j, k in grid(2, 40, 17):
  T[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(2, 40):
  D[i, j] = i8(min(max(T[i, j], -128), 127) >> 3)
for i, j in grid(2, 40):
  E[i, j] = b[i, j] + i32(D[i, j])
"""
TEXTS = {"two sums": TWO_SUMS, "steps": STEPS, "finished": FINISHED}


def program(text: str) -> Program:
    """The program of several tasks, which computes the kernel."""
    subject, hw = parse_semantics(text, "tokens"), machine("vta")
    found = find_plan(subject, hw, Wishes(time_limit_s=3)).program
    assert verify_full(found, subject, hw).is_verified
    return found


def fate(poorer: Program, hw: Hardware) -> str:
    """What the emulator says: the rule that is broken, or nothing."""
    try:
        time_program(poorer, hw, compiled=False)
    except ProgramError as error:
        rules = [rule for rule in ("deadlock", "hazard", "overflow") if rule in error.message]
        assert rules, error.message
        return rules[0]
    return "redundant"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_missing_pushes_are_deadlocks_and_missing_pops_hazards(text: str) -> None:
    """Where a task waits for more than it needs, some pops are redundant."""
    intact, hw = program(text), machine("vta")
    assert fate(intact, hw) == "redundant"
    assert fate(replace(intact, body=without_tokens(intact.body)), hw) == "hazard"
    counts = Counter(
        (field, fate(replace(intact, body=body), hw))
        for field, _, body in without_one_token(intact.body)
    )
    assert {rule for field, rule in counts if field == "pushes"} == {"deadlock"}
    assert {rule for field, rule in counts if field == "pops"} == {"hazard", "redundant"}


def test_why_another_unit_does_not_fill_an_output_is_said() -> None:
    """VTA's additions on the unit that stores: the one that computes would load their first
    operand, which becomes the sum, and shifts it between the bytes that are stored."""
    hw = machine("vta")
    moved = tuple(replace(i, unit="store") if i.name == "alu_add" else i for i in hw.instructions)
    apart = replace(hw, instructions=moved)
    text = """
X, Y, D = In(i32, 64, 16), In(i32, 64, 16), Out(i32, 64, 16)
for i, j in grid(64, 16):
  D[i, j] = X[i, j] + Y[i, j]
"""
    kernel = parse_semantics(text, "sum")
    assert find_plan(kernel, hw, Wishes(time_limit_s=3)).tasks[0].answer is not None
    (task,) = find_plan(kernel, apart, Wishes(time_limit_s=3)).tasks
    assert task.answer is None
    assert task.reason == (
        "load_acc fills the output D on unit 'compute', and it leaves in byte planes, between which"
        " no token orders that"
    )
    with pytest.raises(MappingError) as caught:
        find_plan(kernel, replace(apart, host=None), Wishes(time_limit_s=3))
    assert "cannot be scheduled so far, the first because load_acc fills" in caught.value.message
