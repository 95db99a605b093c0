"""Convolution of sequences, channels last.

Shapes: x is [n, w, c] i8, weights are [s, c, k] i8, y is [n, wo, k] i32, where
wo = (w + 2*pad - dilation*(s - 1) - 1) // stride + 1. Outside the sequence x counts as 0; `causal`
pads by dilation*(s - 1) in front only, so that wo = w. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def conv1d(n=1, w=64, c=16, k=16, s=3, stride=1, pad=1, dilation=1):
    """y += convolution of x with the weights."""
    wo = (w + 2 * pad - dilation * (s - 1) - 1) // stride + 1
    x, weights, y = In(i8, n, w, c), In(i8, s, c, k), InOut(i32, n, wo, k)
    for b, q, o, v, i in grid(n, wo, k, s, c):
        column = q * stride + v * dilation - pad
        y[b, q, o] += i32(x.at(b, column, i, pad=0)) * i32(weights[v, i, o])


@kernel
def causal_conv1d(n=1, w=64, c=16, k=16, s=3, dilation=2):
    """y += convolution of x with the weights, of the present and the past only."""
    x, weights, y = In(i8, n, w, c), In(i8, s, c, k), InOut(i32, n, w, k)
    for b, q, o, v, i in grid(n, w, k, s, c):
        column = q + (v - s + 1) * dilation
        y[b, q, o] += i32(x.at(b, column, i, pad=0)) * i32(weights[v, i, o])


def correlate(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, dilation: int
) -> np.ndarray:
    """y plus the convolution of an already padded x: one matrix product per filter position."""
    total, last = y.astype(np.int64), (y.shape[1] - 1) * stride
    for v in range(weights.shape[0]):
        columns = slice(v * dilation, v * dilation + last + 1, stride)
        total = total + x[:, columns].astype(np.int64) @ weights[v].astype(np.int64)
    return total.astype(np.int32)


def conv1d_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int, dilation: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `conv1d`."""
    padded = np.pad(x, ((0, 0), (pad, pad), (0, 0)))
    return {"y": correlate(padded, weights, y, stride, dilation)}


def causal_conv1d_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, s: int, dilation: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `causal_conv1d`."""
    padded = np.pad(x, ((0, 0), (dilation * (s - 1), 0), (0, 0)))
    return {"y": correlate(padded, weights, y, 1, dilation)}
