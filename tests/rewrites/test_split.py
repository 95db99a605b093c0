"""Splitting loops."""

import pytest
from hypothesis import given

from isamap.errors import KernelError
from isamap.ir import Kernel, parse_semantics
from isamap.rewrites import split
from isamap.rewrites.split import SPLIT
from tests.rewrites.keeps_meaning import QUICK, assert_all_sites_keep_meaning, read, site_texts
from tests.strategies import kernels

SUM = """
A, D = In(i8, 12), InOut(i32)
for i in range(12):
  D[()] += i32(A[i])
"""


@QUICK
@given(kernels())
def test_split_keeps_meaning(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SPLIT, kernel)


def test_split_fires_for_every_proper_divisor() -> None:
    kernel = read(SUM)
    assert len(site_texts(SPLIT, kernel)) == 4
    assert split(kernel, "i", 3) == parse_semantics(
        """
A, D = In(i8, 12), InOut(i32)
for i_o, i_i in grid(4, 3):
  D[()] += i32(A[3*i_o + i_i])
""",
        "small",
    )


def test_split_says_what_does_not_fit() -> None:
    with pytest.raises(KernelError, match="5 does not divide the extent 12 of loop 'i'"):
        split(read(SUM), "i", 5)
    with pytest.raises(KernelError, match="has no loop 'j'"):
        split(read(SUM), "j", 5)
