"""What lies on chip between tasks is read only as far as it was written, and no copies by what
takes only what was computed.

In: kernels on VTA, whose calls take 16 lanes and whose store reads what GEMM and ALU wrote, and on
an invented machine with such calls. Out: failures. Not its job: homes on chip as such
(`test_token_homes`).
"""

from dataclasses import replace

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import ExtentKind, Hardware
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


ODD = """
A, B, V, Z = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i32, {m}, {n}), Out(i8, {m}, {n})
Y, T = InOut(i8, 2, {m}, {n}), Temp(i32, {m}, {n})
for i, j in grid({m}, {n}):
  T[i, j] = 0
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid({m}, {n}):
  Y[1, i, j] = i8(T[i, j])
for i, j in grid({m}, {n}):
  T[i, j] = T[i, j] >> 3
for i, j in grid({m}, {n}):
  T[i, j] += V[i, j]
for i, j in grid({m}, {n}):
  Z[i, j] = i8(T[i, j])
"""


@pytest.mark.parametrize("sizes", [(7, 5, 6), (1, 1, 1), (3, 17, 20), (5, 31, 16)], ids=str)
def test_what_a_call_writes_past_the_end_has_room_on_chip(sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    kernel, hw = parse_semantics(ODD.format(m=m, n=n, k=k), "odd"), machine("vta")
    placed = search(kernel, hw).schedule({"T": "acc"})
    assert placed is not None
    assert not any(task.on_host for task in placed.tasks)
    assert verify_full(placed.program, kernel, hw).is_verified


SHIFTED = """
A, D, T = In(i32, 7, {n}), Out(i32, 7, {n}), Temp(i32, 7, {n})
for i, j in grid(7, {n}):
  T[i, j] = A[i, j] + A[i, j]
for i, j in grid(7, {n}):
  T[i, j] = max(T[i, j], 2)
for i, j in grid(7, {n}):
  D[i, j] = T[i, j] + A[i, j]
"""


def taking_whole_rows(hw: Hardware, name: str) -> Hardware:
    """The machine, one of whose instructions takes rows of 16 elements, no fewer."""
    old = hw.instruction(name)
    extents = tuple(
        (loop, replace(rule, kind=ExtentKind.EXACTLY) if loop == "j" else rule)
        for loop, rule in old.extents
    )
    changed = replace(old, extents=extents)
    return replace(hw, instructions=tuple(changed if x is old else x for x in hw.instructions))


@pytest.mark.parametrize("n", [5, 16])
def test_what_nobody_wrote_past_the_end_is_not_read(n: int) -> None:
    """Additions leave the rest of a row as it was."""
    kernel = parse_semantics(SHIFTED.format(n=n), "shifted")
    plain = machine("fused_npu")
    assert search(kernel, plain).schedule({"T": "accumulator"}) is not None
    found = search(kernel, taking_whole_rows(plain, "maximum")).schedule({"T": "accumulator"})
    assert (found is not None) is (n == 16)
    both = taking_whole_rows(taking_whole_rows(plain, "maximum"), "add")
    found = search(kernel, both).schedule({"T": "accumulator"})
    assert found is not None
    assert verify_full(found.program, kernel, both).is_verified


ITSELF = """
A, B, D, T = In(i8, 16, 32), In(i8, 32, 33), Out(i32, 16, 33), Temp(i32, 16, 33)
for i, j in grid(16, 33):
  T[i, j] = 0
for i, j, p in grid(16, 33, 32):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j in grid(16, 33):
  T[i, j] = T[i, j]
for i, j in grid(16, 33):
  D[i, j] = T[i, j]
"""


@pytest.mark.parametrize(
    ("name", "memory"), [("conv_engine", "sums"), ("fused_npu", "accumulator")]
)
def test_what_is_copied_onto_itself_is_not_looked_for_off_the_chip(name: str, memory: str) -> None:
    """A load could take there from the external memory what lies on chip."""
    found = search(parse_semantics(ITSELF, "itself"), machine(name))
    assert found.schedule({"T": memory}) is None
