"""Matrix products: C[i, j] += sum over k of A[i, k] * B[k, j], with either operand transposed.

Shapes: C is [m, n] i32; A is [m, k] ([k, m] in `tn`, `tt`), B is [k, n] ([n, k] in `nt`, `tt`),
both i8. Sums wrap in i32.
"""

import numpy as np

from isamap.lang import In, InOut, Out, Temp, grid, i8, i32, kernel


@kernel
def gemm(m=64, n=64, k=64):
    """C += A B."""
    A, B, C = In(i8, m, k), In(i8, k, n), InOut(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])


@kernel
def gemm_tn(m=64, n=64, k=64):
    """C += transposed A times B."""
    A, B, C = In(i8, k, m), In(i8, k, n), InOut(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[p, i]) * i32(B[p, j])


@kernel
def gemm_nt(m=64, n=64, k=64):
    """C += A times transposed B."""
    A, B, C = In(i8, m, k), In(i8, n, k), InOut(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[j, p])


@kernel
def gemm_tt(m=64, n=64, k=64):
    """C += transposed A times transposed B."""
    A, B, C = In(i8, k, m), In(i8, n, k), InOut(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[p, i]) * i32(B[j, p])


@kernel
def gemm_i8(m=64, n=64, k=64):
    """C = A B, summed in i32 and wrapped to i8."""
    A, B, C = In(i8, m, k), In(i8, k, n), Out(i8, m, n)
    T = Temp(i32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = i8(T[i, j])


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Matrix product of i8 matrices in i64."""
    return a.astype(np.int64) @ b.astype(np.int64)


def gemm_reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm`."""
    return {"C": (C + product(A, B)).astype(np.int32)}


def gemm_tn_reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_tn`."""
    return {"C": (C + product(A.T, B)).astype(np.int32)}


def gemm_nt_reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_nt`."""
    return {"C": (C + product(A, B.T)).astype(np.int32)}


def gemm_tt_reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_tt`."""
    return {"C": (C + product(A.T, B.T)).astype(np.int32)}


def gemm_i8_reference(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_i8`."""
    return {"C": product(A, B).astype(np.int8)}
