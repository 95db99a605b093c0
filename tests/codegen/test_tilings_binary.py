"""Any legal tiling's binary computes the kernel, with and without double buffering.

In: random tilings. Out: failures on the independent simulators. Not its job: which tiling is good.
"""

import random
from itertools import islice

import numpy as np
import pytest

from isamap.hwdesc import load_hardware
from isamap.ir import interpret, load_kernel, random_arrays
from isamap.mapper import coverings
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler.lower import lower
from tests.codegen.gemmini_machine import Gemmini
from tests.codegen.run_binary import run_program
from tests.codegen.vta_machine import Vta
from tests.scheduler.tilings import random_legal_tiling, with_less_memory

SUBJECTS = (
    ("gemm", {"m": 19, "n": 33, "k": 40}),
    ("gemm", {"m": 5, "n": 50, "k": 70}),
    ("conv2d", {"h": 3, "w": 4, "c": 18, "k": 9}),
)
MACHINES = {
    "vta": lambda image, records, base: Vta(image, base, 5).run(records),
    "gemmini": lambda image, records, base: Gemmini(image, base, 5).run(records),
}


def draw_tiling(generator, found, hw, slots):
    """A covering and a legal tiling, with two places for some data or with one for all."""
    while True:
        covering = generator.choice(found)
        room = {memory.name: generator.choice((2, 3, 4, 6)) for memory in hw.memories}
        small = with_less_memory(hw, covering, room)
        tiling = random_legal_tiling(covering, small, generator, any_tile=True, attempts=20)
        if tiling is not None and max(stay.slots for stay in tiling.stays) == slots:
            return covering, tiling


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject[0])
@pytest.mark.parametrize("hw_name", MACHINES)
def test_binaries_of_random_tilings_compute_the_kernel(hw_name, subject, slots, tmp_path):
    file, sizes = subject
    kernel = load_kernel(find_kernel(file)[0], sizes)
    hw = load_hardware(find_hardware(hw_name))
    generator = random.Random(f"{hw_name} {subject} {slots}")
    found = list(islice(coverings(kernel, hw, []), 3))
    arrays = random_arrays(kernel, 1)
    for _ in range(2):
        covering, tiling = draw_tiling(generator, found, hw, slots)
        program = lower(covering, tiling, hw)
        outputs = run_program(program, kernel, hw, tmp_path, arrays, MACHINES[hw_name])
        for name, array in interpret(kernel, arrays).items():
            np.testing.assert_array_equal(outputs[name], array)
