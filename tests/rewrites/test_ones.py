"""Sums as products with ones: reductions and scans."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import Kernel, parse_semantics, pretty
from isamap.rewrites import reduce_as_gemm, scan_as_gemm, toeplitz
from isamap.rewrites.reduce_as_gemm import REDUCE_AS_GEMM
from isamap.rewrites.scan_as_gemm import SCAN_AS_GEMM
from tests.rewrites.keeps_meaning import (
    QUICK,
    assert_all_sites_keep_meaning,
    assert_same_meaning,
    read,
    site_texts,
)
from tests.strategies import kernels

ROW_SUM = """
x, y = In(i8, 3, 5, 2), InOut(i32, 3)
for i, j, k in grid(3, 5, 2):
  y[i] += i32(x[i, j, k])
"""
VARIANCE = """
x, y, total, spread = In(f32, 3, 7), Out(f32, 3), Temp(f32, 3), Temp(f32, 3)
for i, j in grid(3, 7):
  total[i] += x[i, j]
for i, j in grid(3, 7):
  spread[i] += (x[i, j] - total[i] / 7) * (x[i, j] - total[i] / 7)
for i in range(3):
  y[i] = spread[i] / 7
"""
AVERAGE_POOL = """
x, T = In(i8, 7, 3), InOut(i32, 4, 3)
for p, c, u in grid(4, 3, 3):
  T[p, c] += i32(x.at(2*p + u - 1, c, pad=0))
"""
PREFIX_SUM = """
x, S = In(i8, 7), Out(i32, 8)
for i in range(7):
  S[i + 1] = S[i] + i32(x[i])
"""
SCAN_FORMS = (
    "S[{k}i + 1] = S[{k}i] + {x}",
    "S[{k}i + 1] = {x} + S[{k}i]",
    "S[{k}i + 1] = {x} + S[{k}i] + {x}",
    "S[{k}5 - i] = S[{k}6 - i] + {x}",
    "S[{k}i] = S.at({k}i - 1, pad=0) + {x}",
    "S[{k}i] = S.at({k}i - 1, pad=-3) + {x}",
    "S[{k}i + 1] += S[{k}i]",
    "S[{k}5 - i] += S[{k}6 - i]",
    "S[{k}2*i + 2] = S[{k}2*i] + {x}",
)


@st.composite
def scans(draw: st.DrawFn) -> Kernel:
    """A running sum of one or more rows, after something else or not."""
    dtype = draw(st.sampled_from(["i8", "i16", "i32"]))
    values = ["{t}(x[i])", "{t}(x[6 - i])", "{t}(x[0])", "max({t}(x[i]), 3) * {t}(x[i + 1])"]
    role = draw(st.sampled_from(["Out", "InOut"]))
    is_matrix = draw(st.booleans())
    shape = "3, 14" if is_matrix else "14"
    value = draw(st.sampled_from(values)).format(t=dtype)
    form = draw(st.sampled_from(SCAN_FORMS)).format(k="k, " if is_matrix else "", x=value)
    size = draw(st.integers(1, 6))
    loops = f"for k, i in grid(3, {size}):" if is_matrix else f"for i in range({size}):"
    if is_matrix and draw(st.booleans()):
        loops = f"for i, k in grid({size}, 3):"
    start = f"S[{'1, ' if is_matrix else ''}0] = 5\n" if draw(st.booleans()) else ""
    return read(f"x, S = In(i8, 7), {role}({dtype}, {shape})\n{start}{loops}\n  {form}\n")


@QUICK
@given(scans(), st.integers(0, 3))
def test_triangle_keeps_every_running_sum(kernel: Kernel, seed: int) -> None:
    assert assert_all_sites_keep_meaning(SCAN_AS_GEMM, kernel, seed=seed) == 1


@QUICK
@given(kernels(dtypes=("i8", "u8", "i32")))
def test_ones_and_triangles_keep_any_integer_kernel(kernel: Kernel) -> None:
    assert_all_sites_keep_meaning(REDUCE_AS_GEMM, kernel)
    assert_all_sites_keep_meaning(SCAN_AS_GEMM, kernel)


@QUICK
@given(kernels(dtypes=("f32", "bf16", "i8")))
def test_ones_keep_every_bit_of_floats(kernel: Kernel) -> None:
    assert not REDUCE_AS_GEMM.reassociates
    assert_all_sites_keep_meaning(REDUCE_AS_GEMM, kernel)


def test_ones_have_the_type_and_casts_of_the_operand() -> None:
    kernel = read(ROW_SUM)
    text = pretty(reduce_as_gemm(kernel, 0))
    assert "ones = Temp(i8, 5, 2)" in text
    assert "  y[i] += i32(x[i, j, k]) * i32(ones[j, k])" in text
    assert_same_meaning(reduce_as_gemm(kernel, 0), kernel)


def test_mean_and_variance_get_matrix_operands() -> None:
    kernel = read(VARIANCE)
    assert site_texts(REDUCE_AS_GEMM, kernel) == ["statement 0: total", "statement 1: spread"]
    both = reduce_as_gemm(reduce_as_gemm(kernel, 1), 0)
    assert_same_meaning(both, kernel)
    assert "spread_term = Temp(f32, 3, 7)" in pretty(both)
    assert "* ones_2[" in pretty(both)


def test_average_pooling_becomes_a_banded_product() -> None:
    kernel = read(AVERAGE_POOL)
    assert_same_meaning(toeplitz(reduce_as_gemm(kernel, 0), 1, "p", "u"), kernel)


def test_a_sum_of_shifted_reads_becomes_a_triangle() -> None:
    kernel = read(
        "x, S = In(i8, 6), InOut(i32, 6)\nfor i, j in grid(6, 6):\n"
        "  S[i] += i32(x.at(i - j, pad=0))\n"
    )
    assert_same_meaning(toeplitz(reduce_as_gemm(kernel, 0), 1, "i", "j"), kernel)


def test_a_scan_from_zero_is_one_product() -> None:
    kernel = read(PREFIX_SUM)
    found = scan_as_gemm(kernel, 0, "i")
    assert len(found.statements) == 2
    assert "S[i + 1] += i32(triangle[i, i_in]) * i32(x[i_in])" in pretty(found)
    assert_same_meaning(found, kernel)
    started = read(PREFIX_SUM.replace("for", "S[0] = 7\nfor"))
    assert "= S[0]" in pretty(scan_as_gemm(started, 1, "i"))
    assert_same_meaning(scan_as_gemm(started, 1, "i"), started)


def test_a_finite_float_scan_keeps_every_bit() -> None:
    kernel = read(
        PREFIX_SUM.replace("i32(x[i])", "x[i]").replace("i8", "f32").replace("i32", "f32")
    )
    assert_same_meaning(scan_as_gemm(kernel, 0, "i"), kernel)


@pytest.mark.parametrize(
    "old, new",
    [("for a, b in grid(7, 7):", "for a, b in grid(6, 7):"), ("a + b, b] = 1", "a + b, b] = 2")],
)
def test_a_wrong_triangle_is_noticed(old: str, new: str) -> None:
    text = pretty(scan_as_gemm(read(PREFIX_SUM), 0, "i"))
    assert old in text
    with pytest.raises(AssertionError):
        assert_same_meaning(parse_semantics(text.replace(old, new), "wrong"), read(PREFIX_SUM))


def test_missing_ones_are_noticed() -> None:
    text = pretty(reduce_as_gemm(read(ROW_SUM), 0))
    old = "for j_2, k_2 in grid(5, 2):"
    assert old in text
    wrong = parse_semantics(text.replace(old, "for j_2, k_2 in grid(5, 1):"), "wrong")
    with pytest.raises(AssertionError):
        assert_same_meaning(wrong, read(ROW_SUM))


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("y[i] +=", "y[i] *=", r"updates by '\*='"),
        ("i32(x[i, j, k])", "i32(x[i, j, k]) * i32(x[i, 0, 0])", "sums a contraction"),
        ("i32(x[i, j, k])", "3", "a constant"),
        ("i32(x[i, j, k])", "i32(x[i, j, k]) + y[2 - i]", "reads its own target"),
        ("i, j, k in grid(3, 5, 2)", "i in range(3)", "sums over no loop"),
    ],
)
def test_ones_refuse(old: str, new: str, message: str) -> None:
    assert old in ROW_SUM
    text = ROW_SUM.replace(old, new)
    if "range" in new:
        text = text.replace("[i, j, k]", "[i, 0, 0]")
    with pytest.raises(KernelError, match=message):
        reduce_as_gemm(read(text), 0)


@pytest.mark.parametrize(
    "statement, message",
    [
        ("S[i + 1] = sat_i32(S[i] + i32(x[i]))", "is no running sum"),  # saturates on the way
        ("S[i + 1] = max(S[i], i32(x[i]))", "is no running sum"),
        ("S[i + 1] = S[i] - i32(x[i])", "is no running sum"),
        ("S[i + 1] = S[i]", "is no running sum"),
        ("S[i + 1] = S[i] + S[i]", "is no running sum"),
        ("S[i + 1] += S[i] + i32(x[i])", "is no running sum"),
        ("S[0] += i32(x[i])", "is no running sum"),
        ("S[i + 1] = S[i] + i32(x[i]) * S[7 - i]", "adds elements of 'S' itself"),
    ],
)
def test_triangle_refuses(statement: str, message: str) -> None:
    text = PREFIX_SUM.replace("S[i + 1] = S[i] + i32(x[i])", statement)
    with pytest.raises(KernelError, match=message):
        scan_as_gemm(read(text), 0, "i")


def test_triangle_refuses_two_carrying_loops_and_a_running_reader() -> None:
    two = """
x, S = In(i8, 3), Out(i32, 8)
for i, j in grid(3, 3):
  S[i + j + 1] = S[i + j] + i32(x[i])
"""
    with pytest.raises(KernelError, match="along other loops than 'i'"):
        scan_as_gemm(read(two), 0, "i")
    with pytest.raises(KernelError, match="shares a loop"):
        scan_as_gemm(read(PREFIX_SUM + "  S[0] = i32(x[i])\n"), 0, "i")


@pytest.mark.parametrize("value", ["i32(x[j]) * i32(z[j])", "i32(x[j]) * i32(x[j])"])
def test_a_dot_product_and_a_sum_with_ones_stay_as_they_are(value: str) -> None:
    text = f"x, z, y = In(i8, 5), In(i8, 5), InOut(i32)\nfor j in range(5):\n  y[()] += {value}\n"
    assert site_texts(REDUCE_AS_GEMM, read(text)) == []
    summed = reduce_as_gemm(read(text.replace(value, "i32(x[j])")), 0)
    assert site_texts(REDUCE_AS_GEMM, summed) == []
