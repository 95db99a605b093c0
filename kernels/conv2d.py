"""Convolution of images, channels last.

Shapes: x is [n, h, w, c] i8, weights are [r, s, c, k] i8, y is [n, ho, wo, k] i32, where
ho = (h + 2*pad - dilation*(r - 1) - 1) // stride + 1 and likewise wo. Outside the image x counts
as 0. Sums wrap in i32. In `conv2d_f32` all is f32; in `conv2d_bf16` x and weights are bf16,
y and sums are f32.
"""

import numpy as np

from isamap.lang import In, InOut, bf16, f32, grid, i8, i32, kernel


@kernel
def conv2d(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1, dilation=1):
    """y += convolution of x with the weights."""
    ho = (h + 2 * pad - dilation * (r - 1) - 1) // stride + 1
    wo = (w + 2 * pad - dilation * (s - 1) - 1) // stride + 1
    x, weights, y = In(i8, n, h, w, c), In(i8, r, s, c, k), InOut(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u * dilation - pad, q * stride + v * dilation - pad
        y[b, p, q, o] += i32(x.at(b, row, column, i, pad=0)) * i32(weights[u, v, i, o])


@kernel
def conv2d_f32(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1, dilation=1):
    """y += convolution of x with the weights."""
    ho = (h + 2 * pad - dilation * (r - 1) - 1) // stride + 1
    wo = (w + 2 * pad - dilation * (s - 1) - 1) // stride + 1
    x, weights, y = In(f32, n, h, w, c), In(f32, r, s, c, k), InOut(f32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u * dilation - pad, q * stride + v * dilation - pad
        y[b, p, q, o] += x.at(b, row, column, i, pad=0) * weights[u, v, i, o]


@kernel
def conv2d_bf16(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1, dilation=1):
    """y += convolution of x with the weights, products and sums in f32."""
    ho = (h + 2 * pad - dilation * (r - 1) - 1) // stride + 1
    wo = (w + 2 * pad - dilation * (s - 1) - 1) // stride + 1
    x, weights, y = In(bf16, n, h, w, c), In(bf16, r, s, c, k), InOut(f32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u * dilation - pad, q * stride + v * dilation - pad
        y[b, p, q, o] += f32(x.at(b, row, column, i, pad=0)) * f32(weights[u, v, i, o])


def convolve(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int, dilation: int
) -> np.ndarray:
    """One matrix product per position of the filter, in the type of y."""
    _, ho, wo, _ = y.shape
    r, s, _, _ = weights.shape
    padded = np.pad(x.astype(y.dtype), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    total = y
    for u in range(r):
        for v in range(s):
            top, left = u * dilation, v * dilation
            rows = slice(top, top + (ho - 1) * stride + 1, stride)
            columns = slice(left, left + (wo - 1) * stride + 1, stride)
            total = total + padded[:, rows, columns] @ weights[u, v].astype(y.dtype)
    return total


def conv2d_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int, dilation: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `conv2d`, in i64."""
    return {"y": convolve(x, weights, y.astype(np.int64), stride, pad, dilation).astype(np.int32)}


def conv2d_f32_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int, dilation: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `conv2d_f32`, in f64."""
    wide = y.astype(np.float64)
    return {"y": convolve(x, weights, wide, stride, pad, dilation).astype(np.float32)}


conv2d_bf16_reference = conv2d_f32_reference
