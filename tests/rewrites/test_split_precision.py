"""Wide products from narrow ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import Kernel, interpret, parse_semantics, pretty, random_arrays
from isamap.rewrites import split_precision
from isamap.rewrites.split_precision import SPLIT_PRECISION
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
)
from tests.strategies import kernels

GEMM = """
A, B, C = In(i16, 3, 5), In(i16, 5, 4), InOut(i32, 3, 4)
for i, j, k in grid(3, 4, 5):
  C[i, j] += i32(A[i, k]) * i32(B[k, j])
"""
FORMS = (
    GEMM,
    GEMM.replace("In(i16, 5, 4)", "In(i8, 5, 4)"),
    GEMM.replace("In(i16, 3, 5)", "In(i8, 3, 5)"),
    "A, C = In(i16, 7), InOut(i32)\nfor i in range(7):\n  C[()] += i32(A[i]) * i32(A[i])\n",
    "A, C = In(i16, 7), InOut(i32, 4)\nfor p, u in grid(4, 3):\n"
    "  C[p] += i32(A[p + u]) * i32(A.at(3*u - 1, pad=-200))\n",
    "x, w, y = In(i16, 6, 2), In(i8, 3, 2), InOut(i32, 3, 2)\nfor p, c, u in grid(3, 2, 3):\n"
    "  y[p, c] += i32(x.at(2*p + u - 1, c, pad=9)) * i32(w[u, c])\n",
    "A, B, C = In(i16, 3), In(i16, 4), InOut(i32, 2)\nfor i, j, k, l in grid(2, 3, 4, 5):\n"
    "  C[i] += i32(A[j]) * i32(B[k])\n",
)
EDGES = (-32768, -32767, -129, -128, -1, 0, 127, 128, 255, 32639, 32640, 32767)
FLOAT_GEMM = GEMM.replace("i32(A[i, k]) * i32(B[k, j])", "A[i, k] * B[k, j]").replace("i16", "f32")
FLOAT_GEMM = FLOAT_GEMM.replace("i32", "f32")


@QUICK
@given(st.sampled_from(FORMS), st.integers(0, 20))
def test_parts_give_the_same_integers(text: str, seed: int) -> None:
    assert assert_all_sites_keep_meaning(SPLIT_PRECISION, read(text), seed=seed) == 1


@QUICK
@given(kernels(dtypes=("i8", "i16", "i32")))
def test_parts_keep_any_integer_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SPLIT_PRECISION, kernel)


def test_every_pair_of_edge_values_is_exact() -> None:
    text = "A, B, C = In(i16, 12), In(i16, 12), InOut(i32, 12, 12)\nfor i, j in grid(12, 12):\n"
    kernel = read(text + "  C[i, j] += i32(A[i]) * i32(B[j])\n")
    edges = np.array(EDGES, np.int16)
    arrays = {"A": edges, "B": edges, "C": np.zeros((12, 12), np.int32)}
    found = interpret(split_precision(kernel, 0), arrays)["C"]
    np.testing.assert_array_equal(found, np.outer(edges.astype(np.int32), edges.astype(np.int32)))


def test_every_i16_is_its_parts() -> None:
    x = np.arange(-32768, 32768)
    high, low = x >> 8, (x & 255) - 128
    assert high.min() == low.min() == -128 and high.max() == low.max() == 127
    np.testing.assert_array_equal(256 * high + low + 128, x)


def test_only_products_of_i8_read_matrices() -> None:
    text = pretty(split_precision(read(GEMM), 0))
    assert "i32(A_high[i_2, k_2]) * i32(B_high[k_2, j_2])" in text
    assert text.count(" * i32(") == 4
    assert pretty(split_precision(read(FORMS[1]), 0)).count(" * i32(") == 2


@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e15])
@pytest.mark.parametrize("seed", range(4))
def test_bf16_parts_stay_within_the_derived_bound(scale: float, seed: int) -> None:
    kernel = read(FLOAT_GEMM)
    arrays = random_arrays(kernel, seed)
    for name in "AC":
        arrays[name] = (arrays[name] * np.float32(scale)).astype(np.float32)
    found = interpret(split_precision(kernel, 0), arrays)["C"].astype(np.float64)
    A, B, C = (arrays[name].astype(np.float64) for name in "ABC")
    magnitude = np.abs(C) + np.abs(A) @ np.abs(B)
    bound = (3.01 * 2**-16 + 3.1 * 6 * 2**-24) * magnitude  # K = 5, as the docstring derives
    error = np.abs(found - (C + A @ B))
    assert (error <= bound).all()
    assert error.max() > 0


@pytest.mark.parametrize(
    "old, new",
    [
        ("A[d0, d1] & 255) - 128", "A[d0, d1] & 255) - 127"),
        ("A[d0, d1] & 255", "A[d0, d1] & 127"),
        ("* 128", "* 64"),
        ("<< 16", "<< 15"),
    ],
)
def test_wrong_parts_are_noticed(old: str, new: str) -> None:
    text = pretty(split_precision(read(GEMM), 0)).replace("d0_2", "d0").replace("d1_2", "d1")
    text = text.replace("for d0, d1 in grid(3, 5):\n    A_low", "    A_low")
    assert old in text
    with pytest.raises(AssertionError):
        assert_same_meaning(parse_semantics(text.replace(old, new), "wrong"), read(GEMM))


def test_a_missing_float_part_breaks_the_bound() -> None:
    kernel = read(FLOAT_GEMM)
    lines = pretty(split_precision(kernel, 0)).splitlines()
    place = next(n for n, line in enumerate(lines) if "f32(A_low" in line)
    wrong = parse_semantics("\n".join(lines[: place - 1] + lines[place + 1 :]), "wrong")
    assert_same_meaning(split_precision(kernel, 0), kernel, tolerance=1e-4)
    with pytest.raises(AssertionError):
        assert_same_meaning(wrong, kernel, tolerance=1e-4)


@pytest.mark.parametrize(
    "text, message",
    [
        (GEMM.replace("i16", "i8"), "no sum of products of i16 in i32, or of f32"),
        (GEMM.replace("In(i16, 5, 4)", "In(u8, 5, 4)"), "no sum of products"),
        (GEMM.replace("i32(A[i, k])", "sat_i32(A[i, k])"), "no sum of products"),
        (
            GEMM.replace("i32(A[i, k]) * i32(B[k, j])", "i32(A[i, k] * B[k, j])"),
            "no sum of products",
        ),
        (GEMM.replace("+= ", "= "), "updates by '='"),
        (FLOAT_GEMM.replace("f32", "f64"), "no sum of products"),
    ],
)
def test_other_products_are_refused(text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        split_precision(read(text), 0)
