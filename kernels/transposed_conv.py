"""Transposed convolution: every input element adds a scaled filter to the output.

Shapes: x is [n, h, w, c] i8, weights are [r, s, c, k] i8, y is [n, ho, wo, k] i32, where
ho = (h - 1)*stride + r and likewise wo; `padded` cuts pad elements off at every border. Sums wrap
in i32.
"""

import numpy as np

from isamap.lang import In, InOut, Out, Temp, ceildiv, grid, i8, i32, kernel


@kernel
def transposed_conv(n=1, h=7, w=7, c=16, k=16, r=4, s=4, stride=2):
    """y += x scattered: outputs of neighbouring inputs overlap where stride < r."""
    ho = (h - 1) * stride + r
    wo = (w - 1) * stride + s
    x, weights, y = In(i8, n, h, w, c), In(i8, r, s, c, k), InOut(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, h, w, k, r, s, c):
        y[b, p * stride + u, q * stride + v, o] += i32(x[b, p, q, i]) * i32(weights[u, v, i, o])


@kernel
def transposed_conv_padded(n=1, h=7, w=7, c=16, k=16, r=4, s=4, stride=2, pad=1):
    """y = x scattered, without `pad` rows and columns at each border."""
    ho = (h - 1) * stride + r - 2 * pad
    wo = (w - 1) * stride + s - 2 * pad
    x, weights, y = In(i8, n, h, w, c), In(i8, r, s, c, k), Out(i32, n, ho, wo, k)
    T = Temp(i32, n, ho + 2 * pad, wo + 2 * pad, k)
    for b, p, q, o, u, v, i in grid(n, h, w, k, r, s, c):
        T[b, p * stride + u, q * stride + v, o] += i32(x[b, p, q, i]) * i32(weights[u, v, i, o])
    for b, p, q, o in grid(n, ho, wo, k):
        y[b, p, q, o] = T[b, p + pad, q + pad, o]


@kernel
def transposed_conv_gathered(n=1, h=7, w=7, c=16, k=16, r=4, s=4, stride=2):
    """y += x gathered: a plain convolution for each of the stride*stride output phases.

    y has (h + ceil(r / stride) - 1) * stride rows, of which the first ho are meant and the others
    receive nothing; likewise columns.
    """
    taps_r, taps_s = ceildiv(r, stride), ceildiv(s, stride)
    rows, columns = h + taps_r - 1, w + taps_s - 1
    x, weights = In(i8, n, h, w, c), In(i8, r, s, c, k)
    y = InOut(i32, n, rows * stride, columns * stride, k)
    for b, p, e, q, f, o, u, v, i in grid(n, rows, stride, columns, stride, k, taps_r, taps_s, c):
        y[b, p * stride + e, q * stride + f, o] += i32(x.at(b, p - u, q - v, i, pad=0)) * i32(
            weights.at(u * stride + e, v * stride + f, i, o, pad=0)
        )


def scatter(x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int) -> np.ndarray:
    """y plus the transposed convolution: one matrix product per filter position, in i64."""
    _, h, w, _ = x.shape
    total = y.astype(np.int64)
    for u in range(weights.shape[0]):
        for v in range(weights.shape[1]):
            rows = slice(u, u + (h - 1) * stride + 1, stride)
            columns = slice(v, v + (w - 1) * stride + 1, stride)
            total[:, rows, columns] += x.astype(np.int64) @ weights[u, v].astype(np.int64)
    return total


def transposed_conv_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `transposed_conv`."""
    return {"y": scatter(x, weights, y, stride).astype(np.int32)}


def transposed_conv_padded_reference(
    x: np.ndarray, weights: np.ndarray, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `transposed_conv_padded`."""
    n, h, w, _ = x.shape
    r, s, _, k = weights.shape
    full = np.zeros((n, (h - 1) * stride + r, (w - 1) * stride + s, k), np.int64)
    full = scatter(x, weights, full, stride)
    cut = full[:, pad : full.shape[1] - pad, pad : full.shape[2] - pad]
    return {"y": cut.astype(np.int32)}


transposed_conv_gathered_reference = transposed_conv_reference
