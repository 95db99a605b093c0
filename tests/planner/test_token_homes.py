"""Temporaries stay on chip between tasks where units hand over tokens.

In: chains of statements on an invented machine with two computing units, on one with three queues,
and on VTA. Out: failures. Not its job: machines that interlock (`test_keep_on_chip`,
`test_clear_on_chip`, `test_overwrite_on_chip`, `test_carry_states`).
"""

import random
from dataclasses import replace
from functools import cache

import pytest

from isamap.emulator import time_program
from isamap.errors import MappingError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.planner import Plan, Wishes, find_plan
from isamap.planner.find_plan import plan_whole
from isamap.planner.schedule_tasks import Known
from isamap.verify import verify_full
from tests.planner.homes import count_right_homes
from tests.planner.test_keep_on_chip import LAYERS, homes_of
from tests.planner.test_overwrite_on_chip import STEPS
from tests.planner.test_task_tokens import fate
from tests.planner.token_chains import FUSED, chain_kernel
from tests.scheduler.cases import ROOT, machine
from tests.scheduler.test_tokens import without_one_token, without_tokens

TOLERANCE = 0.15  # of the cycles of small kernels, in which tokens take a good part of the time
RECURRENT = """
x, y, h = In(i32, {k}, {m}, {n}), In(i32, {m}, {n}), InOut(i32, {k} + 1, {m}, {n})
R = Temp(i32, {m}, {n})
for t in range({k}):
  for z, j in grid({m}, {n}):
    R[z, j] = h[t, z, j] + x[t, z, j]
  for z, j in grid({m}, {n}):
    R[z, j] = max(R[z, j], -9)
  for z, j in grid({m}, {n}):
    h[t + 1, z, j] = R[z, j] + y[z, j]
"""
TWO_PRODUCTS = """
A, B, C, D = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i8, {m}, {k}), In(i8, {k}, {n})
T, Y = Temp(i32, {m}, {n}), Out(i32, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(C[i, p]) * i32(D[p, j])
for i, j in grid({m}, {n}):
  Y[i, j] = T[i, j]
"""
LANES = """
A, B, C, D = In(i8, {m}, {k}), In(i8, {k}, {n}), In(i8, {m}, {k}), In(i8, {k}, {n})
Y, V = Out(i8, {m}, {n}), In(i32, {m}, {n})
T, S, R = Temp(i32, {m}, {n}), Temp(i32, {m}, {n}), Temp(i32, {m}, {n})
{begin}
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(A[i, p]) * i32(B[p, j])
for i, j, p in grid({m}, {n}, {k}):
  T[i, j] += i32(C[i, p]) * i32(D[p, j])
for i, j in grid({m}, {n}):
  S[i, j] = T[i, j] >> 4
for i, j in grid({m}, {n}):
  R[i, j] = max(S[i, j], 0)
for i, j in grid({m}, {n}):
  Y[i, j] = i8(R[i, j])
"""
BIAS = "for i, j in grid({m}, {n}):\n  T[i, j] = V[i, j]"
SIZES = ((1, 1, 1), (7, 5, 6), (33, 17, 20))


@cache
def token_machine(file: str = "planner/fused_tokens.yaml") -> Hardware:
    return load_hardware(ROOT / "tests" / file)


def subject(text: str, m: int, n: int, k: int) -> Kernel:
    text = text.replace("{k} + 1", str(k + 1))
    return parse_semantics(text.format(m=m, n=n, k=k, o=k, last="R[i, j] + V[i, j]"), "subject")


def right_plan(kernel: Kernel, hw: Hardware) -> Plan:
    """The plan, which computes the kernel in about as many cycles as it says."""
    plan = find_plan(kernel, hw, Wishes(time_limit_s=30))
    assert verify_full(plan.program, kernel, hw).is_verified
    cycles = time_program(plan.program, hw).cycles
    assert plan.bound_cycles <= cycles
    assert abs(plan.cycles - cycles) < TOLERANCE * cycles
    return plan


@pytest.mark.parametrize(
    ("text", "rewrites", "kept", "sizes"),
    [
        *((STEPS, [*(f"overwrite {x}" for x in "TSR"), "clear R"], {"R"}, x) for x in SIZES[1:]),
        *((LAYERS, [], {"H"}, x) for x in SIZES),
        *((RECURRENT, ["carry h over t"], {"R", "h_state"}, x) for x in SIZES[1:]),
    ],
)
def test_temporaries_stay_on_chip(
    text: str, rewrites: list[str], kept: set[str], sizes: tuple[int, int, int]
) -> None:
    kernel, hw = subject(text, *sizes), token_machine()
    plan = right_plan(kernel, hw)
    assert [str(step) for step in plan.steps] == rewrites
    assert homes_of(plan).keys() == kept
    plain = plan_whole(kernel, hw, Wishes(time_limit_s=30), Known())
    assert rewrites == [] or plan.cycles < plain.cycles


@pytest.mark.parametrize("sizes", [(7, 5, 6), (1, 1, 1), (15, 9, 20)], ids=str)
def test_sums_that_several_products_add_to_stay_where_they_are(
    sizes: tuple[int, int, int],
) -> None:
    """The second product cannot begin with sums from outside, which another unit brings: no token
    says that those of before are out."""
    hw = token_machine("specs/machines/in_memory.yaml")
    less = replace(hw, channels=tuple(c for c in hw.channels if c.name != "out_to_in"))
    plan = right_plan(subject(TWO_PRODUCTS, *sizes), less)
    assert homes_of(plan) == {"T": "sums"}
    instructions = [task.best.covering.instruction for task in plan.tasks]
    assert instructions == ["clear", "multiply", "multiply", "store_sums"]


@pytest.mark.parametrize("text", [LAYERS, RECURRENT], ids=["layers", "recurrent"])
def test_without_tokens_what_lies_on_chip_is_read_too_early(text: str) -> None:
    hw = token_machine()
    intact = right_plan(subject(text, 7, 5, 6), hw).program
    assert fate(replace(intact, body=without_tokens(intact.body)), hw) == "hazard"
    fates = {
        (field, fate(replace(intact, body=body), hw))
        for field, _, body in without_one_token(intact.body)
    }
    assert {rule for field, rule in fates if field == "pushes"} == {"deadlock"}
    assert "hazard" in {rule for field, rule in fates if field == "pops"}


@pytest.mark.parametrize("sizes", [(32, 64, 48), (7, 5, 6), (1, 17, 3)], ids=str)
@pytest.mark.parametrize("begin", ["", BIAS], ids=["zeros", "bias"])
def test_what_only_the_host_did_is_done_where_sums_lie(
    begin: str, sizes: tuple[int, int, int]
) -> None:
    """VTA stores bytes, so that sums that are taken up again pass outside in four parts. Joined
    with the product, a bias would be there; apart, everything stays."""
    kernel = subject(LANES.replace("{begin}", begin), *sizes)
    plan = right_plan(kernel, machine("vta"))
    assert homes_of(plan) == {"R": "acc"}
    first = "load_acc" if begin else "gemm_reset"
    instructions = [task.best.covering.instruction for task in plan.tasks]
    assert instructions == [first, "gemm", "gemm", "alu_shr_imm", "alu_max_imm", "store"]


def test_random_chains_with_any_homes_are_right() -> None:
    hw, count = token_machine(), 0
    for seed in range(8):
        kernel = chain_kernel(random.Random(f"homes {seed}"), FUSED)
        count += count_right_homes(kernel, hw, f"homes {seed}")
    assert count > 8, "else nothing is tested"


def test_units_that_no_channel_reaches_are_told_nothing() -> None:
    """The vector unit ends the first task and cannot tell the unit that stores."""
    hw = token_machine()
    cut = tuple(c for c in hw.channels if c.target_unit != "store" or c.source_unit == "matrix")
    cut = tuple(c for c in cut if (c.source_unit, c.target_unit) != ("vector", "matrix"))
    apart = replace(hw, channels=tuple(c for c in cut if c.target_unit != "matrix"))
    with pytest.raises(MappingError, match="no token channel"):
        find_plan(subject(STEPS, 7, 5, 6), apart, Wishes(time_limit_s=5))
