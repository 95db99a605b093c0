"""Laws of spelling: equal bits at every i32, above all at the extreme ones.

In: expressions over one i32. Out: failures. Not its job: what matches (`test_immediates`).
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.ir import Apply, Expr, Kernel, interpret, numpy_dtype, parse_semantics
from isamap.mapper.spelling import (
    firm_operations,
    kernel_spellings,
    plain,
    relu_first,
    scaled_by_one,
    with_numbers,
)

EDGES = [2**31 - 1, -(2**31), 2**24, 2**24 + 1, 2**23 + 1, 0, 1, -1, 127, 128, -128, -129, 32768]
WHOLE = st.one_of(
    st.sampled_from(EDGES),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-300, 300),
)
SCALES = st.one_of(
    st.sampled_from([1, 0.5, 1.0, 0.002, 1e-45, 1e-60, 3.4028234e38, 1e39, 65504.0, 7e4, -0.25]),
    st.floats(1e-40, 1e30),
)
FORMS = (
    "sat_i8(round_even(relu(f32(x[i]) * {s})))",
    "sat_i8(round_even(relu(f32(x[i])) * {s}))",
    "sat_i8(relu(round_even({s} * f32(x[i]))))",
    "relu(sat_i8(round_even(f32(x[i]) * {s})))",
    "i8(round_even(max(0, f32(x[i]) * {s})))",
    "sat_u8(relu(f16(x[i]) * {s}))",
    "relu(sat_i16(bf16(relu(f32(x[i]) * {s}))))",
    "sat_i8(relu(round_even(f64(f16(x[i]) * {s}))))",
)


def kernel_of(value: str, size: int) -> Kernel:
    """y = value, over x."""
    result = "u8" if "u8" in value else "i16" if "i16" in value else "i8"
    head = f"x, y = In(i32, {size}), Out({result}, {size})\n"
    return parse_semantics(f"{head}for i in range({size}):\n    y[i] = {value}\n", "k")


def with_value(kernel: Kernel, value: Expr) -> Kernel:
    """The kernel with another right-hand side."""
    (statement,) = kernel.statements
    changed = type(statement)(statement.loops, statement.target, statement.update, value)
    return Kernel(kernel.name, kernel.buffers, (changed,))


def assert_equal(kernel: Kernel, value: Expr, numbers: list[int]) -> None:
    """Both compute the same bits."""
    x = np.array(numbers, np.int32)
    expected = interpret(kernel, {"x": x})["y"]
    np.testing.assert_array_equal(interpret(with_value(kernel, value), {"x": x})["y"], expected)


@given(st.sampled_from(FORMS), SCALES, st.lists(WHOLE, min_size=1, max_size=20))
def test_relu_comes_before_what_never_falls(form: str, scale: float, numbers: list[int]) -> None:
    numbers += EDGES
    kernel = kernel_of(form.format(s=scale), len(numbers))
    assert_equal(kernel, relu_first(plain(kernel.statements[0].value)), numbers)


@given(
    st.sampled_from(["sat_i8(x[i])", "sat_u8(x[i])", "relu(sat_i16(x[i]))", "sat_i8(relu(x[i]))"]),
    st.lists(WHOLE, min_size=1, max_size=20),
)
def test_saturation_is_scaling_by_one(form: str, numbers: list[int]) -> None:
    numbers += EDGES
    kernel = kernel_of(form, len(numbers))
    value = scaled_by_one(relu_first(plain(kernel.statements[0].value)), {"x": "i32"})
    assert value not in (kernel.statements[0].value, plain(kernel.statements[0].value))
    assert_equal(kernel, value, numbers)


def spelled(form: str) -> Expr:
    """The expression with its relus inside."""
    return relu_first(plain(kernel_of(form, 1).statements[0].value))


@pytest.mark.parametrize("form", FORMS[:4])
def test_forms_with_one_meaning_have_one_spelling(form: str) -> None:
    assert spelled(form.format(s=0.5)) in (
        spelled("sat_i8(round_even(f32(relu(x[i])) * 0.5))"),
        spelled("sat_i8(round_even(0.5 * f32(relu(x[i]))))"),
    )


@pytest.mark.parametrize(
    "form",
    [
        "sat_i8(round_even(relu(f32(x[i]) * -0.5)))",  # turns the order round
        "sat_i8(round_even(relu(f32(x[i]) * 0)))",
        "sat_i8(round_even(relu(f32(x[i]) * 1e-60)))",  # 0 in f32
        "sat_i8(round_even(relu(f16(x[i]) * 70000.0)))",  # an infinity in f16: 0 * inf is NaN
        "sat_i8(relu(x[i] * 3))",  # wraps
        "sat_i8(relu(i8(x[i])))",  # wraps
        "sat_i8(relu(f32(x[i]) + 1.0))",  # not 0 at 0
        "sat_i8(relu(f8e4m3(x[i])))",  # overflows to NaN
    ],
)
def test_relu_stays_outside_of_anything_else(form: str) -> None:
    value = plain(kernel_of(form, 1).statements[0].value)
    assert relu_first(value) == value


def test_relu_of_what_stays_a_float_is_left_alone() -> None:
    text = "x, y = In(i32, 1), Out(f32, 1)\nfor i in range(1):\n    y[i] = relu(f32(x[i]) * 0.5)\n"
    value = plain(parse_semantics(text, "k").statements[0].value)
    assert relu_first(value) == value, "an underflow would make -0 of 0"


@pytest.mark.parametrize(
    ("form", "dtype"),
    [("sat_i8(x[i])", "f32"), ("sat_i32(x[i])", "i64"), ("sat_i8(x[i] + 1)", "i32")],
)
def test_only_whole_elements_in_reach_of_f32_are_scaled_by_one(form: str, dtype: str) -> None:
    result = "i32" if "i32" in form else "i8"
    head = f"x, y = In({dtype}, 1), Out({result}, 1)\nfor i in range(1):\n"
    value = plain(parse_semantics(f"{head}    y[i] = {form}\n", "k").statements[0].value)
    assert kernel_spellings(value, {"x": dtype}) == (value,)


@given(st.sampled_from(FORMS), SCALES)
def test_no_law_touches_firm_operations(form: str, scale: float) -> None:
    (statement,) = kernel_of(form.format(s=scale), 3).statements
    value = Apply("exp", (Apply("f32", (statement.value,)),))
    spelled = kernel_spellings(value, {"x": "i32", "y": "i8"})
    assert {firm_operations(one) for one in spelled} == {("exp",)}


ODD = [0.0, -0.0, 1e-45, -3e-45, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 5.0, -5.0, 1e-38, 0.1]


@given(
    st.sampled_from(["f16", "bf16", "f32", "f64"]),
    st.sampled_from(["x[i] - {s}", "x[i] / {s}", "-x[i]", "exp(-(x[i] / {s}) - {s})"]),
    st.sampled_from([5, 0.1, 2, 64, 0.5, -8, 2.0**-14, 2.0**15, 2.0**126, 3, 7e4]),
    st.lists(st.floats(width=32), min_size=1, max_size=20),
)
def test_numbers_are_added_and_multiplied_to_the_same_bits(
    dtype: str, form: str, number: float, floats: list[float]
) -> None:
    size = len(floats) + len(ODD)
    head = f"x, y = In({dtype}, {size}), Out({dtype}, {size})\nfor i in range({size}):\n"
    kernel = parse_semantics(f"{head}    y[i] = {form.format(s=number)}\n", "k")
    changed = with_value(kernel, with_numbers(kernel.statements[0].value, {"x": dtype}))
    with np.errstate(all="ignore"):
        x = np.array([*floats, *ODD]).astype(numpy_dtype(dtype))
        expected, found = (
            interpret(one, {"x": x})["y"].astype(np.float64) for one in (kernel, changed)
        )
    np.testing.assert_array_equal(found, expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[is_number]), np.signbit(expected[is_number]))


@given(st.sampled_from(["x[i] - 5", "-x[i]", "x[i] - 2147483647"]), st.lists(WHOLE, min_size=1))
def test_so_are_whole_numbers(form: str, numbers: list[int]) -> None:
    numbers += EDGES
    head = f"x, y = In(i32, {len(numbers)}), Out(i32, {len(numbers)})\n"
    kernel = parse_semantics(f"{head}for i in range({len(numbers)}):\n    y[i] = {form}\n", "k")
    value = with_numbers(kernel.statements[0].value, {"x": "i32"})
    assert value != kernel.statements[0].value
    assert_equal(kernel, value, numbers)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ("x[i] / 3.0", "f32"),  # no power of two
        ("x[i] / 4.0", "f8e5m2"),  # a type that is not looked at
        ("x[i] / 67108864.0", "f16"),  # an infinity there
        ("x[i] - 5", "u8"),  # holds no -5
        ("x[i] - x[i]", "f32"),
        ("x[i] // 4", "i32"),
    ],
)
def test_other_numbers_stay(value: str, dtype: str) -> None:
    text = f"x, y = In({dtype}, 1), Out({dtype}, 1)\nfor i in range(1):\n    y[i] = {value}\n"
    found = parse_semantics(text, "k").statements[0].value
    assert with_numbers(found, {"x": dtype}) == found


def test_what_numbers_become_has_the_same_firm_operations() -> None:
    text = "x, y = In(f32, 1), Out(f32, 1)\nfor i in range(1):\n    y[i] = {}\n"
    for value in ("x[i] - 5.0", "exp(x[i] / 4.0)", "exp(-x[i])", "x[i] - exp(x[i] * x[i]) / 3.0"):
        one = parse_semantics(text.format(value), "k").statements[0].value
        assert firm_operations(with_numbers(one, {"x": "f32"})) == firm_operations(one)
