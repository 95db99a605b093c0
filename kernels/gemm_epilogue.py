"""Matrix product with bias, relu and requantisation to i8: one meaning in several shapes.

Shapes: A is [m, k] i8, B is [k, n] i8, bias is [n] i32, C is [m, n] i8. Sums wrap in i32; `shift`
bits are shifted out with rounding to nearest, ties up; results saturate.
"""

import numpy as np

from isamap.lang import (
    In,
    Out,
    Temp,
    f32,
    grid,
    i8,
    i32,
    kernel,
    relu,
    round_even,
    rshift_round,
    sat_i8,
)


@kernel
def gemm_requantise(m=64, n=64, k=64, shift=9):
    """C = requantised relu(A B + bias), in two statements."""
    A, B, bias, C = In(i8, m, k), In(i8, k, n), In(i32, n), Out(i8, m, n)
    T = Temp(i32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = sat_i8(rshift_round(relu(T[i, j] + bias[j]), shift))


@kernel
def gemm_requantise_bias_first(m=64, n=64, k=64, shift=9):
    """C = requantised relu(A B + bias), the sums starting at the bias."""
    A, B, bias, C = In(i8, m, k), In(i8, k, n), In(i32, n), Out(i8, m, n)
    T = Temp(i32, m, n)
    for i, j in grid(m, n):
        T[i, j] = bias[j]
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = sat_i8(rshift_round(relu(T[i, j]), shift))


@kernel
def gemm_requantise_steps(m=64, n=64, k=64, shift=9):
    """C = requantised relu(A B + bias), one operation per statement."""
    A, B, bias, C = In(i8, m, k), In(i8, k, n), In(i32, n), Out(i8, m, n)
    T, biased, positive = Temp(i32, m, n), Temp(i32, m, n), Temp(i32, m, n)
    shifted = Temp(i32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        biased[i, j] = T[i, j] + bias[j]
    for i, j in grid(m, n):
        positive[i, j] = relu(biased[i, j])
    for i, j in grid(m, n):
        shifted[i, j] = rshift_round(positive[i, j], shift)
    for i, j in grid(m, n):
        C[i, j] = sat_i8(shifted[i, j])


@kernel
def gemm_requantise_scaled(m=64, n=64, k=64):
    """C = (A B + bias) * 0.002 in f32, rounded to nearest, ties to even."""
    A, B, bias, C = In(i8, m, k), In(i8, k, n), In(i32, n), Out(i8, m, n)
    T = Temp(i32, m, n)
    for i, j in grid(m, n):
        T[i, j] = bias[j]
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = sat_i8(round_even(f32(T[i, j]) * 0.002))


def sums(A: np.ndarray, B: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """A B + bias, wrapped to i32."""
    return (A.astype(np.int64) @ B.astype(np.int64) + bias).astype(np.int32)


def gemm_requantise_reference(
    A: np.ndarray, B: np.ndarray, bias: np.ndarray, shift: int
) -> dict[str, np.ndarray]:
    """NumPy's word for the three forms that shift."""
    scaled = np.maximum(sums(A, B, bias), 0) / 2.0**shift  # exact in f64
    return {"C": np.minimum(np.floor(scaled + 0.5), 127).astype(np.int8)}


gemm_requantise_bias_first_reference = gemm_requantise_reference
gemm_requantise_steps_reference = gemm_requantise_reference


def gemm_requantise_scaled_reference(
    A: np.ndarray, B: np.ndarray, bias: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_requantise_scaled`."""
    scaled = sums(A, B, bias).astype(np.float32) * np.float32(0.002)
    return {"C": np.clip(np.rint(scaled), -128, 127).astype(np.int8)}
