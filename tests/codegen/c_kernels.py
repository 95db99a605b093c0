"""Kernels that tests compile to C."""

from isamap.lang import In, InOut, Out, Temp, bf16, f32, f64, grid, i8, i32, kernel, relu, u8


@kernel
def sgemm(m=5, n=7, k=3):
    """C = A B in floats."""
    A, B, C = In(f32, m, k), In(f32, k, n), Out(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[p, j]


@kernel
def sgemm_adds(m=5, n=7, k=3):
    """C += A B in floats."""
    A, B, C = In(f32, m, k), In(f32, k, n), InOut(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[p, j]


@kernel
def gemm(m=5, n=7, k=3):
    """C = A B, int8 to int32."""
    A, B, C = In(i8, m, k), In(i8, k, n), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])


@kernel
def window(n=9, r=3):
    """A one-dimensional convolution with zeros around it."""
    X, W, Y = In(f32, n), In(f32, r), Out(f32, n)
    for i, q in grid(n, r):
        Y[i] += X.at(i + q - 1, pad=0) * W[q]


@kernel
def gemm_nt(m=5, n=7, k=3):
    """C = A times transposed B, int8 to int32."""
    A, B, C = In(i8, m, k), In(i8, n, k), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[j, p])


@kernel
def bgemm(m=5, n=7, k=3):
    """C = A B, bfloat16 to float."""
    A, B, C = In(bf16, m, k), In(bf16, k, n), Out(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += f32(A[i, p]) * f32(B[p, j])


@kernel
def ugemm(m=5, n=7, k=3):
    """C = A B, A without sign."""
    A, B, C = In(u8, m, k), In(i8, k, n), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])


@kernel
def bgemm_tn(m=5, n=7, k=3):
    """C = A' B."""
    A, B, C = In(bf16, k, m), In(bf16, k, n), Out(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += f32(A[p, i]) * f32(B[p, j])


@kernel
def ugemm_tn(m=5, n=7, k=3):
    """C = A' B, A without sign."""
    A, B, C = In(u8, k, m), In(i8, k, n), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[p, i]) * i32(B[p, j])


@kernel
def dgemm(m=5, n=7, k=3):
    """C = A B in doubles."""
    A, B, C = In(f64, m, k), In(f64, k, n), Out(f64, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[p, j]


@kernel
def sgemm_nt(m=5, n=7, k=3):
    """C = A times transposed B, in floats."""
    A, B, C = In(f32, m, k), In(f32, n, k), Out(f32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[j, p]


@kernel
def gemm_iu(m=5, n=7, k=3):
    """C = A B, B without sign."""
    A, B, C = In(i8, m, k), In(u8, k, n), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])


@kernel
def gemm_i32(m=5, n=7, k=3):
    """C = A B in words."""
    A, B, C = In(i32, m, k), In(i32, k, n), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += A[i, p] * B[p, j]


@kernel
def sgemm_relu(m=5, n=7, k=3):
    """C = relu(A B) in floats."""
    A, B, C = In(f32, m, k), In(f32, k, n), Out(f32, m, n)
    T = Temp(f32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += A[i, p] * B[p, j]
    for i, j in grid(m, n):
        C[i, j] = relu(T[i, j])


@kernel
def sgemm_bias_relu(m=5, n=7, k=3):
    """C = relu(A B + a row) in floats."""
    A, B, D, C = In(f32, m, k), In(f32, k, n), In(f32, n), Out(f32, m, n)
    T = Temp(f32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += A[i, p] * B[p, j]
    for i, j in grid(m, n):
        C[i, j] = relu(T[i, j] + D[j])
