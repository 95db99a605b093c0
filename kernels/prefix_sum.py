"""Prefix sums (scans), as a recurrence and without one.

Shapes: x is [n] or [m, n] i8; a recurrence gives S of one element more, which starts at 0, so that
S[i] is the sum of the first i elements. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, Out, grid, i8, i32, kernel


@kernel
def prefix_sum(n=64):
    """S[i + 1] = S[i] + x[i], one element after the other; S is [n + 1] i32."""
    x, S = In(i8, n), Out(i32, n + 1)
    for i in range(n):
        S[i + 1] = S[i] + i32(x[i])


@kernel
def prefix_sum_rows(m=16, n=64):
    """S[j, i + 1] = S[j, i] + x[j, i] in every row j; S is [m, n + 1] i32."""
    x, S = In(i8, m, n), Out(i32, m, n + 1)
    for j, i in grid(m, n):
        S[j, i + 1] = S[j, i] + i32(x[j, i])


@kernel
def prefix_sum_direct(n=64):
    """S[i] = x[0] + .. + x[i], every sum by itself: no order, n times the work; S is [n] i32."""
    x, S = In(i8, n), Out(i32, n)
    for i, j in grid(n, n):
        S[i] += i32(x.at(i - j, pad=0))


def prefix_sum_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `prefix_sum` and `prefix_sum_rows`."""
    front = [*[(0, 0)] * (x.ndim - 1), (1, 0)]
    return {"S": np.cumsum(np.pad(x, front), axis=-1, dtype=np.int32)}


prefix_sum_rows_reference = prefix_sum_reference


def prefix_sum_direct_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `prefix_sum_direct`."""
    return {"S": np.cumsum(x, dtype=np.int32)}
