"""Convolution in which every sample of the batch brings its own weights.

Shapes: x is [n, h, w, c] i8, weights are [n, r, s, c, k] i8, y is [n, ho, wo, k] i32, where
ho = (h + 2*pad - r) // stride + 1 and likewise wo. Outside the image x counts as 0. Sums wrap in
i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def per_sample_conv(n=4, h=14, w=14, c=8, k=8, r=3, s=3, stride=1, pad=1):
    """y[b] += convolution of x[b] with weights[b] for every b."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, weights = In(i8, n, h, w, c), In(i8, n, r, s, c, k)
    y = InOut(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u - pad, q * stride + v - pad
        y[b, p, q, o] += i32(x.at(b, row, column, i, pad=0)) * i32(weights[b, u, v, i, o])


def per_sample_conv_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `per_sample_conv`: windows of each sample times its weights."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0))).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[1:3], (1, 2))
    product = np.einsum(
        "bpqiuv,buvio->bpqo", windows[:, ::stride, ::stride], weights.astype(np.int64),
        optimize=True,
    )  # fmt: skip
    return {"y": (y + product).astype(np.int32)}
