"""One matrix product per batch: C[b] += A[b] B[b].

Shapes: A is [b, m, k] i8, B is [b, k, n] i8, C is [b, m, n] i32. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, grid, i8, i32, kernel


@kernel
def batched_gemm(b=4, m=32, n=32, k=32):
    """C[z] += A[z] B[z] for every z."""
    A, B, C = In(i8, b, m, k), In(i8, b, k, n), InOut(i32, b, m, n)
    for z, i, j, p in grid(b, m, n, k):
        C[z, i, j] += i32(A[z, i, p]) * i32(B[z, p, j])


def batched_gemm_reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `batched_gemm`."""
    return {"C": (C + A.astype(np.int64) @ B.astype(np.int64)).astype(np.int32)}
