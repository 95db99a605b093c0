"""Reductions of rows: sum, mean, variance, largest element.

Shapes: x is [m, n], y is [m]. Integer sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, Out, Temp, f32, grid, i8, i32, inf, kernel


@kernel
def row_sum(m=64, n=64):
    """y = sum of each row; x is i8, y is i32."""
    x, y = In(i8, m, n), Out(i32, m)
    for i, j in grid(m, n):
        y[i] += i32(x[i, j])


@kernel
def row_max(m=64, n=64):
    """y = largest element of each row, f32."""
    x, y = In(f32, m, n), Out(f32, m)
    for i in range(m):
        y[i] = -inf
    for i, j in grid(m, n):
        y[i] = max(y[i], x[i, j])


@kernel
def mean(m=16, n=64):
    """y = mean of each row, f32."""
    x, y, total = In(f32, m, n), Out(f32, m), Temp(f32, m)
    for i, j in grid(m, n):
        total[i] += x[i, j]
    for i in range(m):
        y[i] = total[i] / n


@kernel
def variance(m=16, n=64):
    """y = mean squared distance from the mean of each row (divided by n), f32, in two passes."""
    x, y = In(f32, m, n), Out(f32, m)
    total, middle, spread = Temp(f32, m), Temp(f32, m), Temp(f32, m)
    for i, j in grid(m, n):
        total[i] += x[i, j]
    for i in range(m):
        middle[i] = total[i] / n
    for i, j in grid(m, n):
        spread[i] += (x[i, j] - middle[i]) * (x[i, j] - middle[i])
    for i in range(m):
        y[i] = spread[i] / n


def row_sum_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `row_sum`."""
    return {"y": x.sum(axis=1, dtype=np.int32)}


def row_max_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `row_max`."""
    return {"y": x.max(axis=1)}


def mean_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `mean`, summed in f64."""
    return {"y": x.mean(axis=1, dtype=np.float64).astype(np.float32)}


def variance_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `variance`, summed in f64."""
    return {"y": x.var(axis=1, dtype=np.float64).astype(np.float32)}
