"""Products of wide and unsigned integers from signed bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isamap
from isamap.errors import KernelError
from isamap.ir import Kernel, interpret, numpy_dtype, parse_semantics, pretty
from isamap.resources import find_hardware
from isamap.rewrites import split_integers
from isamap.rewrites.split_integers import SPLIT_INTEGERS
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
    GEMM.replace("In(i16, 5, 4)", "In(u8, 5, 4)").replace("In(i16, 3", "In(u16, 3"),
    GEMM.replace("i16", "u8"),
    GEMM.replace("i16", "u8").replace("i32(A[i, k])", "(i32(A[i, k]) - 7)"),
    GEMM.replace("In(i16, 3", "In(i32, 3").replace("i32(A[i, k])", "A[i, k]"),
    GEMM.replace("In(i16, 5, 4)", "In(i8, 5, 4)").replace(
        "i32(B[k, j])", "i32(B.at(k + 1, j - 1, pad=3))"
    ),
    "A, C = In(i16, 7), InOut(i32)\nfor i in range(7):\n  C[()] += i32(A[i]) * i32(A[i])\n",
    "A, C = In(i16, 7), InOut(i32, 4)\nfor p, u in grid(4, 3):\n"
    "  C[p] += i32(A[p + u]) * i32(A.at(3*u - 1, pad=-200))\n",
    "x, w, y = In(i16, 6, 2), In(i8, 3, 2), InOut(i32, 3, 2)\nfor p, c, u in grid(3, 2, 3):\n"
    "  y[p, c] += i32(x.at(2*p + u - 1, c, pad=9)) * i32(w[u, c])\n",
    "A, B, C = In(i16, 3), In(i16, 4), InOut(i32, 2)\nfor i, j, k, l in grid(2, 3, 4, 5):\n"
    "  C[i] += i32(A[j]) * i32(B[k])\n",
)
EDGES = (-32768, -32767, -129, -128, -1, 0, 127, 128, 255, 32639, 32640, 32767)


@QUICK
@given(st.sampled_from(FORMS), st.integers(0, 20))
def test_parts_give_the_same_integers(text: str, seed: int) -> None:
    assert assert_all_sites_keep_meaning(SPLIT_INTEGERS, read(text), seed=seed) == 1


@QUICK
@given(kernels(dtypes=("i8", "u8", "i16", "u16", "i32")))
def test_parts_keep_any_integer_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(SPLIT_INTEGERS, kernel)


def test_every_pair_of_edge_values_is_exact() -> None:
    text = "A, B, C = In(i16, 12, 1), In(i16, 1, 12), InOut(i32, 12, 12)\n"
    text += "for i, j, k in grid(12, 12, 1):\n"
    kernel = read(text + "  C[i, j] += i32(A[i, k]) * i32(B[k, j])\n")
    edges = np.array(EDGES, np.int16)
    arrays = {"A": edges[:, None], "B": edges[None], "C": np.zeros((12, 12), np.int32)}
    found = interpret(split_integers(kernel, 0), arrays)["C"]
    np.testing.assert_array_equal(found, np.outer(edges.astype(np.int32), edges.astype(np.int32)))


@pytest.mark.parametrize("dtype", ["u8", "u16", "i16"])
def test_every_value_is_its_parts(dtype: str) -> None:
    limits = np.iinfo(numpy_dtype(dtype))
    every = np.arange(limits.min, limits.max + 1).astype(limits.dtype)[:, None]
    text = f"A, B, C = In({dtype}, {every.size}, 1), In(i8, 1), Out(i32, {every.size})\n"
    kernel = read(
        text + f"for i, k in grid({every.size}, 1):\n  C[i] += i32(A[i, k]) * i32(B[k])\n"
    )
    found = interpret(split_integers(kernel, 0), {"A": every, "B": np.array([-1], np.int8)})["C"]
    np.testing.assert_array_equal(found, -every[:, 0].astype(np.int32))


def test_only_products_of_i8_read_matrices() -> None:
    text = pretty(split_integers(read(GEMM), 0))
    assert "C[i_9, j_9] += i32(A_low[i_9, k_9]) * i32(B_low[k_9, j_9])" in text
    assert text.count(" * i32(") == 4
    assert pretty(split_integers(read(FORMS[1]), 0)).count(" * i32(") == 2


@pytest.mark.parametrize(
    "old, new",
    [
        ("A[d0, d1] - 128", "A[d0, d1] - 127"),
        (">> 8", ">> 7"),
        ("* 128", "* 64"),
        ("* 65536", "* 32768"),
    ],
)
def test_wrong_parts_are_noticed(old: str, new: str) -> None:
    text = pretty(split_integers(read(GEMM), 0))
    assert old in text
    with pytest.raises(AssertionError):
        assert_same_meaning(parse_semantics(text.replace(old, new), "wrong"), read(GEMM))


EXTREMES = [
    0,
    1,
    -1,
    127,
    128,
    -128,
    -129,
    255,
    2**23,
    -(2**23),
    2**31 - 1,
    -(2**31),
    -(2**31) + 127,
]


@given(
    st.lists(st.sampled_from(EXTREMES) | st.integers(-(2**31), 2**31 - 1), min_size=6, max_size=6)
)
@settings(max_examples=60)
def test_words_by_bytes_are_exact(words: list[int]) -> None:
    kernel = read(
        "A, B, C = In(i32, 2, 3), In(i8, 3, 2), InOut(i32, 2, 2)\n"
        "for i, j, k in grid(2, 2, 3):\n  C[i, j] += A[i, k] * i32(B[k, j])"
    )
    arrays = {
        "A": np.array(words, np.int32).reshape(2, 3),
        "B": np.array([[-128, 127], [5, -1], [0, 77]], np.int8),
        "C": np.array([[1, -(2**31)], [2**31 - 1, 0]], np.int32),
    }
    after = split_integers(kernel, 0)
    assert sum(b.name.startswith("A_digit") for b in after.buffers) == 4
    np.testing.assert_array_equal(interpret(after, arrays)["C"], interpret(kernel, arrays)["C"])


def test_a_sum_of_few_products_needs_fewer_digits() -> None:
    kernel = read(
        "x, w, B, C = In(i8, 4, 9), In(i8, 9), In(i8, 4, 2), InOut(i32, 2)\n"
        "T = Temp(i32, 4)\n"
        "for i, u in grid(4, 9):\n  T[i] += i32(x[i, u]) * i32(w[u])\n"
        "for j, k in grid(2, 4):\n  C[j] += T[k] * i32(B[k, j])"
    )
    after = split_integers(kernel, 1)
    assert sum(b.name.startswith("T_digit") for b in after.buffers) == 3  # 9 * 2**14 > 32639
    arrays = {
        "x": np.full((4, 9), -128, np.int8),
        "w": np.full(9, -128, np.int8),
        "B": np.array([[1, 2], [3, -4], [-5, 6], [7, 8]], np.int8),
        "C": np.zeros(2, np.int32),
    }
    np.testing.assert_array_equal(interpret(after, arrays)["C"], interpret(kernel, arrays)["C"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GEMM.replace("i16", "i8"), "sums no wide or unsigned integers in i32"),
        (GEMM.replace("i32(A[i, k])", "sat_i32(A[i, k])").replace("16, 5", "8, 5"), "sums no wide"),
        (GEMM.replace("i32(A[i, k]) * i32(B[k, j])", "i32(A[i, k] * B[k, j])"), "sums no wide"),
        (GEMM.replace("i16", "i32").replace("i32(A[i, k]) * i32(B[k, j])", "A[i, k] * B[k, j]"),
         "more than 12 terms"),
        (GEMM.replace("i32(A[i, k]) *", "7 +"), "sums no product of elements"),
        (GEMM.replace("+= ", "= "), "updates by '='"),
    ],
)  # fmt: skip
def test_other_sums_are_refused(text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        split_integers(read(text), 0)


def test_unsigned_images_run_on_a_matrix_unit_of_signed_bytes() -> None:
    kernel = read(
        "A, B, C = In(u8, 17, 33), In(i8, 33, 5), Out(i32, 17, 5)\n"
        "for i, j, p in grid(17, 5, 33):\n"
        "  C[i, j] += (i32(A[i, p]) - 120) * i32(B[p, j])"
    )
    found = isamap.map(kernel, find_hardware("gemmini"), verify="full", time_limit_s=12)
    assert isinstance(found, isamap.PlanResult)
    assert found.verification.is_verified
    assert found.plan.steps[0].rewrite == "split_integers"


@pytest.mark.parametrize(("zero_point", "sums"), [(128, 1), (120, 2)])
def test_unsigned_bytes_with_a_zero_point_need_one_sum_beside_the_product_or_none(
    zero_point: int, sums: int
) -> None:
    """What makes bytes signed and their zero point are factors of the same sum."""
    text = (
        "x, w, C = In(u8, 3, 5), In(i8, 5, 4), InOut(i32, 3, 4)\n"
        "for i, j, k in grid(3, 4, 5):\n"
        f"  C[i, j] += (i32(x[i, k]) - {zero_point}) * i32(w[k, j])"
    )
    kernel = read(text)
    found = split_integers(kernel, 0)
    summed = [
        s for s in found.statements if s.update == "+=" and len(s.loops) > len(s.target.indices)
    ]
    assert len(summed) == sums
    assert_same_meaning(found, kernel, seed=3)
