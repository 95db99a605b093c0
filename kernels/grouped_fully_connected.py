"""Grouped fully connected layer: features fall into groups, and each has its own matrix.

Shapes: x is [n, groups, c] i8, weights are [groups, c, k] i8, y is [n, groups, k] i32 (c and k per
group). Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def grouped_fully_connected(n=16, groups=4, c=32, k=32):
    """y[:, z] += x[:, z] times weights[z] for every group z."""
    x, weights, y = In(i8, n, groups, c), In(i8, groups, c, k), InOut(i32, n, groups, k)
    for b, z, o, i in grid(n, groups, k, c):
        y[b, z, o] += i32(x[b, z, i]) * i32(weights[z, i, o])


def grouped_fully_connected_reference(
    x: np.ndarray, weights: np.ndarray, y: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `grouped_fully_connected`: one matrix product per group."""
    product = x.astype(np.int64).swapaxes(0, 1) @ weights.astype(np.int64)
    return {"y": (y + product.swapaxes(0, 1)).astype(np.int32)}
