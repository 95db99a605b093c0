"""Neighbours on the host run in one call where nobody waits for the first of them.

In: small kernels. Out: failures. Not its job: what the host runs (`test_place_tasks`).
"""

import pytest

from isamap.emulator import time_program
from isamap.ir import load_kernel, parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.resources import find_kernel
from isamap.verify import verify_full
from tests.scheduler.cases import machine

WISHES = Wishes(time_limit_s=300)  # the time that machines under load take

CHAIN = """
A, B = In(i8, {m}, {m}), In(i8, {m}, {m})
S, T, E, D = Temp(i32, {m}, {m}), Temp(f32, {m}, {m}), Out(f32, {m}, {m}), Out(i32, {m}, {m})
for i, j, k in grid({m}, {m}, {m}):
  S[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid({m}, {m}):
  T[i, j] = tanh(f32(S[i, j]) * 0.01)
for i, j in grid({m}, {m}):
  E[i, j] = {value}
for i, j, k in grid({m}, {m}, {m}):
  D[i, j] += i32(A[i, k]) * i32(B[j, k])
"""


@pytest.mark.parametrize(
    ("hw_name", "sizes"),
    [("vta", (1, 1, 1)), ("tpu_v1", (1, 1, 1)), ("tpu_v1", (3, 2, 5)), ("gemmini", (2, 2, 33))],
)
def test_gates_of_a_step_begin_once(hw_name: str, sizes: tuple[int, int, int]) -> None:
    names = ("steps", "batch", "hidden")
    kernel = load_kernel(find_kernel("gru")[0], dict(zip(names, sizes)), "gru_skip_i8")
    hw = machine(hw_name)
    plan = find_plan(kernel, hw, WISHES)
    assert any(task.goes_on is not None for task in plan.tasks)
    assert verify_full(plan.program, kernel, hw).is_verified
    busy = {unit.unit: unit.busy_cycles for unit in time_program(plan.program, hw).unit_busy}
    on_host = sum(task.cycles for task in plan.tasks if task.on_host)
    assert abs(busy["host"] - on_host - plan.repack_cycles) <= len(plan.tasks) * sizes[0]


@pytest.mark.parametrize(
    ("value", "is_joined"),
    [
        ("T[i, j] * T[j, i] + f32(S[i, j])", True),
        ("T[i, j] * T[j, i] + f32(D[i, j])", False),  # which comes later
        ("T[i, j] * T[0, j]", False),  # the first one's operand is all of it
    ],
)
def test_a_call_goes_on_where_the_next_statement_needs_no_more(value: str, is_joined: bool) -> None:
    text = CHAIN.format(m=33, value=value)
    if "D[" in value:  # the second product before the second statement on the host
        head, rest = text.split("for i, j in grid(33, 33):\n  E", 1)
        body, product = rest.split("for i, j, k", 1)
        text = f"{head}for i, j, k{product}for i, j in grid(33, 33):\n  E{body}"
    kernel = parse_semantics(text, "chain")
    hw = machine("gemmini")
    plan = find_plan(kernel, hw, WISHES)
    going_on = [t.task.statement.target.buffer for t in plan.tasks if t.goes_on is not None]
    assert going_on == (["E"] if is_joined else [])
    assert verify_full(plan.program, kernel, hw).is_verified


def test_what_costs_less_in_the_hosts_call_than_where_it_runs_goes_on_there() -> None:
    """The sum takes 887 cycles on the vector unit and 2 x 1050 by itself on the host, whose calls
    begin 1000 cycles late; in the calls of the products it is 2 x 50 cycles more."""
    text = """
A, B, C = In(i8, 2, 9, 24), In(i8, 24, 9), In(i8, 24, 9)
T, S, D = Temp(i32, 9, 9), Temp(i32, 9, 9), Out(i32, 2, 9, 9)
for t in range(2):
  for i, j, k in grid(9, 9, 24):
    T[i, j] += i32(A[t, i, k]) * i32(B[k, j])
  for i, j, k in grid(9, 9, 24):
    S[i, j] += i32(A[t, i, k]) * i32(C[k, j])
  for i, j in grid(9, 9):
    D[t, i, j] = T[i, j] + S[i, j]
"""
    kernel = parse_semantics(text, "steps")
    hw = machine("vta")
    plan = find_plan(kernel, hw, WISHES)
    assert verify_full(plan.program, kernel, hw).is_verified
    assert [task.goes_on is not None for task in plan.tasks] == [False, True, True]
    assert time_program(plan.program, hw).cycles < 10_000  # 12 038 with three calls each


def test_on_the_core_itself_neighbours_run_row_by_row() -> None:
    text = """
X, Y, S = In(f32, 9, 40), Out(f32, 9, 40), Temp(f32, 9)
for i, j in grid(9, 40):
  S[i] += exp(X[i, j])
for i, j in grid(9, 40):
  Y[i, j] = X[i, j] / S[i]
"""
    kernel = parse_semantics(text, "rows")
    hw = machine("x86_avx512")
    plan = find_plan(kernel, hw, WISHES)
    (call,) = plan.program.host_calls
    assert [len(set(s.loops) & set(call.statements[0].loops)) for s in call.statements] == [2, 1]
    assert verify_full(plan.program, kernel, hw).is_verified


def test_a_statement_that_adds_to_what_others_write_waits_for_them_alone() -> None:
    """The sum of differences is computed beside the product, to which it is added afterwards."""
    text = """
A, B, T, C = In(i8, 33, 33), In(i8, 33, 33), Temp(i32, 33, 33), Out(i32, 33, 33)
for i, j, k in grid(33, 33, 33):
  C[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j, k in grid(33, 33, 3):
  T[i, j] += i32(A[i, k]) ^ i32(B[k, j])
for i, j in grid(33, 33):
  C[i, j] += T[i, j]
"""
    kernel = parse_semantics(text, "added")
    hw = machine("gemmini")
    plan = find_plan(kernel, hw, WISHES)
    assert [task.goes_on for task in plan.tasks] == [None] * 3
    assert abs(plan.cycles / time_program(plan.program, hw).cycles - 1) < 0.1
    assert verify_full(plan.program, kernel, hw).is_verified
