"""Kernels whose names mean something in C: they compile, and compute the same."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.codegen import generate_c, missing_features
from isamap.codegen.c.reserved import declared
from isamap.hwdesc import CompilerRule
from isamap.ir import interpret
from isamap.native import execute_c, whole_arrays
from isamap.native.mapped import map_program
from isamap.resources import find_hardware
from isamap.scheduler import Wishes

HW = isamap.load_hardware(Path(__file__).parent / "vec4.yaml")
STRICT = ("-Wall", "-Wextra", "-Werror")
PRODUCT = """
from isamap.lang import In, Out, f32, grid, kernel

@kernel
def {name}(m=5, n=7, k=3):
    {first}, {second}, C = In(f32, m, k), In(f32, k, n), Out(f32, m, n)
    for i, j, {loop} in grid(m, n, k):
        C[i, j] += {first}[i, {loop}] * {second}[{loop}, j]
"""
HOST = """
from isamap.lang import In, Out, exp, f32, grid, kernel

@kernel
def {name}(m=5, n=7):
    {first}, {second} = In(f32, m, n), Out(f32, m, n)
    for {loop}, j in grid(m, n):
        {second}[{loop}, j] = exp({first}[{loop}, j])
"""


def test_names_that_c_knows_get_something_more() -> None:
    assert declared("weights") == "weights"
    assert declared("tanh") == "tanh_" and declared("expf") == "expf_"
    assert declared("int64_t") == "int64_t_" and declared("linux") == "linux_"
    assert declared("__m512") == "c__m512" and declared("M_PI") == "cM_PI"
    assert declared("_Bool") == "c_Bool" and declared("_x_t") == "c_x_t_"


@pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: install gcc"
)
@pytest.mark.parametrize("text", [PRODUCT, HOST])
@pytest.mark.parametrize(
    "name, first, second, loop",
    [
        ("fma", "asm", "linux", "NULL"),
        ("main", "int64_t", "regs0", "unix"),
        ("M_PI", "__m512", "p_tile", "p"),
        ("_Complex", "regs", "typeof", "int8_t"),
        ("index", "regs_array", "_Bool", "__m128"),
    ],
)
def test_kernels_with_such_names_compile_and_compute_the_same(
    text: str, name: str, first: str, second: str, loop: str, tmp_path: Path
) -> None:
    file = tmp_path / "named.py"
    file.write_text(text.format(name=name, first=first, second=second, loop=loop))
    machine = HW if text is PRODUCT else isamap.load_hardware(find_hardware("x86_avx2"))
    if missing := missing_features(machine.compiler or CompilerRule()):
        pytest.skip(f"this processor lacks {', '.join(missing)}")
    wishes = Wishes(time_limit_s=0.3, may_reassociate=True)
    mapped = map_program(file, machine, wishes)
    source = generate_c(mapped.program, mapped.hardware, mapped.given)
    assert source.name == declared(name)
    arrays = whole_arrays(mapped.kernel, 0)
    found = execute_c(mapped.program, mapped.hardware, arrays, STRICT)
    for buffer, expected in interpret(mapped.kernel, arrays).items():
        np.testing.assert_allclose(found[buffer], expected, rtol=1e-5)
