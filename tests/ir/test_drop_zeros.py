"""Zeros written where a buffer begins at zero are left out, and no others.

In: kernels as text. Out: how many statements remain, what they compute. Not its job: mapping them.
"""

from pathlib import Path

import numpy as np
import pytest

import isamap
from isamap.ir import drop_zeros, interpret, load_kernel, random_arrays

HEAD = """
from isamap.lang import In, InOut, Out, Temp, grid, i8, i32, kernel

@kernel
def k(m=3, n=5, t=2):
    A, y, z = In(i32, m, n), Out(i32, m), InOut(i32, m)
    T = Temp(i32, m)
"""
TOTAL = "    for i, j in grid(m, n):\n        y[i] += A[i, j]\n"


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("    for i in range(m):\n        y[i] = 0\n" + TOTAL, 1),
        (
            "    for i in range(m):\n        y[i] = 0\n"
            "        for j in range(n):\n            y[i] += A[i, j]\n",
            1,
        ),
        (
            "    for s in range(t):\n        for i in range(m):\n            T[i] = 0\n"
            "        for i, j in grid(m, n):\n            T[i] += A[i, j]\n"
            "        for i in range(m):\n            y[i] += T[i]\n",
            3,  # reset in every step
        ),
        ("    for i in range(m):\n        z[i] = 0\n" + TOTAL.replace("y[", "z["), 2),
        (TOTAL + "    for i in range(m):\n        y[i] = 0\n", 2),
        ("    for i in range(m):\n        y[i] = 0\n", 1),
        ("    for i in range(m):\n        y[i] = 1\n" + TOTAL, 2),
        (
            "    for i in range(m):\n        y[0] = 0\n"
            "        for j in range(n):\n            y[0] += A[i, j]\n",
            2,  # the last row's sum
        ),
        (
            "    for i in range(m):\n        y[i] = 0\n        y[i] *= 0\n"
            "        y[i] += A[i, 0]\n        y[i] = 0\n        y[i] += A[i, 1]\n",
            4,
        ),
    ],
)
def test_only_needless_zeros_are_left_out(body: str, kept: int, tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(HEAD + body)
    kernel = load_kernel(file)
    found = drop_zeros(kernel)
    assert len(found.statements) == kept
    arrays = random_arrays(kernel, seed=1)
    for name, array in interpret(kernel, arrays).items():
        np.testing.assert_array_equal(interpret(found, arrays)[name], array)


def test_a_sum_that_is_set_to_zero_first_is_one_statement(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(
        HEAD.replace("i32, m, n", "i8, m, n")
        + "    for i in range(m):\n        y[i] = 0\n"
        + TOTAL.replace("A[i, j]", "i32(A[i, j])")
    )
    found = isamap.map(file, "gemmini", verify="full")
    assert len(found.kernel.statements) == 1
    assert found.verification.is_verified
