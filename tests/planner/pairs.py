"""Kernels of two statements, for the comparison of plans with exhaustive search.

Shapes: A is [m, k], B is [k, n] i8; sums are i32.
"""

from isamap.lang import In, InOut, Out, Temp, grid, i8, i32, kernel, relu


@kernel
def two_products(m=8, n=8, k=8):
    """Two products that share an operand."""
    A, B, C = In(i8, m, k), In(i8, k, n), InOut(i32, m, n)
    D, E = In(i8, n, m), InOut(i32, n, k)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])
    for r, s, t in grid(n, k, m):
        E[r, s] += i32(D[r, t]) * i32(A[t, s])


@kernel
def product_and_rectifier(m=8, n=8, k=8):
    """The low bytes of a product's positive elements."""
    A, B, T, y = In(i8, m, k), In(i8, k, n), Temp(i32, m, n), Out(i8, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for r, s in grid(m, n):
        y[r, s] = i8(relu(T[r, s]))


@kernel
def product_and_limit(m=8, n=8, k=8):
    """A product whose elements are at least 5, in place."""
    A, B, C = In(i8, m, k), In(i8, k, n), InOut(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])
    for r, s in grid(m, n):
        C[r, s] = max(C[r, s], 5)
