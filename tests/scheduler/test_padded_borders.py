"""Borders of other values than zero, around inputs and around what tasks hand on.

In: maxima of windows at the edges of negative images. Out: programs that agree with the kernel.
"""

import numpy as np

import isamap
from isamap.emulator import run
from isamap.ir import interpret

TWO_POOLS = """
from isamap.lang import In, Out, Temp, grid, i8, kernel

@kernel
def two_pools(h=5, w=4, c=16):
    x, T, y = In(i8, h, w, c), Temp(i8, h, w, c), Out(i8, h, w, c)
    for p, q, i in grid(h, w, c):
        T[p, q, i] = -128
    for p, q, i, u, v in grid(h, w, c, 3, 3):
        T[p, q, i] = max(T[p, q, i], x.at(p + u - 1, q + v - 1, i, pad=-128))
    for p, q, i in grid(h, w, c):
        y[p, q, i] = -128
    for p, q, i, u, v in grid(h, w, c, 3, 3):
        y[p, q, i] = max(y[p, q, i], T.at(p + u - 1, q + v - 1, i, pad=-128))
"""


def test_what_is_handed_on_has_the_border_that_its_reader_wants(tmp_path):
    file = tmp_path / "two_pools.py"
    file.write_text(TWO_POOLS)
    result = isamap.map(str(file), "vta", verify="off")
    program = result.plan.program
    assert any(p.buffer == "T" and p.layout.padding == -128 for p in program.inputs)
    x = np.random.default_rng(0).integers(-128, -1, (5, 4, 16)).astype(np.int8)
    zeros = {p.buffer: np.zeros(p.layout.shape, np.int8) for p in program.inputs}
    found = run(program, result.hardware, {**zeros, "x": x}).outputs["y"]
    np.testing.assert_array_equal(found, interpret(result.kernel, {"x": x})["y"])


FIRST_LAYER = """
from isamap.lang import In, InOut, grid, i8, i32, kernel

@kernel
def first_layer(h=4, w=5, c=3, o=6):
    x, k, y = In(i8, h, w, c), In(i8, 3, 3, c, o), InOut(i32, h, w, o)
    for p, q, j, u, v, i in grid(h, w, o, 3, 3, c):
        y[p, q, j] += i32(x.at(p + u - 1, q + v - 1, i, pad=-5)) * i32(k[u, v, i, j])
"""


def test_where_one_factor_is_zero_outside_the_other_may_read_anything(tmp_path):
    """Blocks of 16 channels, of which there are 3: past them a border of -5 is met by zeros."""
    file = tmp_path / "first_layer.py"
    file.write_text(FIRST_LAYER)
    result = isamap.map(str(file), "vta", verify="full")
    assert result.schedule.covering.instruction == "gemm"
    assert result.verification.is_verified
