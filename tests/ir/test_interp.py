"""The interpreter against its plain oracle and against NumPy."""

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isamap.errors import KernelError
from isamap.ir import (
    Kernel,
    interpret,
    interpret_slow,
    numpy_dtype,
    parse_semantics,
    plan_blocks,
    random_arrays,
    run_block,
)
from tests.strategies import kernels

QUICK = settings(max_examples=300, suppress_health_check=list(HealthCheck))


def assert_same(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    """Equal names, types and values, bit by bit but for the sign of zero and the payload of NaN."""
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.dtype == right[name].dtype
        np.testing.assert_array_equal(
            array.astype(np.float64), right[name].astype(np.float64), err_msg=name
        )


@QUICK
@given(kernels(), st.integers(0, 3))
def test_blocks_mean_the_same_as_single_elements(kernel: Kernel, seed: int) -> None:
    arrays = random_arrays(kernel, seed)
    before = {name: array.copy() for name, array in arrays.items()}
    assert_same(interpret(kernel, arrays), interpret_slow(kernel, arrays))
    assert_same(arrays, before)


@QUICK
@given(kernels(), st.integers(1, 5))
def test_cutting_boxes_small_changes_nothing(kernel: Kernel, limit: int) -> None:
    arrays = random_arrays(kernel, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_block, "MAX_POINTS", limit)
        patch.setattr(run_block, "MIN_MATRIX_POINTS", 1)
        patch.setattr(plan_blocks, "MIN_PARALLEL_POINTS", limit)
        found = interpret(kernel, arrays)
    assert_same(found, interpret_slow(kernel, arrays))


def run_one(text: str, **arrays: list[float]) -> list[float]:
    """Elements of `y` after running a body on the given inputs."""
    kernel = parse_semantics(text, "one")
    inputs = {n: np.array(v).astype(numpy_dtype(kernel.buffer(n).dtype)) for n, v in arrays.items()}
    outputs = interpret(kernel, inputs)
    assert_same(outputs, interpret_slow(kernel, inputs))
    return outputs["y"].astype(np.float64).tolist()


def unary(expr: str, source: str, result: str, values: list[float]) -> list[float]:
    """`y[i] = expr` over a vector `x`."""
    n = len(values)
    text = f"x, y = In({source}, {n}), Out({result}, {n})\nfor i in range({n}):\n    y[i] = {expr}"
    return run_one(text, x=values)


def test_integer_arithmetic_wraps_in_twos_complement() -> None:
    assert unary("x[i] + x[i]", "i8", "i8", [127, -128, 64, 3]) == [-2, 0, -128, 6]
    assert unary("x[i] * x[i]", "u8", "u8", [16, 255, 3]) == [0, 1, 9]
    assert unary("-x[i]", "i8", "i8", [-128, 5]) == [-128, -5]
    assert unary("abs(x[i])", "i8", "i8", [-128, -5]) == [-128, 5]
    assert unary("x[i] + 1", "i64", "i64", [-5]) == [-4]
    assert unary("x[i] * 3", "i4", "i4", [7, -8, 2]) == [5, -8, 6]


def test_casts_wrap_and_saturating_casts_clamp() -> None:
    assert unary("i8(x[i])", "i32", "i8", [300, -129, 5]) == [44, 127, 5]
    assert unary("sat_i8(x[i])", "i32", "i8", [300, -129, 5]) == [127, -128, 5]
    assert unary("sat_u8(x[i])", "i32", "u8", [300, -129, 5]) == [255, 0, 5]
    assert unary("i8(x[i])", "f32", "i8", [1e9, -1e9, -2.9, 2.9]) == [127, -128, -2, 2]
    inf = float("inf")
    assert unary("i32(x[i])", "f32", "i32", [float("nan"), inf]) == [0, 2**31 - 1]


def test_shifts_and_divisions_round_as_documented() -> None:
    assert unary("x[i] >> 1", "i8", "i8", [-3, 3]) == [-2, 1]
    assert unary("x[i] // 2", "i8", "i8", [-3, 3]) == [-2, 1]
    assert unary("x[i] // -1", "i8", "i8", [-128, 3]) == [-128, -3]
    assert unary("rshift_round(x[i], 2)", "i8", "i8", [-6, -7, 5, 6]) == [-1, -2, 1, 2]
    assert unary("x[i] << 9", "i8", "i8", [1, -1]) == [0, 0]
    assert unary("round_even(x[i])", "f32", "f32", [0.5, 1.5, -2.5]) == [0, 2, -2]


def test_comparison_and_select_choose_by_element() -> None:
    assert unary("select(x[i] > 2, x[i], -x[i])", "i8", "i8", [1, 2, 3]) == [-1, -2, 3]
    assert unary("x[i] == 2", "f32", "i8", [1, 2]) == [0, 1]


def test_padding_gives_its_value_outside_only() -> None:
    assert unary("x.at(i - 1, pad=7)", "i8", "i8", [1, 2]) == [7, 1]
    assert unary("x.at(2*i - 9, pad=-7)", "i8", "i8", [1, 2]) == [-7, -7]


def test_float_sums_run_in_loop_order() -> None:
    text = "x, y = In(f32, 3), Out(f32)\nfor i in range(3):\n    y[()] += x[i]"
    assert run_one(text, x=[1.0, 1e8, -1e8]) == 0.0
    assert run_one(text, x=[1e8, -1e8, 1.0]) == 1.0


def test_a_recurrence_runs_step_by_step() -> None:
    text = "x, y = In(i32, 4), Out(i32, 5)\nfor t in range(4):\n    y[t + 1] = y[t] + x[t]"
    assert run_one(text, x=[1, 2, 3, 4]) == [0, 1, 3, 6, 10]


def test_statements_sharing_a_loop_alternate() -> None:
    text = (
        "x, s, y = In(i32, 3), Temp(i32), Out(i32, 3)\n"
        "for t in range(3):\n    s[()] += x[t]\n    y[t] = s[()]"
    )
    assert run_one(text, x=[1, 2, 3]) == [1, 3, 6]


def test_large_integer_product_is_exact_and_quick() -> None:
    kernel = parse_semantics(
        "A, B, C = In(i16, 65, 700), In(i16, 700, 43), InOut(i32, 65, 43)\n"
        "for i, j, k in grid(65, 43, 700):\n    C[i, j] += i32(A[i, k]) * i32(B[k, j])",
        "product",
    )
    arrays = random_arrays(kernel, 3)
    wide = {name: array.astype(np.int64) for name, array in arrays.items()}
    expected = (wide["C"] + wide["A"] @ wide["B"]).astype(np.int32)
    np.testing.assert_array_equal(interpret(kernel, arrays)["C"], expected)


@pytest.mark.parametrize(
    "factors",
    ["u32(A[i, k] * B[k, j])", "u32(A[i, k]) * u32(B[k, j])", "u32(i32(A[i, k]) * i32(B[k, j]))"],
)
def test_products_that_wrap_inside_a_cast_are_not_multiplied_through(factors: str) -> None:
    text = (
        "A, B, C = In(i8, 9, 70), In(i8, 70, 9), Out(i64, 9, 9)\n"
        f"for i, j, k in grid(9, 9, 70):\n    C[i, j] += i64({factors})"
    )
    kernel = parse_semantics(text, "wrapped")
    arrays = random_arrays(kernel, 4)
    assert_same(interpret(kernel, arrays), interpret_slow(kernel, arrays))


def test_immediates_reach_the_value() -> None:
    text = "x, y = In(i32, 2), Out(i32, 2)\nfor i in range(2):\n    y[i] = x[i] >> shift"
    kernel = parse_semantics(text, "shifted", immediates=("shift",))
    inputs = {"x": np.array([8, -8], np.int32)}
    assert interpret(kernel, inputs, {"shift": 2})["y"].tolist() == [2, -2]
    with pytest.raises(KernelError, match="negative shift count"):
        interpret(kernel, inputs, {"shift": -1})
    with pytest.raises(KernelError, match="needs the immediate 'shift'"):
        interpret(kernel, inputs)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "needs the array 'x'"),
        ({"x": np.zeros(3, np.int8)}, r"array 'x' is int8 \[3\], but the kernel needs int8 \[2\]"),
        ({"x": np.zeros(2, np.int16)}, "is int16"),
        ({"x": np.zeros(2, np.int8), "z": np.zeros(2)}, "takes no array 'z'"),
        ({"x": np.zeros(2, np.int8)}, r"^<text>:3:5: integer division by zero\n  in for i"),
    ],
)
def test_unfit_inputs_are_refused(inputs: dict[str, np.ndarray], message: str) -> None:
    text = "x, y = In(i8, 2), Out(i8, 2)\nfor i in range(2):\n    y[i] = 3 // x[i]"
    kernel = parse_semantics(text, "divide")
    with pytest.raises(KernelError) as caught:
        interpret(kernel, inputs)
    assert re.search(message, str(caught.value))


@pytest.mark.parametrize(
    "body",
    [
        # targets shared by iterations of two loops
        "x, w, y = In(i8, 70), In(i8, 70), Out(i32, 139)\n"
        "for i, j in grid(70, 70):\n    y[i + j] += i32(x[i]) * i32(w[j])",
        # a loop that no factor depends on
        "x, w, y = In(i8, 20), In(i8, 20), Out(i32)\n"
        "for r, i, j in grid(20, 20, 20):\n    y[()] += i32(x[i]) * i32(w[j])",
        # order of float sums over two loops
        "x, w, y = In(f32, 9, 9), In(i8), Out(f32)\nfor i, j in grid(9, 9):\n    y[()] += x[i, j]",
        # the middle statement ties the loop to the last one, not to the first
        "x, w, y = In(i32, 5), InOut(i32, 6), Out(i32, 5)\n"
        "for i in range(5):\n    y[i] += x[i]\n    w[i + 1] = w[i] + x[i]\n    w[i] = y[i]",
        # within one i, later j of the first statement reads what an earlier j of the second wrote
        "x, w, y = In(i32, 4, 4), InOut(i32, 4, 5), Out(i32, 4, 4)\n"
        "for i, j in grid(4, 4):\n    y[i, j] = w[i, j] + x[i, j]\n    w[i, j + 1] = y[i, j]",
    ],
)
def test_delicate_orders_agree_with_single_elements(body: str) -> None:
    kernel = parse_semantics(body, "delicate")
    arrays = random_arrays(kernel, 7)
    assert_same(interpret(kernel, arrays), interpret_slow(kernel, arrays))
