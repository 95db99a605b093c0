"""Published matrix products of Trainium and TPU v1: the right numbers, nothing kept.

In: bench/published_nests.py. Out: failures. Not its job: schedules.
"""

import ml_dtypes
import numpy as np
import pytest
from published_nests import Product, nki_program, tpu_program

from isamap.emulator import run, time_program
from isamap.hwdesc import load_hardware
from isamap.resources import find_hardware

# less than a tile; partial tiles of either loop, of both; more tiles than places for them
SIZES = ((1, 1, 1), (3, 5, 7), (1, 513, 129), (4, 600, 300), (7, 1030, 1153))
MACHINES = {
    "trainium": (nki_program, ml_dtypes.bfloat16, np.float32),
    "tpu_v1": (tpu_program, np.int8, np.int32),
}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("machine", MACHINES)
def test_programs_compute_what_numpy_computes(machine: str, sizes: tuple[int, int, int]) -> None:
    """Small integers: sums are exact in any order."""
    program, factor, total = MACHINES[machine]
    shape = Product(*sizes)
    random = np.random.default_rng(0)
    a = random.integers(-8, 9, (shape.m, shape.k))
    b = random.integers(-8, 9, (shape.k, shape.n))
    arrays = {"A": a.astype(factor), "B": b.astype(factor)}
    result = run(program(shape), load_hardware(find_hardware(machine)), arrays)
    np.testing.assert_array_equal(result.outputs["C"], (a @ b).astype(total))


def test_the_slowest_unit_of_trainium_is_never_held_up() -> None:
    """12 x 9 tiles of 128 x 512 weights at 292 bytes per cycle, and of the state's columns."""
    hw = load_hardware(find_hardware("trainium"))
    timing = time_program(nki_program(Product(4, 4608, 1536)), hw)
    moved = 108 * (-(-128 * 1024 // 292) + 128 * 4 // 16)
    assert moved <= timing.cycles <= 1.1 * moved


def test_the_weights_of_tpu_v1_are_never_held_up() -> None:
    """6 x 18 tiles of 64 KiB at 48 bytes per cycle."""
    hw = load_hardware(find_hardware("tpu_v1"))
    timing = time_program(tpu_program(Product(4, 4608, 1536)), hw)
    moved = 108 * -(-65536 // 48)
    assert moved <= timing.cycles <= 1.1 * moved
