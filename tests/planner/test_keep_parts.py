"""Weights that fit in part: one part stays on chip over the time steps, the other one streams.

In: a recurrent layer on machines whose memory for weights is too small. Out: failures. Not its job:
the rewrite (`test_split_range`), weights that fit (`test_handed_on`).
"""

from dataclasses import replace

import pytest

from isamap.emulator import time_program
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, load_kernel, parse_semantics
from isamap.planner import Plan, Wishes, find_plan
from isamap.planner.keep_parts import keep_parts
from isamap.resources import find_kernel
from isamap.verify import verify_full
from tests.planner.test_random_plans import assert_emulators_agree
from tests.scheduler.cases import machine

STEPS = """
x, U, h = In(i32, {t}, {n}), In(i8, {n}, {n}), InOut(i8, {t} + 1, {n})
R = Temp(i32, {n})
for t in range({t}):
  for j in range({n}):
    R[j] = x[t, j]
  for j, p in grid({n}, {n}):
    R[j] += i32(h[t, p]) * i32(U[p, j])
  for j in range({n}):
    h[t + 1, j] = sat_i8(rshift_round(R[j], 6))
"""


def layer(steps: int, size: int) -> Kernel:
    text = STEPS.replace("{t} + 1", str(steps + 1)).format(t=steps, n=size)
    return parse_semantics(text, "layer")


def with_weights(name: str, memory: str, size_bytes: int) -> Hardware:
    hw = machine(name)
    memories = tuple(
        replace(m, size_bytes=size_bytes) if m.name == memory else m for m in hw.memories
    )
    return replace(hw, memories=memories)


def bytes_read(plan: Plan, hw: Hardware) -> int:
    timing = time_program(plan.program, hw)
    assert plan.bound_cycles <= timing.cycles
    return next(t.read_bytes for t in timing.traffic if t.memory == hw.external.name)


def test_what_stays_is_read_once() -> None:
    """VTA's weights: 144 blocks of 256 bytes, where the memory holds 80."""
    steps, kernel = 6, layer(6, 192)
    small, wide = with_weights("vta", "wgt", 80 * 256), machine("vta")
    whole, part = find_plan(kernel, wide, Wishes()), find_plan(kernel, small, Wishes())
    assert verify_full(part.program, kernel, small).is_verified
    assert_emulators_agree(part.program, kernel, "vta")
    (step,) = {step.rewrite for step in part.steps}
    assert step == "split_range"
    state = 192 * steps  # read by both parts
    streamed = bytes_read(part, small) - bytes_read(whole, wide) - state
    assert streamed % (192 * 16 * (steps - 1)) == 0, "whole columns of blocks, all steps but one"
    assert 0 < streamed < 192 * 192 * (steps - 1)


GRU = load_kernel(find_kernel("gru")[0], {"steps": 2, "batch": 1, "hidden": 17}, "gru_skip_i8")
CASES = {
    "vta": ("vta", "wgt", layer(3, 40)),
    "gru": ("vta", "wgt", GRU),
}


@pytest.mark.parametrize(("name", "memory", "kernel"), CASES.values(), ids=CASES.keys())
def test_every_part_computes_its_share(name: str, memory: str, kernel: Kernel) -> None:
    small, tried = with_weights(name, memory, 4 * 256), 0
    for parts in keep_parts(find_plan(kernel, small, Wishes()), small):
        for part in parts[:1]:
            found = find_plan(part.kernel, small, Wishes(time_limit_s=2.0))
            assert verify_full(found.program, kernel, small).is_verified, part.steps
            tried += 1
    assert tried


@pytest.mark.parametrize(("blocks", "streams"), [(4096, False), (80, True), (40, True)])
def test_the_bound_counts_what_no_memory_holds_in_every_step(blocks: int, streams: bool) -> None:
    """36 KiB of weights, at 8 bytes per cycle."""
    steps, kernel = 6, layer(6, 192)
    hw = with_weights("vta", "wgt", blocks * 256)
    plan = find_plan(kernel, hw, Wishes())
    excess = (steps - 1) * max(0, 192 * 192 - blocks * 256) // 8
    assert (excess > 0) == streams
    least = 192 * 192 // 8
    assert least + excess <= plan.bound_cycles <= time_program(plan.program, hw).cycles
