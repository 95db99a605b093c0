"""Capsule convolution: a convolution whose elements are small matrices (poses), not numbers.

Shapes: x is [n, h, w, c, pose, pose] i8, weights are [r, s, c, k, pose, pose] i8, y is
[n, ho, wo, k, pose, pose] i32, where ho = (h + 2*pad - r) // stride + 1 and likewise wo. Outside
the image x counts as 0. Sums wrap in i32.

Source: Hinton, Sabour, Frosst: Matrix capsules with EM routing, ICLR 2018 (poses are 4 by 4).
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def capsule_conv(n=1, h=6, w=6, c=4, k=4, r=3, s=3, pose=4, stride=1, pad=0):
    """y += convolution of x with the weights, a product of two poses at every position."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, weights = In(i8, n, h, w, c, pose, pose), In(i8, r, s, c, k, pose, pose)
    y = InOut(i32, n, ho, wo, k, pose, pose)
    for b, p, q, o, i, j in grid(n, ho, wo, k, pose, pose):
        for u, v, z, m in grid(r, s, c, pose):
            row, column = p * stride + u - pad, q * stride + v - pad
            y[b, p, q, o, i, j] += i32(x.at(b, row, column, z, i, m, pad=0)) * i32(
                weights[u, v, z, o, m, j]
            )


def capsule_conv_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `capsule_conv`: windows of poses times the weights."""
    border = ((0, 0), (pad, pad), (pad, pad), (0, 0), (0, 0), (0, 0))
    padded = np.pad(x, border).astype(np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weights.shape[:2], (1, 2))
    product = np.einsum(
        "bpqzimuv,uvzomj->bpqoij", windows[:, ::stride, ::stride], weights.astype(np.int64),
        optimize=True,
    )  # fmt: skip
    return {"y": (y + product).astype(np.int32)}
