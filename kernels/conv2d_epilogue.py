"""Convolution with bias, relu and requantisation to i8, channels last.

Shapes: x is [n, h, w, c] i8, weights are [r, s, c, k] i8, bias is [k] i32, y is [n, ho, wo, k] i8,
where ho = (h + 2*pad - r) // stride + 1 and likewise wo. Outside the image x counts as 0. Sums wrap
in i32; `shift` bits are shifted out with rounding to nearest, ties up; results saturate.
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
def conv2d_requantise(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1, shift=10):
    """y = requantised relu(convolution + bias), in two statements."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, weights, bias = In(i8, n, h, w, c), In(i8, r, s, c, k), In(i32, k)
    y, T = Out(i8, n, ho, wo, k), Temp(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, o] += i32(x.at(b, row, column, i, pad=0)) * i32(weights[u, v, i, o])
    for b, p, q, o in grid(n, ho, wo, k):
        y[b, p, q, o] = sat_i8(rshift_round(relu(T[b, p, q, o] + bias[o]), shift))


@kernel
def conv2d_requantise_bias_first(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1, shift=10):
    """y = requantised relu(convolution + bias), the sums starting at the bias."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, weights, bias = In(i8, n, h, w, c), In(i8, r, s, c, k), In(i32, k)
    y, T = Out(i8, n, ho, wo, k), Temp(i32, n, ho, wo, k)
    for b, p, q, o in grid(n, ho, wo, k):
        T[b, p, q, o] = bias[o]
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, o] += i32(x.at(b, row, column, i, pad=0)) * i32(weights[u, v, i, o])
    for b, p, q, o in grid(n, ho, wo, k):
        y[b, p, q, o] = sat_i8(rshift_round(relu(T[b, p, q, o]), shift))


@kernel
def conv2d_requantise_scaled(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1):
    """y = relu(convolution + bias) * 0.001 in f32, rounded to nearest, ties to even."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, weights, bias = In(i8, n, h, w, c), In(i8, r, s, c, k), In(i32, k)
    y, T = Out(i8, n, ho, wo, k), Temp(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, o] += i32(x.at(b, row, column, i, pad=0)) * i32(weights[u, v, i, o])
    for b, p, q, o in grid(n, ho, wo, k):
        y[b, p, q, o] = sat_i8(round_even(f32(relu(T[b, p, q, o] + bias[o])) * 0.001))


def sums(x: np.ndarray, weights: np.ndarray, bias: np.ndarray, stride: int, pad: int) -> np.ndarray:
    """Convolution + bias, wrapped to i32: windows of the padded image times the weights."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0))).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[:2], (1, 2))
    product = np.einsum(
        "bpqiuv,uvio->bpqo", windows[:, ::stride, ::stride], weights.astype(np.int64),
        optimize=True,
    )  # fmt: skip
    return (product + bias).astype(np.int32)


def conv2d_requantise_reference(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, stride: int, pad: int, shift: int
) -> dict[str, np.ndarray]:
    """NumPy's word for the two that shift."""
    scaled = np.maximum(sums(x, weights, bias, stride, pad), 0) / 2.0**shift  # exact in f64
    return {"y": np.minimum(np.floor(scaled + 0.5), 127).astype(np.int8)}


conv2d_requantise_bias_first_reference = conv2d_requantise_reference


def conv2d_requantise_scaled_reference(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `conv2d_requantise_scaled`."""
    positive = np.maximum(sums(x, weights, bias, stride, pad), 0)
    scaled = positive.astype(np.float32) * np.float32(0.001)
    return {"y": np.minimum(np.rint(scaled), 127).astype(np.int8)}
