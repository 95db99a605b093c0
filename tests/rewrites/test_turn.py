"""Temporaries with their dimensions in another order."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel
from isamap.rewrites import turn
from isamap.rewrites.turn import TURN
from tests.rewrites.keeps_meaning import QUICK, assert_all_sites_keep_meaning, read, site_texts
from tests.strategies import kernels

SUMS = """
A, T, D = In(i8, 2, 3), Temp(i32, 2, 3), Out(i32, 3)
for i, j in grid(2, 3):
  T[i, j] = i32(A[i, j])
for j, i in grid(3, 2):
  D[j] += T[1 - i, j]
"""


@QUICK
@given(kernels())
def test_turn_keeps_any_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(TURN, kernel, max_sites=10)


def test_writes_and_reads_are_turned() -> None:
    kernel = read(SUMS)
    assert site_texts(TURN, kernel) == ["T by 1, 0"]
    assert assert_all_sites_keep_meaning(TURN, kernel) == 1
    turned = turn(kernel, "T", (1, 0))
    assert turned.buffer("T").shape == (3, 2)
    assert turn(turned, "T", (1, 0)) == kernel


@pytest.mark.parametrize(
    ("name", "order", "message"),
    [
        ("A", (1, 0), "has no temporary 'A'"),
        ("T", (0, 0), r"\(0, 0\) does not order the 2 dimensions"),
    ],
)
def test_what_cannot_be_turned(name: str, order: tuple[int, ...], message: str) -> None:
    with pytest.raises(KernelError, match=message):
        turn(read(SUMS), name, order)
