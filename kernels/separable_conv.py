"""Depthwise-separable convolution: one filter per channel, then a matrix product over channels.

Shapes: x is [n, h, w, c] i8, depthwise weights are [r, s, c] i8, pointwise weights are [c, k] i8,
y is [n, ho, wo, k] i32, where ho = (h + 2*pad - r) // stride + 1 and likewise wo. Outside the image
x counts as 0. Products and sums wrap in i32; nothing is rounded in between.
"""

import numpy as np

from isamap.lang import In, InOut, Temp, grid, i8, i32, kernel


@kernel
def separable_conv(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1):
    """y += x through both filters, as two statements."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, depthwise, pointwise = In(i8, n, h, w, c), In(i8, r, s, c), In(i8, c, k)
    y, T = InOut(i32, n, ho, wo, k), Temp(i32, n, ho, wo, c)
    for b, p, q, i, u, v in grid(n, ho, wo, c, r, s):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, i] += i32(x.at(b, row, column, i, pad=0)) * i32(depthwise[u, v, i])
    for b, p, q, o, i in grid(n, ho, wo, k, c):
        y[b, p, q, o] += T[b, p, q, i] * i32(pointwise[i, o])


@kernel
def separable_conv_fused(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1):
    """y += x through both filters, as one sum of products of three."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, depthwise, pointwise = In(i8, n, h, w, c), In(i8, r, s, c), In(i8, c, k)
    y = InOut(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u - pad, q * stride + v - pad
        y[b, p, q, o] += (
            i32(x.at(b, row, column, i, pad=0)) * i32(depthwise[u, v, i]) * i32(pointwise[i, o])
        )


def separable_conv_reference(
    x: np.ndarray,
    depthwise: np.ndarray,
    pointwise: np.ndarray,
    y: np.ndarray,
    stride: int,
    pad: int,
) -> dict[str, np.ndarray]:
    """NumPy's word for both: windows times filters, then a matrix product."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0))).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, depthwise.shape[:2], (1, 2))
    middle = np.einsum(
        "bpqiuv,uvi->bpqi", windows[:, ::stride, ::stride], depthwise.astype(np.int64)
    )
    return {"y": (y + middle @ pointwise.astype(np.int64)).astype(np.int32)}


separable_conv_fused_reference = separable_conv_reference
