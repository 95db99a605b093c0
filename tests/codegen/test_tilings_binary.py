"""Any legal tiling's binary computes the kernel, with and without double buffering.

In: random tilings. Out: failures on the independent simulators. Not its job: which tiling is good.
"""

import random
from itertools import islice

import numpy as np
import pytest

import isamap
from isamap.emulator import set_starts
from isamap.hwdesc import load_hardware
from isamap.ir import interpret, load_kernel, random_arrays
from isamap.mapper import coverings
from isamap.planner import PlannedTask, assemble_answer, assemble_plan
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler.lower import lower
from tests.codegen.gemmini_machine import Gemmini
from tests.codegen.opentpu_machine import OpenTpu
from tests.codegen.run_binary import run_program, sums_on_host
from tests.codegen.vta_machine import Vta
from tests.scheduler.tilings import draw_until_found, random_legal_tiling, with_any_memory

SUBJECTS = (
    ("vta", "gemm", {"m": 19, "n": 33, "k": 40}),
    ("vta", "gemm", {"m": 5, "n": 50, "k": 70}),
    ("vta", "conv2d", {"h": 3, "w": 4, "c": 18, "k": 9}),
    ("gemmini", "gemm", {"m": 19, "n": 33, "k": 40}),
    ("gemmini", "gemm", {"m": 5, "n": 50, "k": 70}),
    ("gemmini", "conv2d", {"h": 3, "w": 4, "c": 18, "k": 9}),
    ("gemmini_os", "gemm", {"m": 19, "n": 33, "k": 40}),
    ("gemmini_os", "conv2d", {"h": 3, "w": 4, "c": 18, "k": 9}),
)
LAYERS = (  # of several statements; with effort enough for a plan that suits the machine
    ("vta", "wrapped:separable_conv_wrapped", {"h": 14, "w": 14}, 0.3),
    ("gemmini", "wrapped:separable_conv_wrapped", {"h": 6, "w": 6}, 0.05),
    ("opentpu", "gemm:gemm_i8", {"m": 19, "n": 33, "k": 40}, 0.05),
    ("opentpu", "wrapped:conv2d_wrapped", {"h": 13, "w": 15}, 0.05),
    ("opentpu", "wrapped:separable_conv_wrapped", {"h": 12, "w": 12}, 0.3),
)
MACHINES = {
    "vta": lambda image, records, base: Vta(image, base, 5).run(records),
    "gemmini": lambda image, records, base: Gemmini(image, base, 5).run(records),
    "gemmini_os": lambda image, records, base: Gemmini(image, base, 5).run(records),
    "opentpu": lambda image, records, base: OpenTpu(image, base).run(records),
}


def draw_tiling(generator, found, hw, slots):
    """A covering and a legal tiling, with two places for some data or with one for all."""

    def draw():
        covering = generator.choice(found)
        small = with_any_memory(hw, covering, generator, blocks=(2, 3, 4, 6), chance=1)
        tiling = random_legal_tiling(covering, small, generator, any_tile=True, attempts=20)
        if tiling is not None and max(stay.slots for stay in tiling.stays) == slots:
            return covering, tiling
        return None

    return draw_until_found(draw)


def draw_plan(generator, plan, hw, slots):
    """The plan with other tilings of its coverings."""
    drawn = {}
    for planned in plan.tasks:
        if not planned.on_host:
            covering, tiling = draw_tiling(generator, [planned.best.covering], hw, slots)
            answer = assemble_answer(covering.kernel, covering, tiling, hw)
            planned = PlannedTask.scheduled(planned.task, answer)
        drawn[planned.task.number] = planned
    return assemble_plan(plan.kernel, plan.nodes, drawn, hw, (), may_reassociate=False)


@pytest.mark.parametrize("subject", LAYERS, ids=lambda subject: f"{subject[0]} {subject[1]}")
def test_binaries_of_random_plans_compute_the_kernel(subject, tmp_path):
    hw_name, file, sizes, effort = subject
    result = isamap.map(file, hw_name, sizes=sizes, verify="off", effort=effort)
    kernel, hw = result.kernel, result.hardware
    arrays = random_arrays(kernel, 1)
    for slots in (1, 2):
        plan = draw_plan(random.Random(f"{subject[:3]} {slots}"), result.plan, hw, slots)
        assert not any(sums_on_host(call) for call in plan.program.host_calls)
        program = set_starts(plan.program, hw)
        outputs = run_program(program, kernel, hw, tmp_path / str(slots), arrays, MACHINES[hw_name])
        for name, array in interpret(kernel, arrays).items():
            np.testing.assert_array_equal(outputs[name], array)


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: f"{subject[0]} {subject[1]}")
def test_binaries_of_random_tilings_compute_the_kernel(subject, slots, tmp_path):
    hw_name, named, sizes = subject
    path, name = find_kernel(named)
    kernel = load_kernel(path, sizes, name)
    hw = load_hardware(find_hardware(hw_name))
    generator = random.Random(f"{subject} {slots}")
    found = list(islice(coverings(kernel, hw, []), 3))
    arrays = random_arrays(kernel, 1)
    covering, tiling = draw_tiling(generator, found, hw, slots)
    program = lower(covering, tiling, hw)
    outputs = run_program(program, kernel, hw, tmp_path, arrays, MACHINES[hw_name])
    for name, array in interpret(kernel, arrays).items():
        np.testing.assert_array_equal(outputs[name], array)
