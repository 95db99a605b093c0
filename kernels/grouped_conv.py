"""Grouped convolution: channels fall into groups, and each group sees its own inputs only.

Shapes: x is [n, h, w, groups, c] i8, weights are [r, s, groups, c, k] i8, y is
[n, ho, wo, groups, k] i32 (c and k per group, groups beside one another as channels lie), where
ho = (h + 2*pad - r) // stride + 1 and likewise wo. Outside the image x counts as 0. Sums wrap in
i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def grouped_conv(n=1, h=14, w=14, groups=4, c=8, k=8, r=3, s=3, stride=1, pad=1):
    """y += convolution of each group of x with its weights."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, weights = In(i8, n, h, w, groups, c), In(i8, r, s, groups, c, k)
    y = InOut(i32, n, ho, wo, groups, k)
    for b, p, q, z, o, u, v, i in grid(n, ho, wo, groups, k, r, s, c):
        row, column = p * stride + u - pad, q * stride + v - pad
        y[b, p, q, z, o] += i32(x.at(b, row, column, z, i, pad=0)) * i32(weights[u, v, z, i, o])


def grouped_conv_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `grouped_conv`: windows of each group times its weights."""
    padded = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0), (0, 0))).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[:2], (1, 2))
    product = np.einsum(
        "bpqziuv,uvzio->bpqzo", windows[:, ::stride, ::stride], weights.astype(np.int64),
        optimize=True,
    )  # fmt: skip
    return {"y": (y + product).astype(np.int32)}
