"""Weights that fit in part, strip by strip: the rest comes while the part that stays computes.

In: a recurrent layer on a machine whose memory holds some of its weights. Out: failures. Not its
job: the rewrite (`test_strip_nest`), one part after the other (`test_keep_parts`).
"""

from dataclasses import replace

from isamap.emulator import time_program
from isamap.ir import load_kernel
from isamap.planner import Wishes, find_plan
from isamap.resources import find_kernel
from isamap.verify import verify_full
from tests.scheduler.cases import machine

STEPS, HIDDEN = 4, 768
WEIGHTS_BYTES = 3 * HIDDEN * HIDDEN * 2


def test_half_of_every_strip_stays_and_the_other_half_comes_meanwhile() -> None:
    hw = machine("trainium")
    memories = tuple(
        replace(m, size_bytes=2200 * 1024) if m.name == "sbuf" else m for m in hw.memories
    )
    small = replace(hw, memories=memories)
    sizes = {"steps": STEPS, "batch": 1, "hidden": HIDDEN}
    kernel = load_kernel(find_kernel("gru")[0], sizes, "gru_skip_bf16")
    plan = find_plan(kernel, small, Wishes(may_reassociate=True, time_limit_s=120.0))
    assert [step.rewrite for step in plan.steps] == ["strip_nest", "split_range", "split_range"]
    assert verify_full(plan.program, kernel, small).is_verified
    timing = time_program(plan.program, small)
    read = next(t.read_bytes for t in timing.traffic if t.memory == "hbm")
    assert WEIGHTS_BYTES // 2 * (STEPS + 1) < read < WEIGHTS_BYTES // 2 * (STEPS + 1.1)
    assert plan.bound_cycles <= timing.cycles
    assert abs(plan.cycles - timing.cycles) <= 0.10 * timing.cycles
