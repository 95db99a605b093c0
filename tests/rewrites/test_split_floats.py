"""Products of f32 from bf16."""

import numpy as np
import pytest

from isamap.errors import KernelError
from isamap.ir import interpret, parse_semantics, pretty, random_arrays
from isamap.rewrites import split_floats
from tests.rewrites.keeps_meaning import assert_same_meaning, read

GEMM = """
A, B, C = In(f32, 3, 5), In(f32, 5, 4), InOut(f32, 3, 4)
for i, j, k in grid(3, 4, 5):
  C[i, j] += A[i, k] * B[k, j]
"""


@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e15])
@pytest.mark.parametrize("seed", range(4))
def test_bf16_parts_stay_within_the_derived_bound(scale: float, seed: int) -> None:
    kernel = read(GEMM)
    arrays = random_arrays(kernel, seed)
    for name in "AC":
        arrays[name] = (arrays[name] * np.float32(scale)).astype(np.float32)
    found = interpret(split_floats(kernel, 0), arrays)["C"].astype(np.float64)
    A, B, C = (arrays[name].astype(np.float64) for name in "ABC")
    magnitude = np.abs(C) + np.abs(A) @ np.abs(B)
    bound = (3.01 * 2**-16 + 3.1 * 6 * 2**-24) * magnitude  # K = 5, as the docstring derives
    error = np.abs(found - (C + A @ B))
    assert (error <= bound).all()
    assert error.max() > 0


def test_a_missing_float_part_breaks_the_bound() -> None:
    kernel = read(GEMM)
    lines = pretty(split_floats(kernel, 0)).splitlines()
    place = next(n for n, line in enumerate(lines) if "f32(A_low" in line)
    wrong = parse_semantics("\n".join(lines[: place - 1] + lines[place + 1 :]), "wrong")
    assert_same_meaning(split_floats(kernel, 0), kernel, tolerance=1e-4)
    with pytest.raises(AssertionError):
        assert_same_meaning(wrong, kernel, tolerance=1e-4)


@pytest.mark.parametrize(
    "text, message",
    [
        (GEMM.replace("+= ", "= "), "updates by '='"),
        (GEMM.replace("f32", "f64"), "no sum of products of f32"),
        (GEMM.replace("A[i, k]", "3 * A[i, k]"), "no sum of products of f32"),
    ],
)
def test_other_products_are_refused(text: str, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        split_floats(read(text), 0)
