"""Softmax of rows in f32.

Shapes: x, y are [m, n]. The largest element of a row is taken off first, so that nothing overflows.
"""

import numpy as np

from isamap.lang import In, Out, Temp, exp, f32, grid, inf, kernel


@kernel
def softmax(m=16, n=64):
    """y = exp(x) / sum of exp(x) over each row."""
    x, y = In(f32, m, n), Out(f32, m, n)
    largest, power, total = Temp(f32, m), Temp(f32, m, n), Temp(f32, m)
    for i in range(m):
        largest[i] = -inf
    for i, j in grid(m, n):
        largest[i] = max(largest[i], x[i, j])
    for i, j in grid(m, n):
        power[i, j] = exp(x[i, j] - largest[i])
    for i, j in grid(m, n):
        total[i] += power[i, j]
    for i, j in grid(m, n):
        y[i, j] = power[i, j] / total[i]


def softmax_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `softmax`, in f64."""
    power = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    return {"y": (power / power.sum(axis=1, keepdims=True)).astype(np.float32)}
