"""Matrix products: C[i, j] += sum over k of A[i, k] * B[k, j], with either operand transposed.

Shapes: C is [m, n] i32; A is [m, k] ([k, m] in `tn`, `tt`), B is [k, n] ([n, k] in `nt`, `tt`),
both i8. Sums wrap in i32. `gemm_f32` and `gemm_bf16` have f32 and bf16 operands, sums are f32.
"""

import numpy as np

from isamap.lang import In, InOut, Out, Temp, bf16, f32, grid, i8, i32, kernel


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


@kernel
def gemm_f32(m=64, n=64, k=64):
    """C += A B in f32."""
    A, B, C = In(f32, m, k), In(f32, k, n), InOut(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[p, j]


@kernel
def gemm_bf16(m=64, n=64, k=64):
    """C += A B, products and sums in f32."""
    A, B, C = In(bf16, m, k), In(bf16, k, n), InOut(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += f32(A[i, p]) * f32(B[p, j])


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


def gemm_f32_reference(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_f32` and `gemm_bf16`, in f64."""
    return {"C": (C + A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32)}


gemm_bf16_reference = gemm_f32_reference
