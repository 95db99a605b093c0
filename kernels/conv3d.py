"""Convolution of volumes, channels last.

Shapes: x is [n, d, h, w, c] i8, weights are [t, r, s, c, k] i8, y is [n, do, ho, wo, k] i32, where
do = (d + 2*pad - dilation*(t - 1) - 1) // stride + 1 and likewise ho (with r) and wo (with s).
Outside the volume x counts as 0. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def conv3d(n=1, d=6, h=8, w=8, c=8, k=8, t=3, r=3, s=3, stride=1, pad=1, dilation=1):
    """y += convolution of x with the weights."""
    do = (d + 2 * pad - dilation * (t - 1) - 1) // stride + 1
    ho = (h + 2 * pad - dilation * (r - 1) - 1) // stride + 1
    wo = (w + 2 * pad - dilation * (s - 1) - 1) // stride + 1
    x, weights = In(i8, n, d, h, w, c), In(i8, t, r, s, c, k)
    y = InOut(i32, n, do, ho, wo, k)
    for b, f, p, q, o, e, u, v, i in grid(n, do, ho, wo, k, t, r, s, c):
        frame = f * stride + e * dilation - pad
        row = p * stride + u * dilation - pad
        column = q * stride + v * dilation - pad
        y[b, f, p, q, o] += i32(x.at(b, frame, row, column, i, pad=0)) * i32(weights[e, u, v, i, o])


def conv3d_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int, dilation: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `conv3d`: windows of the padded volume times the weights."""
    padded = np.pad(x, ((0, 0), *[(pad, pad)] * 3, (0, 0))).astype(np.int64)
    size = [dilation * (extent - 1) + 1 for extent in weights.shape[:3]]
    windows = np.lib.stride_tricks.sliding_window_view(padded, size, (1, 2, 3))
    windows = windows[:, ::stride, ::stride, ::stride, :, ::dilation, ::dilation, ::dilation]
    product = np.einsum("bfpqieuv,euvio->bfpqo", windows, weights.astype(np.int64), optimize=True)
    return {"y": (y + product).astype(np.int32)}
