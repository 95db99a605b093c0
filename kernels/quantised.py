"""Products of quantised values: a number stands for scale * (value - zero point).

Shapes: A is [m, k] i8, B is [k, n] i8, bias is [n] i32; x is [b, h, w, c] i8, channels last,
weights are [r, s, c, o] i8. Outside the image x counts as its zero point. Sums wrap in i32; `shift`
bits are shifted out with rounding to nearest, ties up, which stands for the ratio of the scales;
the result's own zero point is added; results saturate.

Source: Jacob et al., Quantization and Training of Neural Networks for Efficient
Integer-Arithmetic-Only Inference, 2018, section 2; zero points as TensorFlow Lite has them:
activations of any, weights of 0 (https://ai.google.dev/edge/litert/models/quantization_spec).
"""

import numpy as np

from isamap.lang import In, Out, Temp, grid, i8, i32, kernel, rshift_round, sat_i8


@kernel
def gemm_zero_points(m=64, n=64, k=64, zero_a=-5, zero_b=3):
    """C = (A - zero_a) (B - zero_b)."""
    A, B, C = In(i8, m, k), In(i8, k, n), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += (i32(A[i, p]) - zero_a) * (i32(B[p, j]) - zero_b)


@kernel
def gemm_quantised(m=64, n=64, k=64, zero_a=-5, zero_c=7, shift=9):
    """C = requantised (A - zero_a) B + bias."""
    A, B, bias, C = In(i8, m, k), In(i8, k, n), In(i32, n), Out(i8, m, n)
    T = Temp(i32, m, n)
    for i, j in grid(m, n):
        T[i, j] = bias[j]
    for i, j, p in grid(m, n, k):
        T[i, j] += (i32(A[i, p]) - zero_a) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = sat_i8(rshift_round(T[i, j], shift) + zero_c)


@kernel
def conv2d_quantised(b=1, h=14, w=14, c=16, o=16, r=3, s=3, pad=1, zero_x=-5, zero_y=7, shift=10):
    """y = requantised convolution of (x - zero_x) + bias."""
    ho, wo = h + 2 * pad - r + 1, w + 2 * pad - s + 1
    x, weights, bias = In(i8, b, h, w, c), In(i8, r, s, c, o), In(i32, o)
    y, T = Out(i8, b, ho, wo, o), Temp(i32, b, ho, wo, o)
    for n, p, q, j, u, v, i in grid(b, ho, wo, o, r, s, c):
        row, column = p + u - pad, q + v - pad
        T[n, p, q, j] += (i32(x.at(n, row, column, i, pad=zero_x)) - zero_x) * i32(
            weights[u, v, i, j]
        )
    for n, p, q, j in grid(b, ho, wo, o):
        y[n, p, q, j] = sat_i8(rshift_round(T[n, p, q, j] + bias[j], shift) + zero_y)


def gemm_zero_points_reference(
    A: np.ndarray, B: np.ndarray, zero_a: int, zero_b: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_zero_points`."""
    product = (A.astype(np.int64) - zero_a) @ (B.astype(np.int64) - zero_b)
    return {"C": product.astype(np.int32)}


def requantise(sums: np.ndarray, shift: int, zero: int) -> np.ndarray:
    """The i8 that stand for sums wrapped to i32; exact in f64."""
    scaled = np.floor(sums.astype(np.int32) / 2.0**shift + 0.5)
    return np.clip(scaled + zero, -128, 127).astype(np.int8)


def gemm_quantised_reference(
    A: np.ndarray, B: np.ndarray, bias: np.ndarray, zero_a: int, zero_c: int, shift: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_quantised`."""
    sums = (A.astype(np.int64) - zero_a) @ B.astype(np.int64) + bias
    return {"C": requantise(sums, shift, zero_c)}


def conv2d_quantised_reference(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, pad: int, zero_x: int, zero_y: int,
    shift: int,
) -> dict[str, np.ndarray]:  # fmt: skip
    """NumPy's word for `conv2d_quantised`: windows of the padded image times the weights."""
    padded = np.pad(x.astype(np.int64) - zero_x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[:2], (1, 2))
    sums = np.einsum("npqiuv,uvij->npqj", windows, weights.astype(np.int64), optimize=True) + bias
    return {"y": requantise(sums, shift, zero_y)}
