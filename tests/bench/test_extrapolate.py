"""Cut programs foretell the time of whole ones, to the cycle.

In: bench/extrapolate.py. Not its job: whole programs' times.
"""

from pathlib import Path

import pytest
from extrapolate import extrapolate_cycles
from gemm_row import KERNEL_NAMES, KERNELS
from gemmini_heuristic import Shape, heuristic_program

from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.program import Program
from isamap.scheduler import find_schedule

ROOT = Path(__file__).parents[2]
# Short last tiles along each loop, one block row or column.
SHAPES = (Shape(1000, 120, 90), Shape(1500, 3, 200, True), Shape(16, 2500, 64, b_t=True))


@pytest.fixture(scope="module")
def gemmini() -> Hardware:
    return load_hardware(ROOT / "hw_specs" / "gemmini.yaml")


def scheduled(shape: Shape, hw: Hardware) -> Program:
    sizes = {"m": shape.m, "n": shape.n, "k": shape.k}
    kernel = load_kernel(KERNELS, sizes, KERNEL_NAMES[shape.a_t, shape.b_t])
    return find_schedule(kernel, hw).best.program


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_cut_programs_give_the_time_of_the_whole(shape: Shape, gemmini: Hardware) -> None:
    def time(program: Program) -> int:
        return time_program(program, gemmini).cycles

    for program in (scheduled(shape, gemmini), heuristic_program(shape)):
        assert extrapolate_cycles(program, time) in (time(program), None)


def test_a_long_loop_is_extrapolated(gemmini: Hardware) -> None:
    program = heuristic_program(Shape(2000, 120, 90))
    times = []

    def time(program: Program) -> int:
        times.append(time_program(program, gemmini).cycles)
        return times[-1]

    whole = time_program(program, gemmini).cycles
    assert extrapolate_cycles(program, time) == whole
    assert max(times) < whole / 2


def test_an_uneven_pace_is_not_extrapolated(gemmini: Hardware) -> None:
    growing = iter((100, 200, 301, 400, 500, 601))
    program = heuristic_program(Shape(2000, 120, 90))
    assert extrapolate_cycles(program, lambda _: next(growing)) is None


def test_short_loops_are_not_extrapolated(gemmini: Hardware) -> None:
    program = heuristic_program(Shape(32, 32, 32))
    assert extrapolate_cycles(program, lambda _: pytest.fail("nothing to cut")) is None
