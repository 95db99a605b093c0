"""Operands read through copies: windows opened, dimensions exchanged, extents grown."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import Kernel, load_kernel, pretty
from isamap.rewrites import im2col, pad_loops, transpose
from isamap.rewrites.im2col import IM2COL
from isamap.rewrites.pad_loops import PAD_LOOPS
from isamap.rewrites.transpose import TRANSPOSE
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    site_texts,
)
from tests.strategies import kernels

ODD = {
    "conv2d": {"h": 5, "w": 6, "c": 3, "k": 2, "r": 3, "s": 2, "stride": 2},
    "depthwise_conv": {"h": 5, "w": 4, "c": 3, "r": 2, "s": 3},
    "gemm": {"m": 3, "n": 5, "k": 7},
    "pointwise_conv": {"h": 3, "w": 2, "c": 5, "k": 3},
}


@QUICK
@given(kernels(), st.integers(0, 3))
def test_copies_keep_any_kernel(kernel: Kernel, seed: int) -> None:
    for rewrite in (IM2COL, TRANSPOSE, PAD_LOOPS):
        assert_all_sites_keep_meaning(rewrite, kernel, seed=seed)


@pytest.mark.parametrize("name", ODD)
def test_copies_keep_bundled_kernels(name: str) -> None:
    kernel = load_kernel(f"kernels/{name}.py", ODD[name])
    assert assert_all_sites_keep_meaning(TRANSPOSE, kernel) >= 2
    assert assert_all_sites_keep_meaning(PAD_LOOPS, kernel) >= 3
    assert assert_all_sites_keep_meaning(IM2COL, kernel) == (3 if "x.at" in pretty(kernel) else 0)


def test_im2col_opens_all_windows_or_one() -> None:
    kernel = load_kernel("kernels/conv2d.py", ODD["conv2d"])
    assert site_texts(IM2COL, kernel) == [
        "x: 2*p + u - 1, 2*q + v - 1",
        "x: 2*p + u - 1",
        "x: 2*q + v - 1",
    ]
    whole, rows, _ = (pretty(rewritten).splitlines()[4:] for _, rewritten in IM2COL.sites(kernel))
    assert "x_0, p_2, u_2, q_2, v_2, x_3 in grid(1, 3, 3, 4, 2, 3):" in whole[0]
    assert any("i32(x_copy[b, p, u, q, v, i])" in line for line in whole)
    assert any("x_copy.at(b, p, u, 2*q + v - 1, i, pad=0)" in line for line in rows)


def test_im2col_opens_dilated_windows_and_shared_loops() -> None:
    kernel = read(
        "x, w, y = In(i8, 9, 9), In(i8, 3), InOut(i32, 5)\nfor p, u in grid(5, 3):\n"
        "  y[p] += i32(x.at(p + 2 * u, 8 - p + u, pad=7)) * i32(w[u])"
    )
    assert assert_all_sites_keep_meaning(IM2COL, kernel) == 3


def test_copies_are_refused_where_the_statement_writes_its_operand() -> None:
    kernel = read("D = InOut(i8, 5, 5)\nfor i, j in grid(4, 4):\n  D[i, j] = D[i + 1, j]")
    access = kernel.statements[0].value
    with pytest.raises(KernelError, match="changes 'D' while it reads it"):
        transpose(kernel, 0, access, (1, 0))
    with pytest.raises(KernelError, match="does not read"):
        im2col(kernel, 0, kernel.statements[0].target, (0,))
    with pytest.raises(KernelError, match="no such dimensions"):
        im2col(kernel, 0, access, (2,))
    with pytest.raises(KernelError, match="is no order of the 2 dimension"):
        transpose(kernel, 0, access, (0, 0))


def test_without_its_check_a_copy_is_found_wrong() -> None:
    kernel = read("D = InOut(i8, 5, 5)\nfor i, j in grid(4, 4):\n  D[i + 1, j] = D[i, j]")
    statement, access = kernel.statements[0], kernel.statements[0].value
    with patch("isamap.rewrites.copies.find_read", return_value=statement):
        wrong = transpose(kernel, 0, access, (1, 0))
    with pytest.raises(AssertionError, match="became"):
        assert_same_meaning(wrong, kernel)


def test_pad_loops_grows_sums_and_results() -> None:
    kernel = load_kernel("kernels/gemm.py", {"m": 3, "n": 4, "k": 7})
    grown = pretty(pad_loops(pad_loops(kernel, "p", 4), "i", 4)).splitlines()
    assert any("in grid(4, 4, 8):" in line for line in grown), grown
    assert_same_meaning(pad_loops(pad_loops(kernel, "p", 4), "i", 4), kernel)


def test_pad_loops_keeps_floats_bit_by_bit() -> None:
    kernel = read(
        "A, B, C = In(f32, 3, 7), In(f32, 7, 5), InOut(f32, 3, 5)\n"
        "for i, j, k in grid(3, 5, 7):\n  C[i, j] += A[i, k] * B[k, j]"
    )
    assert assert_all_sites_keep_meaning(PAD_LOOPS, kernel) == 6


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("D[0] = max(D[0], i32(A[k]))", "is no sum over 'k'"),
        ("D[0] += i32(A[k]) + 1", "no factor of the sum over 'k' ends"),
        ("D[0] += i32(A[6 - k])", "runs backwards|no factor"),
        ("D[k] = 5 // i32(A[k])", "may be an error where 'k' is padded"),
        ("D[2 * k] = i32(A[k])", r"index 2\*k of 'D' is not 'k' alone"),
        ("D[k] = D[k] * i32(A[k]) + D[k]", "is read by the statement that writes it"),
    ],
)
def test_pad_loops_says_what_does_not_fit(body: str, message: str) -> None:
    kernel = read(f"A, D = In(i8, 7), InOut(i32, 14)\nfor k in range(7):\n  {body}")
    with pytest.raises(KernelError, match=message):
        pad_loops(kernel, "k", 4)
    with pytest.raises(KernelError, match="is already a multiple of 7"):
        pad_loops(kernel, "k", 7)


def test_without_its_check_padding_is_found_wrong() -> None:
    kernel = read("A, D = In(i8, 7), InOut(i32)\nfor k in range(7):\n  D[()] += i32(A[k]) + 1")
    with patch("isamap.rewrites.pad_loops.check_added"):
        wrong = pad_loops(kernel, "k", 4)
    with pytest.raises(AssertionError, match="became"):
        assert_same_meaning(wrong, kernel)
