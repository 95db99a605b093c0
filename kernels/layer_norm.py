"""Layer normalisation of rows in f32.

Shapes: x, y are [m, n]; gamma, beta are [n]. 0.00001 is added to the variance.
"""

import numpy as np

from isamap.lang import In, Out, Temp, f32, grid, kernel, sqrt


@kernel
def layer_norm(m=16, n=64):
    """y = (x - mean) / sqrt(variance + 0.00001) * gamma + beta, mean and variance by row."""
    x, gamma, beta, y = In(f32, m, n), In(f32, n), In(f32, n), Out(f32, m, n)
    total, middle, spread, scale = Temp(f32, m), Temp(f32, m), Temp(f32, m), Temp(f32, m)
    for i, j in grid(m, n):
        total[i] += x[i, j]
    for i in range(m):
        middle[i] = total[i] / n
    for i, j in grid(m, n):
        spread[i] += (x[i, j] - middle[i]) * (x[i, j] - middle[i])
    for i in range(m):
        scale[i] = 1.0 / sqrt(spread[i] / n + 0.00001)
    for i, j in grid(m, n):
        y[i, j] = (x[i, j] - middle[i]) * scale[i] * gamma[j] + beta[j]


def layer_norm_reference(
    x: np.ndarray, gamma: np.ndarray, beta: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `layer_norm`, in f64."""
    exact = x.astype(np.float64)
    middle, spread = exact.mean(axis=1, keepdims=True), exact.var(axis=1, keepdims=True)
    y = (exact - middle) / np.sqrt(spread + 0.00001) * gamma + beta
    return {"y": y.astype(np.float32)}
