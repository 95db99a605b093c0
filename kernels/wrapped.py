"""Sums of products of which only the low 8 bits are kept, for machines that store nothing else.

Shapes: A is [m, k] i8, B is [k, n] i8, C is [m, n] i8; x is [n, h, w, c] i8, weights are [r, s, c,
k] i8, depthwise weights [r, s, c] i8, pointwise weights [c, k] i8, y is [n, ho, wo, k] i8, where ho
= (h + 2*pad - r) // stride + 1 and likewise wo. Outside the image x counts as 0. Sums are i32; what
leaves them wraps to i8, after relu where the kernel says so.
"""

import numpy as np

from isamap.lang import In, Out, Temp, grid, i8, i32, kernel, relu


@kernel
def gemm_relu_wrapped(m=64, n=64, k=64):
    """C = the low 8 bits of relu(A B)."""
    A, B, C = In(i8, m, k), In(i8, k, n), Out(i8, m, n)
    T = Temp(i32, m, n)
    for i, j, p in grid(m, n, k):
        T[i, j] += i32(A[i, p]) * i32(B[p, j])
    for i, j in grid(m, n):
        C[i, j] = i8(relu(T[i, j]))


@kernel
def conv2d_wrapped(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1):
    """y = the low 8 bits of relu(x * weights)."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, weights, y = In(i8, n, h, w, c), In(i8, r, s, c, k), Out(i8, n, ho, wo, k)
    T = Temp(i32, n, ho, wo, k)
    for b, p, q, o, u, v, i in grid(n, ho, wo, k, r, s, c):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, o] += i32(x.at(b, row, column, i, pad=0)) * i32(weights[u, v, i, o])
    for b, p, q, o in grid(n, ho, wo, k):
        y[b, p, q, o] = i8(relu(T[b, p, q, o]))


@kernel
def separable_conv_wrapped(n=1, h=14, w=14, c=16, k=16, r=3, s=3, stride=1, pad=1):
    """y = the low 8 bits of both filters, relu and 8 bits in between."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, depthwise, pointwise = In(i8, n, h, w, c), In(i8, r, s, c), In(i8, c, k)
    y = Out(i8, n, ho, wo, k)
    S, T, H = Temp(i32, n, ho, wo, c), Temp(i32, n, ho, wo, k), Temp(i8, n, ho, wo, c)
    for b, p, q, i, u, v in grid(n, ho, wo, c, r, s):
        row, column = p * stride + u - pad, q * stride + v - pad
        S[b, p, q, i] += i32(x.at(b, row, column, i, pad=0)) * i32(depthwise[u, v, i])
    for b, p, q, i in grid(n, ho, wo, c):
        H[b, p, q, i] = i8(relu(S[b, p, q, i]))
    for b, p, q, o, i in grid(n, ho, wo, k, c):
        T[b, p, q, o] += i32(H[b, p, q, i]) * i32(pointwise[i, o])
    for b, p, q, o in grid(n, ho, wo, k):
        y[b, p, q, o] = i8(T[b, p, q, o])


def low_bits(values: np.ndarray) -> np.ndarray:
    """The low 8 bits, as i8."""
    return values.astype(np.int64).astype(np.int8)


def gemm_relu_wrapped_reference(A: np.ndarray, B: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `gemm_relu_wrapped`."""
    return {"C": low_bits(np.maximum(A.astype(np.int64) @ B.astype(np.int64), 0))}


def windows(x: np.ndarray, r: int, s: int, stride: int, pad: int) -> np.ndarray:
    """Zero-padded windows of x: [n, ho, wo, c, r, s]."""
    padded = np.pad(x.astype(np.int64), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    found = np.lib.stride_tricks.sliding_window_view(padded, (r, s), axis=(1, 2))
    return found[:, ::stride, ::stride]


def conv2d_wrapped_reference(
    x: np.ndarray, weights: np.ndarray, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `conv2d_wrapped`."""
    seen = windows(x, weights.shape[0], weights.shape[1], stride, pad)
    sums = np.einsum("bpqiuv,uvio->bpqo", seen, weights.astype(np.int64))
    return {"y": low_bits(np.maximum(sums, 0))}


def separable_conv_wrapped_reference(
    x: np.ndarray, depthwise: np.ndarray, pointwise: np.ndarray, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `separable_conv_wrapped`."""
    seen = windows(x, depthwise.shape[0], depthwise.shape[1], stride, pad)
    sums = np.einsum("bpqiuv,uvi->bpqi", seen, depthwise.astype(np.int64))
    between = low_bits(np.maximum(sums, 0)).astype(np.int64)
    return {"y": low_bits(between @ pointwise.astype(np.int64))}
