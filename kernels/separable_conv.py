"""Depthwise-separable convolution: one filter per channel, then a matrix product over channels.

Shapes: x is [n, h, w, c] i8, depthwise weights are [r, s, c] i8, pointwise weights are [c, k] i8,
y is [n, ho, wo, k] i32, where ho = (h + 2*pad - r) // stride + 1 and likewise wo. Outside the image
x counts as 0. Products and sums wrap in i32; nothing is rounded in between.
`separable_conv_f32`: all is f32. `separable_conv_bf16`: x and weights are bf16, sums f32, what is
in between is rounded to bf16.
"""

import numpy as np

from isamap.lang import In, InOut, Temp, bf16, f32, grid, i8, i32, kernel


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


@kernel
def separable_conv_f32(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1):
    """y += x through both filters, as two statements."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, depthwise, pointwise = In(f32, n, h, w, c), In(f32, r, s, c), In(f32, c, k)
    y, T = InOut(f32, n, ho, wo, k), Temp(f32, n, ho, wo, c)
    for b, p, q, i, u, v in grid(n, ho, wo, c, r, s):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, i] += x.at(b, row, column, i, pad=0) * depthwise[u, v, i]
    for b, p, q, o, i in grid(n, ho, wo, k, c):
        y[b, p, q, o] += T[b, p, q, i] * pointwise[i, o]


@kernel
def separable_conv_bf16(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1):
    """y += x through both filters, as three statements."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, depthwise, pointwise = In(bf16, n, h, w, c), In(bf16, r, s, c), In(bf16, c, k)
    y, T, B = InOut(f32, n, ho, wo, k), Temp(f32, n, ho, wo, c), Temp(bf16, n, ho, wo, c)
    for b, p, q, i, u, v in grid(n, ho, wo, c, r, s):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, i] += f32(x.at(b, row, column, i, pad=0)) * f32(depthwise[u, v, i])
    for b, p, q, i in grid(n, ho, wo, c):
        B[b, p, q, i] = bf16(T[b, p, q, i])
    for b, p, q, o, i in grid(n, ho, wo, k, c):
        y[b, p, q, o] += f32(B[b, p, q, i]) * f32(pointwise[i, o])


def filter_channels(
    x: np.ndarray, depthwise: np.ndarray, stride: int, pad: int, dtype: type
) -> np.ndarray:
    """Windows times filters, channel by channel, in `dtype`."""
    padded = np.pad(x.astype(dtype), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, depthwise.shape[:2], (1, 2))
    return np.einsum("bpqiuv,uvi->bpqi", windows[:, ::stride, ::stride], depthwise.astype(dtype))


def separable_conv_reference(
    x: np.ndarray,
    depthwise: np.ndarray,
    pointwise: np.ndarray,
    y: np.ndarray,
    stride: int,
    pad: int,
) -> dict[str, np.ndarray]:
    """NumPy's word for both i8 forms."""
    middle = filter_channels(x, depthwise, stride, pad, np.int64)
    return {"y": (y + middle @ pointwise.astype(np.int64)).astype(np.int32)}


separable_conv_fused_reference = separable_conv_reference


def separable_conv_f32_reference(
    x: np.ndarray,
    depthwise: np.ndarray,
    pointwise: np.ndarray,
    y: np.ndarray,
    stride: int,
    pad: int,
) -> dict[str, np.ndarray]:
    """NumPy's word for `separable_conv_f32`, in f64."""
    middle = filter_channels(x, depthwise, stride, pad, np.float64)
    return {"y": (y + middle @ pointwise.astype(np.float64)).astype(np.float32)}


def separable_conv_bf16_reference(
    x: np.ndarray,
    depthwise: np.ndarray,
    pointwise: np.ndarray,
    y: np.ndarray,
    stride: int,
    pad: int,
) -> dict[str, np.ndarray]:
    """NumPy's word for `separable_conv_bf16`, in f64 but for the rounding in between."""
    middle = filter_channels(x, depthwise, stride, pad, np.float64).astype(x.dtype)
    total = y + middle.astype(np.float64) @ pointwise.astype(np.float64)
    return {"y": total.astype(np.float32)}
