"""A store that takes only what was computed takes sums from where they lie between tasks, and no
copies.

In: kernels on VTA, whose store reads what GEMM and ALU wrote. Out: failures. Not its job: homes on
chip as such (`test_token_homes`).
"""

import pytest

from isamap.emulator import time_program
from isamap.ir import Kernel, parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.verify import verify_full
from tests.planner.homes import search
from tests.planner.test_keep_on_chip import homes_of
from tests.scheduler.cases import machine

HEAD = """
A, B, V, Y = In(i8, 16, 32), In(i8, 32, 16), In(i32, 16, 16), Out(i8, {steps}, 16, 16)
T = Temp(i32, 16, 16)
"""
STATEMENTS = {
    "zero": "for i, j in grid(16, 16):\n  T[i, j] = 0",
    "copy": "for i, j in grid(16, 16):\n  T[i, j] = V[i, j]",
    "half": "for i, j in grid(8, 16):\n  T[i, j] = V[i, j]",
    "sum": "for i, j in grid(16, 16):\n  T[i, j] += V[i, j]",
    "product": "for i, j, p in grid(16, 16, 32):\n  T[i, j] += i32(A[i, p]) * i32(B[p, j])",
    "store": "for i, j in grid(16, 16):\n  Y[{t}, i, j] = i8(T[i, j])",
}


def subject(first: str, *steps: str) -> Kernel:
    """Some statements, then others in two time steps."""
    lines = [STATEMENTS[name].format(t=0) for name in first.split()]
    if steps:
        lines.append("for t in range(2):")
        lines += [
            "  " + STATEMENTS[name].format(t="t").replace("\n", "\n  ")
            for name in " ".join(steps).split()
        ]
    return parse_semantics(HEAD.format(steps=2 if steps else 1) + "\n".join(lines), "taken")


@pytest.mark.parametrize(
    ("first", "steps"),
    [
        ("zero product product store", ""),
        ("copy product store", ""),
        ("zero product half sum store", ""),
        ("zero", "product store"),
        ("", "copy product product store"),
    ],
    ids=str,
)
def test_what_was_computed_last_is_stored_from_its_home(first: str, steps: str) -> None:
    kernel, hw = subject(first, *([steps] if steps else [])), machine("vta")
    found = search(kernel, hw)
    placed = found.schedule({"T": "acc"})
    assert placed is not None
    assert not any(task.on_host for task in placed.tasks)
    assert verify_full(placed.program, kernel, hw).is_verified
    cycles = time_program(placed.program, hw).cycles
    assert abs(placed.cycles - cycles) < 0.1 * cycles


@pytest.mark.parametrize(
    ("first", "steps"),
    [
        ("copy store", ""),
        ("zero product half store", ""),
        ("copy", "store sum"),
        ("zero", "store copy"),
    ],
    ids=str,
)
def test_what_may_have_been_copied_is_not(first: str, steps: str) -> None:
    """In time steps, what comes later in one comes before in the next."""
    kernel, hw = subject(first, *([steps] if steps else [])), machine("vta")
    assert search(kernel, hw).schedule({"T": "acc"}) is None
    plan = find_plan(kernel, hw, Wishes(time_limit_s=5))
    assert verify_full(plan.program, kernel, hw).is_verified


def test_sums_of_time_steps_are_computed_and_stored_without_the_host() -> None:
    kernel, hw = subject("", "zero product product store"), machine("vta")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=20))
    assert homes_of(plan) == {"T": "acc"}
    instructions = [task.best.covering.instruction for task in plan.tasks]
    assert instructions == ["gemm_reset", "gemm", "gemm", "store"]
