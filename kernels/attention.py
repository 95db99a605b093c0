"""Scaled dot-product attention in f32.

Shapes: Q is [b, m, d], K is [b, n, d], V is [b, n, e], y is [b, m, e]; b counts heads times
samples, m queries, n keys. The largest score of a query is taken off before exp.
"""

import numpy as np

from isamap.lang import In, Out, Temp, exp, f32, grid, inf, kernel, sqrt


@kernel
def attention(b=4, m=32, n=32, d=16, e=16):
    """y[z] = softmax(Q[z] transposed K[z] / sqrt(d)) V[z] for every z."""
    Q, K, V = In(f32, b, m, d), In(f32, b, n, d), In(f32, b, n, e)
    y = Out(f32, b, m, e)
    S, scaled, P = Temp(f32, b, m, n), Temp(f32, b, m, n), Temp(f32, b, m, n)
    largest, power, total = Temp(f32, b, m), Temp(f32, b, m, n), Temp(f32, b, m)
    for z, i, j, p in grid(b, m, n, d):
        S[z, i, j] += Q[z, i, p] * K[z, j, p]
    for z, i, j in grid(b, m, n):
        scaled[z, i, j] = S[z, i, j] / sqrt(f32(d))
    for z, i in grid(b, m):
        largest[z, i] = -inf
    for z, i, j in grid(b, m, n):
        largest[z, i] = max(largest[z, i], scaled[z, i, j])
    for z, i, j in grid(b, m, n):
        power[z, i, j] = exp(scaled[z, i, j] - largest[z, i])
    for z, i, j in grid(b, m, n):
        total[z, i] += power[z, i, j]
    for z, i, j in grid(b, m, n):
        P[z, i, j] = power[z, i, j] / total[z, i]
    for z, i, o, j in grid(b, m, e, n):
        y[z, i, o] += P[z, i, j] * V[z, j, o]


def softmax_rows(x: np.ndarray) -> np.ndarray:
    """Softmax over the last axis."""
    power = np.exp(x - x.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def attention_reference(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> dict[str, np.ndarray]:
    """NumPy's word for `attention`, in f64."""
    scores = Q.astype(np.float64) @ K.astype(np.float64).swapaxes(1, 2)
    weights = softmax_rows(scores / np.sqrt(Q.shape[2]))
    return {"y": (weights @ V.astype(np.float64)).astype(np.float32)}
