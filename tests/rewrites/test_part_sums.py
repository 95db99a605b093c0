"""Sums of floats into one array are torn apart where nothing but their order ties them."""

import pytest

from isamap.errors import KernelError
from isamap.ir import pretty
from isamap.rewrites import part_sums
from isamap.rewrites.part_sums import PART_SUMS
from tests.rewrites.keeps_meaning import assert_all_sites_keep_meaning, read

COMPLEX = """
A, B, C = In(f32, 3, 4, 2), In(f32, 4, 2, 2), Out(f32, 3, 2, 2)
for i, j, k in grid(3, 2, 4):
  C[i, j, 0] += A[i, k, 0] * B[k, j, 0]
  C[i, j, 0] += -A[i, k, 1] * B[k, j, 1]
  C[i, j, 1] += A[i, k, 0] * B[k, j, 1]
  C[i, j, 1] += A[i, k, 1] * B[k, j, 0]
"""
STEPS = """
A, H, S = In(f32, 4, 4), InOut(f32, 4, 4), Temp(f32, 3, 4)
for t in range(3):
  for i, k in grid(4, 4):
    S[t, i] += A[i, k] * H[t, k]
    S[t, i] += A[k, i] * H[t, k]
  for i in range(4):
    H[t + 1, i] = S[t, i]
"""


def test_products_of_complex_numbers_become_products_of_their_parts() -> None:
    kernel = read(COMPLEX)
    first, second, third, fourth = part_sums(kernel).statements
    assert not set(first.loops) & set(second.loops)
    assert second.loops == third.loops, "which no order ties"
    assert not set(third.loops) & set(fourth.loops)
    assert assert_all_sites_keep_meaning(PART_SUMS, kernel, tolerance=1e-5) == 1


def test_time_steps_stay_shared() -> None:
    kernel = read(STEPS)
    assert pretty(part_sums(kernel)).count("for t in range(3)") == 1
    assert assert_all_sites_keep_meaning(PART_SUMS, kernel, tolerance=1e-5) == 1


@pytest.mark.parametrize(("old", "new"), [("f32", "i32"), ("] += -A", "] = -A")])
def test_integers_need_no_permission_and_other_updates_no_cut(old: str, new: str) -> None:
    with pytest.raises(KernelError, match="tied by their order alone"):
        part_sums(read(COMPLEX.replace(old, new).split("  C[i, j, 1]")[0]))
