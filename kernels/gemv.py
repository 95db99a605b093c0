"""Matrix times vector: y[i] += sum over k of A[i, k] * x[k].

Shapes: A is [m, k] i8, x is [k] i8, y is [m] i32. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def gemv(m=64, k=64):
    """y += A x."""
    A, x, y = In(i8, m, k), In(i8, k), InOut(i32, m)
    for i, p in grid(m, k):
        y[i] += i32(A[i, p]) * i32(x[p])


def gemv_reference(A: np.ndarray, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemv`."""
    return {"y": (y + A.astype(np.int64) @ x.astype(np.int64)).astype(np.int32)}
