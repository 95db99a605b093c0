"""Three fully connected layers in i8, requantised after each.

Shapes: x is [n, c] i8; the layers' weights are [c, first], [first, second], [second, k] i8, their
biases i32; y is [n, k] i8. Sums wrap in i32; `shift` bits are shifted out with rounding to nearest,
ties up, or the sums are scaled in f32; results saturate. The first two layers end in relu.
"""

import numpy as np

from isamap.lang import (
    In,
    Out,
    Temp,
    f32,
    grid,
    i8,
    i32,
    kernel,
    relu,
    round_even,
    rshift_round,
    sat_i8,
)


@kernel
def mlp(n=16, c=64, first=48, second=32, k=10, shift=9):
    """y = three layers of x."""
    x, y = In(i8, n, c), Out(i8, n, k)
    weights1, weights2, weights3 = In(i8, c, first), In(i8, first, second), In(i8, second, k)
    bias1, bias2, bias3 = In(i32, first), In(i32, second), In(i32, k)
    T1, T2, T3 = Temp(i32, n, first), Temp(i32, n, second), Temp(i32, n, k)
    hidden1, hidden2 = Temp(i8, n, first), Temp(i8, n, second)
    for b, o in grid(n, first):
        T1[b, o] = bias1[o]
    for b, o, i in grid(n, first, c):
        T1[b, o] += i32(x[b, i]) * i32(weights1[i, o])
    for b, o in grid(n, first):
        hidden1[b, o] = sat_i8(rshift_round(relu(T1[b, o]), shift))
    for b, o in grid(n, second):
        T2[b, o] = bias2[o]
    for b, o, i in grid(n, second, first):
        T2[b, o] += i32(hidden1[b, i]) * i32(weights2[i, o])
    for b, o in grid(n, second):
        hidden2[b, o] = sat_i8(rshift_round(relu(T2[b, o]), shift))
    for b, o in grid(n, k):
        T3[b, o] = bias3[o]
    for b, o, i in grid(n, k, second):
        T3[b, o] += i32(hidden2[b, i]) * i32(weights3[i, o])
    for b, o in grid(n, k):
        y[b, o] = sat_i8(rshift_round(T3[b, o], shift))


@kernel
def mlp_scaled(n=16, c=64, first=48, second=32, k=10):
    """y = three layers of x, scaled in f32 and rounded to nearest, ties to even."""
    x, y = In(i8, n, c), Out(i8, n, k)
    weights1, weights2, weights3 = In(i8, c, first), In(i8, first, second), In(i8, second, k)
    bias1, bias2, bias3 = In(i32, first), In(i32, second), In(i32, k)
    T1, T2, T3 = Temp(i32, n, first), Temp(i32, n, second), Temp(i32, n, k)
    hidden1, hidden2 = Temp(i8, n, first), Temp(i8, n, second)
    for b, o in grid(n, first):
        T1[b, o] = bias1[o]
    for b, o, i in grid(n, first, c):
        T1[b, o] += i32(x[b, i]) * i32(weights1[i, o])
    for b, o in grid(n, first):
        hidden1[b, o] = sat_i8(round_even(f32(relu(T1[b, o])) * 0.004))
    for b, o in grid(n, second):
        T2[b, o] = bias2[o]
    for b, o, i in grid(n, second, first):
        T2[b, o] += i32(hidden1[b, i]) * i32(weights2[i, o])
    for b, o in grid(n, second):
        hidden2[b, o] = sat_i8(round_even(f32(relu(T2[b, o])) * 0.005))
    for b, o in grid(n, k):
        T3[b, o] = bias3[o]
    for b, o, i in grid(n, k, second):
        T3[b, o] += i32(hidden2[b, i]) * i32(weights3[i, o])
    for b, o in grid(n, k):
        y[b, o] = sat_i8(round_even(f32(T3[b, o]) * 0.006))


def layer(x: np.ndarray, weights: np.ndarray, bias: np.ndarray, shift: int) -> np.ndarray:
    """One layer without relu, in i64."""
    total = (x.astype(np.int64) @ weights.astype(np.int64) + bias).astype(np.int32)
    rounded = np.floor(total / 2.0**shift + 0.5)  # exact in f64
    return np.clip(rounded, -128, 127).astype(np.int64)


def mlp_reference(
    x: np.ndarray,
    weights1: np.ndarray,
    weights2: np.ndarray,
    weights3: np.ndarray,
    bias1: np.ndarray,
    bias2: np.ndarray,
    bias3: np.ndarray,
    shift: int,
) -> dict[str, np.ndarray]:
    """NumPy's word for `mlp`."""
    hidden = np.maximum(layer(x, weights1, bias1, shift), 0)
    hidden = np.maximum(layer(hidden, weights2, bias2, shift), 0)
    return {"y": layer(hidden, weights3, bias3, shift).astype(np.int8)}


def scaled_layer(x: np.ndarray, weights: np.ndarray, bias: np.ndarray, scale: float) -> np.ndarray:
    """One layer without relu, in i64."""
    total = (x.astype(np.int64) @ weights.astype(np.int64) + bias).astype(np.int32)
    rounded = np.rint(total.astype(np.float32) * np.float32(scale))
    return np.clip(rounded, -128, 127).astype(np.int64)


def mlp_scaled_reference(
    x: np.ndarray,
    weights1: np.ndarray,
    weights2: np.ndarray,
    weights3: np.ndarray,
    bias1: np.ndarray,
    bias2: np.ndarray,
    bias3: np.ndarray,
) -> dict[str, np.ndarray]:
    """NumPy's word for `mlp_scaled`; relu after rounding is relu before."""
    hidden = np.maximum(scaled_layer(x, weights1, bias1, 0.004), 0)
    hidden = np.maximum(scaled_layer(hidden, weights2, bias2, 0.005), 0)
    return {"y": scaled_layer(hidden, weights3, bias3, 0.006).astype(np.int8)}
