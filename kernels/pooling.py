"""Pooling of images, channels last: the largest or the average element of every window.

Shapes: x is [n, h, w, c] i8, y is [n, ho, wo, c] i8 ([n, c] for the global pool), where
ho = (h + 2*pad - r) // stride + 1 and likewise wo. Averages are rounded to the nearest integer,
ties up; elements outside the image count as 0 and are counted. They never are the largest.
"""

import numpy as np

from isamap.lang import In, InOut, Out, Temp, grid, i8, i32, kernel


@kernel
def max_pool(n=1, h=14, w=14, c=16, r=3, s=3, stride=2, pad=1):
    """y = largest element of each window."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, y = In(i8, n, h, w, c), Out(i8, n, ho, wo, c)
    for b, p, q, i in grid(n, ho, wo, c):
        y[b, p, q, i] = -128
    for b, p, q, i, u, v in grid(n, ho, wo, c, r, s):
        row, column = p * stride + u - pad, q * stride + v - pad
        y[b, p, q, i] = max(y[b, p, q, i], x.at(b, row, column, i, pad=-128))


@kernel
def max_pool_onto(n=1, h=14, w=14, c=16, r=3, s=3, stride=2, pad=1):
    """y = largest of y and the elements of each window, as one statement."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, y = In(i8, n, h, w, c), InOut(i8, n, ho, wo, c)
    for b, p, q, i, u, v in grid(n, ho, wo, c, r, s):
        row, column = p * stride + u - pad, q * stride + v - pad
        y[b, p, q, i] = max(y[b, p, q, i], x.at(b, row, column, i, pad=-128))


@kernel
def average_pool(n=1, h=14, w=14, c=16, r=3, s=3, stride=2, pad=1):
    """y = average of each window."""
    ho = (h + 2 * pad - r) // stride + 1
    wo = (w + 2 * pad - s) // stride + 1
    x, y = In(i8, n, h, w, c), Out(i8, n, ho, wo, c)
    T = Temp(i32, n, ho, wo, c)
    for b, p, q, i, u, v in grid(n, ho, wo, c, r, s):
        row, column = p * stride + u - pad, q * stride + v - pad
        T[b, p, q, i] += i32(x.at(b, row, column, i, pad=0))
    for b, p, q, i in grid(n, ho, wo, c):
        y[b, p, q, i] = i8((T[b, p, q, i] + r * s // 2) // (r * s))


@kernel
def global_average_pool(n=4, h=7, w=7, c=64):
    """y = average over all pixels."""
    x, y, T = In(i8, n, h, w, c), Out(i8, n, c), Temp(i32, n, c)
    for b, p, q, i in grid(n, h, w, c):
        T[b, i] += i32(x[b, p, q, i])
    for b, i in grid(n, c):
        y[b, i] = i8((T[b, i] + h * w // 2) // (h * w))


def windows(x: np.ndarray, r: int, s: int, stride: int, pad: int, outside: int) -> np.ndarray:
    """Windows of the image in i64, [n, ho, wo, c, r, s]."""
    border = ((0, 0), (pad, pad), (pad, pad), (0, 0))
    padded = np.pad(x.astype(np.int64), border, constant_values=outside)
    every = np.lib.stride_tricks.sliding_window_view(padded, (r, s), (1, 2))
    return every[:, ::stride, ::stride]


def average(total: np.ndarray, count: int) -> np.ndarray:
    """total / count rounded to nearest, ties up."""
    return np.floor(total / count + 0.5).astype(np.int8)


def max_pool_reference(
    x: np.ndarray, r: int, s: int, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `max_pool`."""
    return {"y": windows(x, r, s, stride, pad, -128).max(axis=(4, 5)).astype(np.int8)}


def max_pool_onto_reference(
    x: np.ndarray, y: np.ndarray, r: int, s: int, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `max_pool_onto`."""
    return {"y": np.maximum(y, max_pool_reference(x, r, s, stride, pad)["y"])}


def average_pool_reference(
    x: np.ndarray, r: int, s: int, stride: int, pad: int
) -> dict[str, np.ndarray]:
    """NumPy's word for `average_pool`."""
    return {"y": average(windows(x, r, s, stride, pad, 0).sum(axis=(4, 5)), r * s)}


def global_average_pool_reference(x: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `global_average_pool`."""
    return {"y": average(x.sum(axis=(1, 2), dtype=np.int64), x.shape[1] * x.shape[2])}
