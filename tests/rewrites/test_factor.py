"""Factors that leave sums."""

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import Kernel, pretty
from isamap.rewrites import factor
from isamap.rewrites.factor import FACTOR, find_factors
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    site_texts,
)
from tests.strategies import kernels

SEPARABLE = """
x, g, h, y = In(i8, 7, 3), In(i8, 3, 3), In(i8, 3, 5), InOut(i32, 7, 5)
for p, o, u, c in grid(7, 5, 3, 3):
  y[p, o] += i32(x.at(p + u - 1, c, pad=0)) * i32(g[u, c]) * i32(h[c, o])
"""
MEAN = """
x, s, y = In(f32, 3, 8), In(f32), InOut(f32, 3)
for i, k in grid(3, 8):
  y[i] += s[()] * x[i, k]
"""


@st.composite
def products(draw: st.DrawFn) -> Kernel:
    """A sum of products of two to four factors, with casts that may wrap or saturate."""
    names = ["i", "j", "k"]
    target = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
    dtype = draw(st.sampled_from(["i32", "i16", "i8", "u32"]))
    lines, factors = [], []
    for number in range(draw(st.integers(2, 4))):
        used = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
        own = draw(st.sampled_from(["i8", "u8", "i16", "i32"]))
        lines.append(f"A{number} = In({', '.join([own, *('3' for _ in used)])})")
        factors.append(f"A{number}[{', '.join(used) or '()'}]")
    value = f"{dtype}({factors[0]})"
    for text in factors[1:]:
        middle = draw(st.sampled_from([dtype, "i16", "i64", "sat_i8"]))
        if middle == "sat_i8":
            value = f"{dtype}(sat_i8({value} * {dtype}({text})))"
        elif middle == dtype:
            value = draw(st.sampled_from(["{}", "neg({})", "3 * {}"])).format(value)
            value = f"{value} * {dtype}({text})"
        else:
            value = f"{dtype}({middle}({value}) * {middle}({text}))"
    shape = ", ".join([dtype, *("3" for _ in target)])
    head = f"for {', '.join(names)} in grid(3, 3, 3):"
    body = f"  y[{', '.join(target) or '()'}] += {value}"
    return read("\n".join([*lines, f"y = InOut({shape})", head, body]))


@QUICK
@given(products(), st.integers(0, 3))
def test_factor_keeps_integers_exact(kernel: Kernel, seed: int) -> None:
    assert_all_sites_keep_meaning(FACTOR, kernel, seed=seed)


@QUICK
@given(kernels(dtypes=("i8", "i32", "u8")))
def test_factor_keeps_any_integer_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(FACTOR, kernel)


def test_separable_convolution_becomes_depthwise_then_pointwise() -> None:
    kernel = read(SEPARABLE)
    assert site_texts(FACTOR, kernel) == ["y: h out of u"]
    assert assert_all_sites_keep_meaning(FACTOR, kernel) == 1
    assert pretty(next(FACTOR.sites(kernel))[1]).splitlines()[5:] == [
        "for p_2, c_2, u_2 in grid(7, 3, 3):",
        "    y_part[p_2, c_2] += i32(x.at(p_2 + u_2 - 1, c_2, pad=0)) * i32(g[u_2, c_2])",
        "for p, o, c in grid(7, 5, 3):",
        "    y[p, o] += y_part[p, c] * i32(h[c, o])",
    ]


def test_three_matrices_may_be_multiplied_in_either_order() -> None:
    text = """
A, B, C, D = In(i32, 2, 3), In(i32, 3, 4), In(i32, 4, 5), InOut(i32, 2, 5)
for i, j, k, l in grid(2, 5, 3, 4):
  D[i, j] += A[i, k] * B[k, l] * C[l, j]
"""
    kernel = read(text)
    assert site_texts(FACTOR, kernel) == ["D: C out of k", "D: A out of l"]
    assert_all_sites_keep_meaning(FACTOR, kernel)


def test_a_mean_is_summed_before_it_is_scaled() -> None:
    kernel = read(MEAN)
    assert site_texts(FACTOR, kernel) == ["y: s out of k"]
    # 8 terms, one rounding per sum and product of values below 8 * max|s*x|
    assert_all_sites_keep_meaning(FACTOR, kernel, tolerance=8 * 16 * 2.0**-24)


def test_casts_that_wrap_or_saturate_hold_their_product_together() -> None:
    text = "A, B, y = In({t}, 4), In({t}), InOut(i32)\nfor k in range(4):\n  y[()] += {cast}"
    for dtype, cast, count in (
        ("i8", "i32(A[k] * B[()])", 1),
        ("i8", "i32(i16(A[k]) * i16(B[()]))", 2),
        ("i64", "i32(A[k] * B[()])", 2),
        ("i64", "sat_i32(A[k] * B[()])", 1),
        ("i8", "sat_i32(i16(A[k]) * i16(B[()]))", 2),
    ):
        kernel = read(text.format(t=dtype, cast=cast))
        assert len(find_factors(kernel, kernel.statements[0])) == count, cast
        assert assert_all_sites_keep_meaning(FACTOR, kernel) == count - 1


def test_factor_says_what_does_not_fit() -> None:
    kernel = read(SEPARABLE)
    with pytest.raises(KernelError, match="loop 'c' moves the target or a factor"):
        factor(kernel, 0, (0, 1), ("c",))
    with pytest.raises(KernelError, match="loop 'o' moves the target"):
        factor(kernel, 0, (0, 1), ("o",))
    with pytest.raises(KernelError, match="factoring needs"):
        factor(kernel, 0, (0, 1, 2), ("u",))
    with pytest.raises(KernelError, match="is no sum"):
        factor(read("y = InOut(i8, 3)\nfor i in range(3):\n  y[i] = 2"), 0, (0,), ("i",))
    with pytest.raises(KernelError, match="has no statement 4"):
        factor(kernel, 4, (0,), ("i",))


def test_without_its_check_factoring_is_found_wrong() -> None:
    with patch("isamap.rewrites.factors.lies_in", return_value=True):
        text = "A, B, y = In(i8, 4), In(i8), InOut(i32)\nfor k in range(4):\n  y[()] += "
        wrapping = read(text + "i32(A[k] * B[()])")
        wrong = factor(wrapping, 0, (0,), ("k",))
    with pytest.raises(AssertionError, match="became"):
        assert_same_meaning(wrong, wrapping)
