"""Gemmini's heuristic as a Program: its blocks, its numbers, its time.

In: bench/gemmini_heuristic.py. Not its job: schedules.
"""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from count_calls import count_calls
from gemmini_heuristic import (
    Blocking,
    LoadOrder,
    Shape,
    choose_blocking,
    heuristic_program,
)

from isamap.emulator import run, time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.program import pack

ROOT = Path(__file__).parents[2]
TRANSPOSES = tuple(product((False, True), repeat=2))
# Less than a tile; partial tiles; several blocks along i and j with partial last blocks; A and B
# kept (one block along k); several blocks along k.
SIZES = ((7, 5, 6), (40, 20, 35), (100, 50, 70), (600, 90, 40), (33, 600, 100), (90, 90, 1700))


@pytest.fixture(scope="module")
def gemmini() -> Hardware:
    return load_hardware(ROOT / "hw_specs" / "gemmini.yaml")


def random_arrays(shape: Shape) -> dict[str, np.ndarray]:
    """A and B over all of i8, C over all of i32."""
    random = np.random.default_rng(0)
    a = random.integers(-128, 128, (shape.m, shape.k)).astype(np.int8)
    b = random.integers(-128, 128, (shape.k, shape.n)).astype(np.int8)
    c = random.integers(-(2**31), 2**31, (shape.m, shape.n)).astype(np.int32)
    return {
        "A": np.ascontiguousarray(a.T) if shape.a_t else a,
        "B": np.ascontiguousarray(b.T) if shape.b_t else b,
        "C": c,
    }


def expected(shape: Shape, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """NumPy's C, wrapped to i32."""
    a = arrays["A"].T if shape.a_t else arrays["A"]
    b = arrays["B"].T if shape.b_t else arrays["B"]
    total = arrays["C"].astype(np.int64) + a.astype(np.int64) @ b.astype(np.int64)
    return total.astype(np.int32)


@pytest.mark.parametrize(
    ("sizes", "block"),
    [
        ((1760, 7000, 1760), (5, 5, 51)),  # where it starts: (5 * 51 + 51 * 5) * 16 = 8160 rows
        ((1760, 16, 1760), (8, 1, 56)),  # i and k grow in turn up to (8 + 1) * 56 * 16 = 8064
        ((64, 1, 1216), (4, 1, 76)),  # the whole product fits
        ((5000, 5000, 16), (5, 6, 1)),  # j first, then nothing: 36 tiles would exceed 32
        ((7, 5, 6), (1, 1, 1)),
    ],
)
def test_blocks_are_those_of_the_library(
    sizes: tuple[int, int, int], block: tuple[int, int, int]
) -> None:
    assert choose_blocking(*sizes) == Blocking(*block)


# Every size, and every transpose; each case compiles C, so not every pair.
SHAPES = (
    *(Shape(*sizes) for sizes in SIZES),
    *(Shape(40, 20, 35, a_t, b_t) for a_t, b_t in TRANSPOSES[1:]),
    *(Shape(100, 600, 70, a_t, b_t) for a_t, b_t in TRANSPOSES[1:]),
)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_program_computes_what_numpy_computes(shape: Shape, gemmini: Hardware) -> None:
    arrays = random_arrays(shape)
    result = run(heuristic_program(shape), gemmini, arrays)
    np.testing.assert_array_equal(result.outputs["C"], expected(shape, arrays))


def test_bias_first_computes_the_same(gemmini: Hardware) -> None:
    shape = Shape(100, 50, 70)
    arrays = random_arrays(shape)
    result = run(heuristic_program(shape, LoadOrder.BIAS_FIRST), gemmini, arrays)
    np.testing.assert_array_equal(result.outputs["C"], expected(shape, arrays))


@pytest.mark.parametrize("shape", SHAPES[1::3], ids=str)
def test_loads_in_first_use_order_are_never_slower(shape: Shape, gemmini: Hardware) -> None:
    cycles = {
        order: time_program(heuristic_program(shape, order), gemmini).cycles for order in LoadOrder
    }
    assert cycles[LoadOrder.FIRST_USE] <= cycles[LoadOrder.BIAS_FIRST]


def test_large_products_keep_the_array_busy(gemmini: Hardware) -> None:
    # 64 x 44 x 128 calls of 16 cycles; a baseline that stalls on loads or weights is no baseline.
    timing = time_program(heuristic_program(Shape(1024, 700, 2048)), gemmini)
    assert 64 * 44 * 128 * 16 / timing.cycles > 0.99


def test_operands_with_at_most_two_blocks_are_loaded_once(gemmini: Hardware) -> None:
    def num_loads(m: int, n: int, k: int) -> int:
        return dict(time_program(heuristic_program(Shape(m, n, k)), gemmini).calls)["mvin"]

    # 10 x 40 x 1 tiles, blocks of 5 x 6 x 1: A has two blocks and stays, B has seven and does not.
    assert choose_blocking(160, 640, 16) == Blocking(5, 6, 1)
    assert num_loads(160, 640, 16) == 10 + 2 * 40
    # 40 x 10 x 1: blocks of 5 x 6 x 1 again, now B stays and A is loaded for both its columns.
    assert choose_blocking(640, 160, 16) == Blocking(5, 6, 1)
    assert num_loads(640, 160, 16) == 2 * 40 + 10


def test_only_both_transposes_repack() -> None:
    for a_t, b_t in TRANSPOSES:
        program = heuristic_program(Shape(9, 7, 5, a_t, b_t))
        natural = {place.buffer: place.layout.is_natural for place in program.inputs}
        assert natural == {"A": True, "B": not (a_t and b_t), "C": True}


def test_packed_operand_lies_transposed() -> None:
    shape = Shape(9, 7, 5, True, True)
    layout = heuristic_program(shape).inputs[1].layout
    b = random_arrays(shape)["B"]
    np.testing.assert_array_equal(pack(b, layout).view(np.int8).reshape(5, 7), b.T)


@pytest.mark.parametrize("sizes", SIZES[3:])
def test_calls_are_counted_without_running(sizes: tuple[int, int, int], gemmini: Hardware) -> None:
    program = heuristic_program(Shape(*sizes))
    calls = sum(count for _, count in time_program(program, gemmini).calls)
    # A guess only: the first or last block of a loop may be smaller or larger than the mean.
    assert calls / 1.5 <= count_calls(program) <= 1.5 * calls


def test_calls_of_whole_blocks_are_counted_exactly(gemmini: Hardware) -> None:
    program = heuristic_program(Shape(160, 160, 1632))
    calls = sum(count for _, count in time_program(program, gemmini).calls)
    assert count_calls(program) == calls
