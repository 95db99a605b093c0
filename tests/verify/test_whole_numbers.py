"""Kernels of floats in integers: equal on whole inputs, and none where something may be rounded."""

import numpy as np
import pytest

from isamap.ir import interpret, load_kernel, numpy_dtype, parse_semantics
from isamap.resources import find_kernel
from isamap.verify import whole_arrays, whole_numbers

WHOLE = (
    ("gemm:gemm_f32", {"m": 5, "n": 7, "k": 300}),
    ("gemm:gemm_bf16", {"m": 5, "n": 7, "k": 9}),
    ("gemm:gemm", {"m": 5, "n": 7, "k": 9}),
    ("conv2d:conv2d_f32", {"h": 6, "w": 5, "c": 3, "k": 4, "stride": 2}),
    ("transposed_conv:transposed_conv", {}),
    ("gemm_epilogue:gemm_requantise", {"m": 5, "n": 7, "k": 9}),
)


@pytest.mark.parametrize("text, sizes", WHOLE)
def test_integers_say_the_same_on_whole_inputs(text: str, sizes: dict[str, int]) -> None:
    path, name = find_kernel(text)
    kernel = load_kernel(path, sizes, name)
    exact = whole_numbers(kernel)
    assert exact is not None
    arrays = whole_arrays(kernel, 1)
    wide = {n: array.astype(numpy_dtype(exact.buffer(n).dtype)) for n, array in arrays.items()}
    found = interpret(exact, wide)
    for n, array in interpret(kernel, arrays).items():
        assert np.array_equal(array.astype(np.float64), found[n].astype(np.float64))


ROUNDED = {
    "a sum that grows too large": """
A, S = In(f32, 600000), Out(f32, 1)
for i in range(600000):
  S[0] += A[i] * A[i]
""",
    "a sum in a narrow type": """
A, S = In(bf16, 60), Out(bf16, 1)
for i in range(60):
  S[0] += A[i]
""",
    "a window's sums, more than one loop of the target": """
A, S = In(f16, 600), Out(f16, 1000)
for i, j in grid(500, 500):
  S[i + j] += A[i]
""",
    "a quotient": """
A, S = In(f32, 6), Out(f32, 6)
for i in range(6):
  S[i] = A[i] / 3
""",
    "half": """
A, S = In(f32, 6), Out(f32, 6)
for i in range(6):
  S[i] = A[i] + 0.5
""",
    "what grows from step to step": """
S = InOut(f32, 60)
for i in range(59):
  S[i + 1] = S[i] * S[i]
""",
    "an integer of a float": """
A, S = In(f32, 6), Out(i32, 6)
for i in range(6):
  S[i] = i32(A[i])
""",
    "a float of a large integer": """
A, S = In(i32, 6), Out(f32, 6)
for i in range(6):
  S[i] = f32(A[i])
""",
}


@pytest.mark.parametrize("text", ROUNDED.values(), ids=ROUNDED)
def test_what_may_be_rounded_has_no_form_in_integers(text: str) -> None:
    assert whole_numbers(parse_semantics(text, "rounded")) is None
