"""Splitting a statement along a loop's range."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel
from isamap.rewrites import split_range
from isamap.rewrites.split_range import SPLIT_RANGE
from tests.rewrites.keeps_meaning import QUICK, assert_all_sites_keep_meaning, read, site_texts
from tests.strategies import kernels

STEPS = """
x, U, h = In(i32, 2, 3), In(i8, 5, 3), InOut(i32, 3, 5)
R = Temp(i32, 3)
for t in range(2):
  for j in range(3):
    R[j] = x[t, j]
  for j, p in grid(3, 5):
    R[j] += h[t, p] * i32(U[p, j])
  for j in range(3):
    h[t + 1, j] = R[j]
"""


@QUICK
@given(kernels())
def test_split_range_keeps_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SPLIT_RANGE, kernel)


def test_every_loop_of_its_own_is_cut_anywhere() -> None:
    kernel = read(STEPS)
    assert site_texts(SPLIT_RANGE, kernel) == [
        "R (0): j < 1", "R (0): j < 2",
        "R (1): j_2 < 1", "R (1): j_2 < 2", "R (1): p < 1", "R (1): p < 2", "R (1): p < 3",
        "R (1): p < 4", "h (2): j_3 < 1", "h (2): j_3 < 2",
    ]  # fmt: skip
    assert_all_sites_keep_meaning(SPLIT_RANGE, kernel)


def test_both_parts_together_are_the_whole() -> None:
    found = split_range(
        read("x, y = In(i8, 5), Out(i8, 5)\nfor i in range(5):\n  y[i] = x[i]"), 0, "i", 2
    )
    wanted = read(
        "x, y = In(i8, 5), Out(i8, 5)\n"
        "for i in range(2):\n  y[i] = x[i]\n"
        "for i_2 in range(3):\n  y[i_2 + 2] = x[i_2 + 2]"
    )
    assert found == wanted


@pytest.mark.parametrize(
    ("text", "loop", "count", "message"),
    [
        ("for i in range(4):\n  y[i] = x[i]", "j", 1, "statement 0 has no loop 'j' of its own"),
        ("for i in range(4):\n  y[i] = x[i]", "i", 4, "4 is no place to cut the 4 iterations"),
        ("for i in range(3):\n  y[i + 1] = y[i]", "i", 1, "iterations of 'i' depend on each other"),
    ],
)
def test_what_cannot_be_split(text: str, loop: str, count: int, message: str) -> None:
    kernel = read(f"x, y = In(i8, 4), InOut(i8, 4)\n{text}")
    with pytest.raises(KernelError, match=message):
        split_range(kernel, 0, loop, count)
