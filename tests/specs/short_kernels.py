"""Kernels whose sums are short, or rescaled, or parts of complex numbers.

In: sizes. Out: kernels. Not its job: references: they are held against the interpreter.
"""

from isamap.lang import In, InOut, Out, Temp, grid, i8, i16, i32, kernel, rshift_round, sat_i8


@kernel
def product(m=5, n=3, k=11):
    """C += A times transposed B, wrapped to i16."""
    A, B, C = In(i8, m, k), In(i8, n, k), InOut(i16, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i16(A[i, p]) * i16(B[j, p])


@kernel
def fresh_product(m=5, n=3, k=11):
    """C = A times B."""
    A, B, C = In(i8, m, k), In(i8, k, n), Out(i32, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += i32(A[i, p]) * i32(B[p, j])


@kernel
def filtered(w=14, s=11):
    """y += x through a filter, wrapped to i16."""
    x, v, y = In(i8, w), In(i8, s), InOut(i16, w - s + 1)
    for q, t in grid(w - s + 1, s):
        y[q] += i16(x[q + t]) * i16(v[t])


@kernel
def converted(m=5, n=13, k=7):
    """C = A times B, rescaled and saturated to i8."""
    A, B, C, T = In(i8, m, k), In(i8, k, n), Out(i8, m, n), Temp(i32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = sat_i8(rshift_round(T[i, j], 4))


@kernel
def complex_filtered(n=13, taps=3):
    """y = x through a filter of complex taps; real and imaginary parts lie beside each other."""
    x, w, y = In(i16, n + taps, 2), In(i16, taps, 2), Out(i32, n, 2)
    for i, u in grid(n, taps):
        y[i, 0] += i32(x[i + u, 0]) * i32(w[u, 0]) - i32(x[i + u, 1]) * i32(w[u, 1])
        y[i, 1] += i32(x[i + u, 0]) * i32(w[u, 1]) + i32(x[i + u, 1]) * i32(w[u, 0])
