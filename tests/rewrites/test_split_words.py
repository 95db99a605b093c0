"""Products of words by their bytes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import interpret
from isamap.rewrites import split_words
from tests.rewrites.keeps_meaning import read

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
@settings(max_examples=60, deadline=None)
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
    after = split_words(kernel, 0)
    assert sum(b.name.startswith("A_digit") for b in after.buffers) == 4
    np.testing.assert_array_equal(interpret(after, arrays)["C"], interpret(kernel, arrays)["C"])


def test_a_sum_of_few_products_needs_fewer_digits() -> None:
    kernel = read(
        "x, w, B, C = In(i8, 4, 9), In(i8, 9), In(i8, 4, 2), InOut(i32, 2)\n"
        "T = Temp(i32, 4)\n"
        "for i, u in grid(4, 9):\n  T[i] += i32(x[i, u]) * i32(w[u])\n"
        "for j, k in grid(2, 4):\n  C[j] += T[k] * i32(B[k, j])"
    )
    after = split_words(kernel, 1)
    assert sum(b.name.startswith("T_digit") for b in after.buffers) == 3  # 9 * 2**14 > 32639
    arrays = {
        "x": np.full((4, 9), -128, np.int8),
        "w": np.full(9, -128, np.int8),
        "B": np.array([[1, 2], [3, -4], [-5, 6], [7, 8]], np.int8),
        "C": np.zeros(2, np.int32),
    }
    np.testing.assert_array_equal(interpret(after, arrays)["C"], interpret(kernel, arrays)["C"])


def test_a_product_of_bytes_is_refused() -> None:
    kernel = read(
        "A, B, C = In(i8, 3), In(i8, 3), InOut(i32)\n"
        "for k in range(3):\n  C[()] += i32(A[k]) * i32(B[k])"
    )
    with pytest.raises(KernelError, match="no sum of products of i32 and i8"):
        split_words(kernel, 0)
