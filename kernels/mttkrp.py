"""Matricised tensor times Khatri-Rao product, the inner step of a CP decomposition.

Shapes: X is [i, m, n] i8, B is [m, j] i8, C is [n, j] i8, A is [i, j] i32. Products and sums wrap
in i32.
"""

import numpy as np

from isamap.lang import In, InOut, Temp, grid, i8, i32, kernel


@kernel
def mttkrp(i=16, j=16, m=16, n=16):
    """A[a, b] += sum over c, d of X[a, c, d] * B[c, b] * C[d, b], as one statement."""
    X, B, C, A = In(i8, i, m, n), In(i8, m, j), In(i8, n, j), InOut(i32, i, j)
    for a, b, c, d in grid(i, j, m, n):
        A[a, b] += i32(X[a, c, d]) * i32(B[c, b]) * i32(C[d, b])


@kernel
def mttkrp_two_steps(i=16, j=16, m=16, n=16):
    """A[a, b] += the same sum in two steps: a matrix product, then a product per column."""
    X, B, C, A = In(i8, i, m, n), In(i8, m, j), In(i8, n, j), InOut(i32, i, j)
    T = Temp(i32, i, m, j)
    for a, c, b, d in grid(i, m, j, n):
        T[a, c, b] += i32(X[a, c, d]) * i32(C[d, b])
    for a, b, c in grid(i, j, m):
        A[a, b] += T[a, c, b] * i32(B[c, b])


def mttkrp_reference(
    X: np.ndarray, B: np.ndarray, C: np.ndarray, A: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `mttkrp`: the unfolded tensor times the Khatri-Rao product."""
    khatri_rao = B.astype(np.int64)[:, None, :] * C.astype(np.int64)[None, :, :]
    unfolded = X.astype(np.int64).reshape(X.shape[0], -1)
    return {"A": (A + unfolded @ khatri_rao.reshape(-1, A.shape[1])).astype(np.int32)}


mttkrp_two_steps_reference = mttkrp_reference
