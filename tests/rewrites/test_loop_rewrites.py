"""Fusing, interchanging, cutting and joining loops."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import Kernel, LoopKind, pretty
from isamap.rewrites import fission, fuse, interchange, join, split, swap
from isamap.rewrites.edit import all_loops, rename_loops
from isamap.rewrites.fission import FISSION
from isamap.rewrites.fuse import FUSE
from isamap.rewrites.interchange import INTERCHANGE, REORDER
from isamap.rewrites.join import JOIN
from isamap.rewrites.swap import SWAP
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    site_texts,
)
from tests.strategies import kernels

TWO = """
A, T, D = In(i8, 4, 5), Temp(i8, 4, 5), Out(i8, 4, 5)
for i, j in grid(4, 5):
  T[i, j] = relu(A[i, j])
  D[i, j] = T[i, j] - A[i, j]
"""
BACKWARD = """
A, T, D = In(i8, 5), InOut(i8, 6), Out(i8, 5)
for i in range(5):
  D[i] = T[i + 1]
  T[i] = A[i]
"""
STENCIL = """
D = InOut(i32, 6, 6)
for i, j in grid(5, 5):
  D[i + 1, j] = D[i, j + 1] + 1
"""
SUMS = """
A, D = In(f32, 3, 4, 5), InOut(f32, 3)
for i, j, k in grid(3, 4, 5):
  D[i] += A[i, j, k]
"""


@QUICK
@given(kernels())
def test_exact_loop_rewrites_keep_meaning(kernel: Kernel) -> None:
    for rewrite in (FUSE, INTERCHANGE, FISSION, JOIN, SWAP):
        assert_all_sites_keep_meaning(rewrite, kernel)


@QUICK
@given(kernels(dtypes=("i8", "i32")))
def test_integer_sums_are_never_left_to_reorder(kernel: Kernel) -> None:
    assert site_texts(REORDER, kernel) == []


def test_float_sums_move_only_with_permission() -> None:
    kernel = read(SUMS)
    assert site_texts(INTERCHANGE, kernel) == ["i, j"]
    assert site_texts(REORDER, kernel) == ["j, k"]
    eps = 2.0**-24  # 20 terms: at most 20 roundings of partial sums below 20 * max|a|
    assert assert_all_sites_keep_meaning(REORDER, kernel, tolerance=20 * 20 * eps) == 1
    with pytest.raises(KernelError, match="carry a dependence"):
        interchange(kernel, "j", "k")


@QUICK
@given(kernels(), st.data())
def test_fuse_undoes_split(kernel: Kernel, data: st.DataObject) -> None:
    for loop in all_loops(kernel):
        factors = [f for f in range(1, loop.extent + 1) if loop.extent % f == 0]
        cut = split(kernel, loop.name, data.draw(st.sampled_from(factors)))
        back = fuse(cut, f"{loop.name}_o", f"{loop.name}_i")
        names = {f"{loop.name}_o_{loop.name}_i": loop.name}
        assert tuple(rename_loops(s, names) for s in back.statements) == kernel.statements


def test_fuse_needs_indices_that_move_as_one() -> None:
    with pytest.raises(KernelError, match=r"index i of 'T' does not move with 5\*i \+ j"):
        fuse(read(TWO), "i", "j")
    flat = read("A, D = In(i8, 20), Out(i8, 20)\nfor i, j in grid(4, 5):\n  D[5*i+j] = A[5*i+j]")
    assert "for i_j in range(20):\n    D[i_j] = A[i_j]" in pretty(fuse(flat, "i", "j"))
    with pytest.raises(KernelError, match="not alone directly under"):
        fuse(flat, "j", "i")


def test_fuse_takes_loops_of_one_iteration() -> None:
    kernel = read("A, D = In(i8, 1, 5), Out(i8, 1, 5)\nfor i, j in grid(1, 5):\n  D[i,j] = A[i,j]")
    assert assert_all_sites_keep_meaning(FUSE, kernel) == 1
    other = read("A, D = In(i8, 5, 2), Out(i8, 5)\nfor i, j in grid(5, 1):\n  D[i] = A[i, j+1]")
    assert assert_all_sites_keep_meaning(FUSE, other) == 1


def test_interchange_keeps_crossing_dependences() -> None:
    with pytest.raises(KernelError, match="carry a dependence"):
        interchange(read(STENCIL), "i", "j")
    straight = read(STENCIL.replace("D[i, j + 1]", "D[i, j]"))
    assert assert_all_sites_keep_meaning(INTERCHANGE, straight) == 1


def test_interchange_moves_all_statements_of_a_nest() -> None:
    assert "for j, i in grid(5, 4)" in pretty(interchange(read(TWO), "i", "j"))


def test_fission_and_join_are_inverse() -> None:
    kernel = read(TWO)
    cut = fission(kernel, "i", 1)
    assert "for i_2, j_2 in grid(4, 5)" in pretty(cut)
    assert join(join(cut, "i", "i_2"), "j", "j_2") == kernel
    assert site_texts(FISSION, kernel) == ["i before D", "j before D"]
    assert site_texts(JOIN, cut) == ["i and i_2"]
    for rewrite in (FISSION, JOIN):
        assert_all_sites_keep_meaning(rewrite, cut)


@pytest.mark.parametrize(("dtype", "num_sites"), [("i32", 2), ("f32", 0)])
def test_fission_lets_sums_of_integers_into_one_array_run_in_any_order(
    dtype: str, num_sites: int
) -> None:
    kernel = read(
        f"A, B, D = In({dtype}, 4, 5), In({dtype}, 4, 5), Out({dtype}, 4)\n"
        "for i, j in grid(4, 5):\n  D[i] += A[i, j]\n  D[i] += B[i, j]\n"
    )
    assert assert_all_sites_keep_meaning(FISSION, kernel) == num_sites


def test_fission_keeps_backward_dependences() -> None:
    kernel = read(BACKWARD.replace("T[i + 1]", "T[i]").replace("T[i] = A", "T[i + 1] = A"))
    with pytest.raises(KernelError, match="cannot be cut"):
        fission(kernel, "i", 1)
    assert assert_all_sites_keep_meaning(FISSION, read(BACKWARD)) == 1


def test_join_keeps_forward_dependences() -> None:
    text = "A, T, D = In(i8, 5), Temp(i8, 5), Out(i8, 5)\nfor i in range(5):\n  T[i] = A[i]\n"
    kernel = read(text + "for i in range(5):\n  D[i] = T[4 - i]\n")
    with pytest.raises(KernelError, match="cannot be joined"):
        join(kernel, "i", "i_2")
    with pytest.raises(KernelError, match="have extents 5, 4"):
        join(read(text + "for j in range(4):\n  D[j] = T[j]\n"), "i", "j")
    with pytest.raises(KernelError, match="does not follow"):
        join(kernel, "i_2", "i")


def test_swap_makes_neighbours_that_may_be_joined() -> None:
    text = "A, C, D, E = In(i8, 5), Out(i8, 5), Out(i8, 5), Out(i8, 4)\n"
    for target, size in (("C", 5), ("E", 4), ("D", 5)):
        text += f"for i in range({size}):\n  {target}[i] = A[i]\n"
    kernel = read(text)
    assert site_texts(JOIN, kernel) == []
    assert site_texts(SWAP, kernel) == ["C after E", "E after D"]
    assert site_texts(JOIN, swap(kernel, 1)) == ["i and i_3"]
    assert assert_all_sites_keep_meaning(SWAP, kernel) == 2
    with pytest.raises(KernelError, match="statement 2 of 'small' has no successor"):
        swap(kernel, 2)
    with pytest.raises(KernelError, match="statements 0 and 1 depend on each other"):
        swap(read(TWO), 0)


def test_without_the_dependence_test_swap_is_found_wrong() -> None:
    with patch("isamap.rewrites.swap.may_swap", return_value=True):
        wrong = swap(read(TWO), 0)
    with pytest.raises(AssertionError, match="became"):
        assert_same_meaning(wrong, read(TWO))


def test_without_the_dependence_test_fission_and_join_are_found_wrong() -> None:
    kernel = read(BACKWARD.replace("T[i + 1]", "T[i]").replace("T[i] = A", "T[i + 1] = A"))
    with patch("isamap.rewrites.fission.may_distribute", return_value=True):
        wrong = fission(kernel, "i", 1)
    with pytest.raises(AssertionError, match="became"):
        assert_same_meaning(wrong, kernel)


def test_without_the_dependence_test_interchange_is_found_wrong() -> None:
    with patch("isamap.ir.deps.conflict", return_value=LoopKind.PARALLEL):
        wrong = interchange(read(STENCIL), "i", "j")
    with pytest.raises(AssertionError, match="became"):
        assert_same_meaning(wrong, read(STENCIL))
