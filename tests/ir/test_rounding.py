"""Bounds on rounding errors hold, and are not far above what happens.

In: operations and kernels. Out: verdicts. Not its job: what the operations mean.
"""

import sys
from dataclasses import replace
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from isamap.ir import (
    FLOAT_LIMITS,
    Kernel,
    interpret,
    is_float,
    load_kernel,
    load_reference,
    numpy_dtype,
    parse_semantics,
    random_arrays,
    rounding_errors,
)
from isamap.ir.array_ops import apply_op
from isamap.ir.propagate import propagate
from isamap.ir.rounding import _Analysis
from tests.ir.float_bounds import BOUNDS
from tests.ir.kernel_sizes import ODD_SIZES, Sizes

KERNELS = Path(__file__).parents[2] / "kernels"
FLOAT_CASES = [(f, n, sizes) for (f, n), every in ODD_SIZES.items() for sizes in every[1:]
               if n in BOUNDS]  # fmt: skip


@pytest.mark.parametrize("name", FLOAT_LIMITS)
def test_limits_are_those_of_the_type(name: str) -> None:
    found, row = ml_dtypes.finfo(numpy_dtype(name)), FLOAT_LIMITS[name]
    assert row.eps == float(found.eps)
    assert row.smallest == float(found.smallest_subnormal)
    assert row.largest == float(found.max)


def sample(rng: np.random.Generator, op: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Values, and errors of which some are 0; sqrt and division keep away from 0."""
    values = rng.standard_normal(count) * 4
    if op in ("sqrt", "/"):
        values = np.abs(values) + 0.5
    errors = rng.uniform(0, 0.1, count) * rng.integers(0, 2, count)
    return values.astype(np.float32).astype(np.float64), errors


@pytest.mark.parametrize(
    ("op", "num_args"),
    [("+", 2), ("-", 2), ("*", 2), ("/", 2), ("max", 2), ("min", 2), ("neg", 1), ("abs", 1),
     ("relu", 1), ("exp", 1), ("tanh", 1), ("sigmoid", 1), ("sqrt", 1), ("round_even", 1)],
)  # fmt: skip
def test_an_operation_moves_errors_no_farther_than_said(op: str, num_args: int) -> None:
    rng = np.random.default_rng(0)
    exact, own, seen, parts = [], [], [], []
    for _ in range(num_args):
        value, error = sample(rng, op, 4000)
        truth = value + error * rng.choice([-1.0, 0.3, 1.0], 4000)
        other = truth + error * rng.choice([-1.0, 0.3, 1.0], 4000)
        parts.append((value.astype(np.float32), error))
        exact.append(truth)
        own.append(np.where(error > 0, other, value).astype(np.float32))
        seen.append(value.astype(np.float32))
        exact[-1] = np.where(error > 0, truth, value)
    observed = apply_op(op, seen, "f32", "f32")
    bound = propagate(op, parts, observed, "f32", "f32")
    truth = apply_op(op, exact, "f64", "f64")
    slack = 1e-6 * (1 + np.abs(truth)) * (sum(error for _, error in parts) > 0)  # `own` in f32
    assert np.all(np.abs(apply_op(op, own, "f32", "f32") - truth) <= bound + slack)
    assert np.all(np.abs(observed - truth) <= bound + slack)
    assert np.all(np.isfinite(bound))


def widened(kernel: Kernel) -> Kernel:
    """The same in f64, which stands for exact arithmetic."""
    return replace(
        kernel,
        buffers=tuple(replace(b, dtype="f64") if is_float(b.dtype) else b for b in kernel.buffers),
    )


@pytest.mark.parametrize(("file", "name", "sizes"), FLOAT_CASES)
def test_kernels_stay_within_their_bounds(file: str, name: str, sizes: Sizes) -> None:
    kernel = load_kernel(KERNELS / f"{file}.py", sizes, name)
    arrays = random_arrays(kernel, seed=3)
    errors, found = rounding_errors(kernel, arrays), interpret(kernel, arrays)
    for output, array in found.items():
        assert errors[output].shape == array.shape
        assert np.isfinite(errors[output]).all()
        assert errors[output].max() <= 8 * BOUNDS[name](arrays)
        far = np.abs(array.astype(np.float64) - reference(file, name, sizes, arrays)[output])
        assert np.all(far <= 2 * errors[output])


def reference(
    file: str, name: str, sizes: Sizes, arrays: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The kernel file's own NumPy code."""
    found = load_reference(KERNELS / f"{file}.py", name, sizes)
    assert found is not None
    return {key: np.asarray(array, np.float64) for key, array in found(**arrays).items()}


@pytest.mark.parametrize("high, is_bounded", [(99, True), (2**20, False)])
def test_integers_that_floats_became_are_multiplied_as_matrices(
    high: int, is_bounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "x, W, y, q = In(f32, 6), In(i32, 6, 7), Out(i32, 7), Temp(i32, 6)\n"
        "for k in range(6):\n    q[k] = i32(round_even(x[k] * 3.0))\n"
        "for j, k in grid(7, 6):\n    y[j] += q[k] * W[k, j]\n"
    )
    kernel = parse_semantics(text, "rounded")
    halves = ((np.arange(6) * 500 + 0.5) / 3).astype(np.float32)  # either way, where rounded
    weights = np.random.default_rng(0).integers(high // 2, high, (6, 7)).astype(np.int32)
    arrays = {"x": halves, "W": weights}
    found = rounding_errors(kernel, arrays)["y"]
    monkeypatch.setattr(_Analysis, "_measure_products", lambda *_: None)
    assert np.array_equal(found, rounding_errors(kernel, arrays)["y"])
    assert (found > 0).all() and np.isfinite(found).all() == is_bounded


def test_any_order_of_a_sum_is_within_the_bound() -> None:
    text = "x, y = In(f32, 3, 500), Out(f32, 3)\nfor i, j in grid(3, 500):\n    y[i] += x[i, j]\n"
    kernel = parse_semantics(text, "total")
    arrays = random_arrays(kernel, seed=0)
    bound = rounding_errors(kernel, arrays)["y"]
    exact = arrays["x"].astype(np.float64).sum(axis=1)
    assert np.all(bound < 500 * 500 * 2.0**-23)
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(500)
        shuffled = interpret(kernel, {"x": np.ascontiguousarray(arrays["x"][:, order])})["y"]
        assert np.all(np.abs(shuffled - exact) <= bound)


PRODUCTS = """
a, b, c = In(f32, 9, 40), In(bf16, 40, 7), Temp(f32, 9, 40)
y = InOut(f32, 9, 7)
for i, k in grid(9, 40):
  c[i, k] = a[i, k] / 3.0
for i, k, j in grid(9, 40, 7):
  y[i, j] += c[i, k] * f32(b[k, j])
for i, j, k in grid(9, 7, 40):
  y[i, j] += f32(b.at(k - 1, j, pad=0)) * c[i, k]
for i, j, k in grid(9, 7, 40):
  y[i, j] += c[i, k] * c[i, k]
for i, j, k in grid(9, 7, 40):
  y[i, j] += f32(b[k, j]) * 0.1
"""


def test_products_are_summed_as_matrices_to_the_same_bounds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = parse_semantics(PRODUCTS, "products")
    arrays = random_arrays(kernel, seed=0)
    found = rounding_errors(kernel, arrays)["y"]
    analysis = sys.modules["isamap.ir.rounding"]._Analysis
    monkeypatch.setattr(analysis, "_measure_products", lambda *_: None)
    one_by_one = rounding_errors(kernel, arrays)["y"]
    np.testing.assert_allclose(found, one_by_one, rtol=2**-23)  # whose products are rounded
    assert np.all(one_by_one > 0)


def test_products_that_may_overflow_have_no_bound() -> None:
    text = "x, z, y = In(f32, 9), In(f32, 9), Out(f32, 1)\n"
    text += "for i in range(9):\n    y[0] += (x[i] / 3.0) * z[i]\n"
    arrays = {name: np.full(9, 1e20, np.float32) for name in ("x", "z")}
    assert rounding_errors(parse_semantics(text, "large"), arrays)["y"] == np.inf


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("y[i] = i32(round_even(x[i] / 3.0))", 2.0),
        ("y[i] = i32(round_even(x[i] / 4.0))", 0.0),  # 3/8 and 9/8, far from halves
        ("y[i] = i32(x[i] / 3.0)", 0.0),  # 1/2 and 3/2, far from whole numbers
        ("y[i] = i32(x[i] / 1.5)", 1.0),
        ("y[i] = i32(sat_i8(x[i] / 1.5))", 1.0),
        ("y[i] = i32(x[i] / 3.0 < 0.5)", 1.0),
        ("y[i] = i32(x[i])", 0.0),
        ("y[i] = i32(round_even(x[i] / 3.0)) << 3", np.inf),
        ("y[i] = i32(exp(x[i] / (x[i] / 3.0 - x[i] / 3.0)))", np.inf),
    ],
)
def test_rounding_to_integers_and_what_has_no_bound(body: str, expected: float) -> None:
    text = f"x, y = In(f32, 2), Out(i32, 2)\nfor i in range(2):\n    {body}\n"
    kernel = parse_semantics(text, "whole")
    bound = rounding_errors(kernel, {"x": np.array([1.5, 4.5], np.float32)})["y"]
    assert bound.max() == pytest.approx(expected, abs=1e-5)


def test_integers_have_no_errors() -> None:
    kernel = load_kernel(KERNELS / "gemm_epilogue.py", {"m": 5, "n": 3, "k": 7})
    assert not rounding_errors(kernel, random_arrays(kernel))["C"].any()
