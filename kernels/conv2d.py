"""Convolution of images, channels last.

Shapes: x is [n, h, w, c] i8, weights are [r, s, c, k] i8, y is [n, ho, wo, k] i32, where
ho = (h + 2*pad - dilation*(r - 1) - 1) // stride + 1 and likewise wo. Outside the image x counts
as 0. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def conv2d(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1, dilation=1):
    """y += convolution of x with the weights."""
    ho = (h + 2 * pad - dilation * (r - 1) - 1) // stride + 1
    wo = (w + 2 * pad - dilation * (s - 1) - 1) // stride + 1
    x, weights, y = In(i8, n, h, w, c), In(i8, r, s, c, k), InOut(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u * dilation - pad, q * stride + v * dilation - pad
        y[b, p, q, o] += i32(x.at(b, row, column, i, pad=0)) * i32(weights[u, v, i, o])


def conv2d_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int, dilation: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `conv2d`: one matrix product per position of the filter."""
    _, ho, wo, _ = y.shape
    r, s, _, _ = weights.shape
    padded = np.pad(x.astype(np.int64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    total = y.astype(np.int64)
    for u in range(r):
        for v in range(s):
            top, left = u * dilation, v * dilation
            rows = slice(top, top + (ho - 1) * stride + 1, stride)
            columns = slice(left, left + (wo - 1) * stride + 1, stride)
            total = total + padded[:, rows, columns] @ weights[u, v].astype(np.int64)
    return {"y": total.astype(np.int32)}
