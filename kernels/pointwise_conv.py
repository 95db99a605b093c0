"""Pointwise convolution: a matrix product over channels at every pixel.

Shapes: x is [n, h, w, c] i8, weights are [c, k] i8, y is [n, h, w, k] i32. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def pointwise_conv(n=1, h=14, w=14, c=16, k=16):
    """y += x times the weights at every pixel."""
    x, weights, y = In(i8, n, h, w, c), In(i8, c, k), InOut(i32, n, h, w, k)
    for b, p, q, o, i in grid(n, h, w, k, c):
        y[b, p, q, o] += i32(x[b, p, q, i]) * i32(weights[i, o])


def pointwise_conv_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `pointwise_conv`."""
    return {"y": (y + x.astype(np.int64) @ weights.astype(np.int64)).astype(np.int32)}
