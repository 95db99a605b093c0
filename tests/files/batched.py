"""A product with a batch: its rows have two dimensions."""

import numpy as np

from isamap.lang import In, InOut, f32, grid, kernel


@kernel
def batched(rows=3, steps=5, columns=40, inputs=33):
    """y += x w"""
    x, w = In(f32, rows, steps, inputs), In(f32, inputs, columns)
    y = InOut(f32, rows, steps, columns)
    for b, t, j, p in grid(rows, steps, columns, inputs):
        y[b, t, j] += x[b, t, p] * w[p, j]


def batched_reference(x: np.ndarray, w: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """By NumPy, which takes x to have three dimensions."""
    return {"y": y + np.einsum("btp,pj->btj", x, w)}
