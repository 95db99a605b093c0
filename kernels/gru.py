"""Gated recurrent unit over time, in f32 and quantised to i8.

Shapes: x is [steps, batch, inputs], h is [steps + 1, batch, hidden] with the initial state in h[0],
W is [inputs, 3, hidden], U is [hidden, 3, hidden], bias and recurrent_bias are [3, hidden]; gates
are reset, update, new. In `skip` forms x is [steps, batch, hidden] and joins every gate as it is.

i8 forms: x, h, W, U are i8 and stand for value / 127, biases are i32 and stand for
value * 0.000062 (1 / 127**2), gates are f32; the state is rounded to nearest, ties to even.

Source: cuDNN's CUDNN_GRU (the reset gate acts after the recurrent product); `skip` is
CUDNN_SKIP_INPUT, which DeepBench measures. In `gru_skip_bf16` states and recurrent weights are
bf16, all else is f32.
"""

import numpy as np

from isamap.lang import (
    In,
    InOut,
    Temp,
    bf16,
    f32,
    grid,
    i8,
    i32,
    kernel,
    round_even,
    sat_i8,
    sigmoid,
    tanh,
)


@kernel
def gru(steps=4, batch=4, inputs=16, hidden=16):
    """h[t + 1] = one step from h[t] and x[t], f32."""
    x, h = In(f32, steps, batch, inputs), InOut(f32, steps + 1, batch, hidden)
    W, U = In(f32, inputs, 3, hidden), In(f32, hidden, 3, hidden)
    bias, recurrent_bias = In(f32, 3, hidden), In(f32, 3, hidden)
    G, R = Temp(f32, steps, batch, 3, hidden), Temp(f32, batch, 3, hidden)
    reset, update, new = (
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
    )
    for t, z, g, j in grid(steps, batch, 3, hidden):
        G[t, z, g, j] = bias[g, j]
    for t, z, g, j, p in grid(steps, batch, 3, hidden, inputs):
        G[t, z, g, j] += x[t, z, p] * W[p, g, j]
    for t in range(steps):
        for z, g, j in grid(batch, 3, hidden):
            R[z, g, j] = recurrent_bias[g, j]
        for z, g, j, p in grid(batch, 3, hidden, hidden):
            R[z, g, j] += h[t, z, p] * U[p, g, j]
        for z, j in grid(batch, hidden):
            reset[z, j] = sigmoid(G[t, z, 0, j] + R[z, 0, j])
            update[z, j] = sigmoid(G[t, z, 1, j] + R[z, 1, j])
            new[z, j] = tanh(G[t, z, 2, j] + reset[z, j] * R[z, 2, j])
            h[t + 1, z, j] = (1.0 - update[z, j]) * new[z, j] + update[z, j] * h[t, z, j]


@kernel
def gru_skip(steps=4, batch=4, hidden=16):
    """h[t + 1] = one step from h[t] and x[t], f32; x joins every gate as it is."""
    x, h = In(f32, steps, batch, hidden), InOut(f32, steps + 1, batch, hidden)
    U, bias, recurrent_bias = In(f32, hidden, 3, hidden), In(f32, 3, hidden), In(f32, 3, hidden)
    G, R = Temp(f32, steps, batch, 3, hidden), Temp(f32, batch, 3, hidden)
    reset, update, new = (
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
    )
    for t, z, g, j in grid(steps, batch, 3, hidden):
        G[t, z, g, j] = bias[g, j] + x[t, z, j]
    for t in range(steps):
        for z, g, j in grid(batch, 3, hidden):
            R[z, g, j] = recurrent_bias[g, j]
        for z, g, j, p in grid(batch, 3, hidden, hidden):
            R[z, g, j] += h[t, z, p] * U[p, g, j]
        for z, j in grid(batch, hidden):
            reset[z, j] = sigmoid(G[t, z, 0, j] + R[z, 0, j])
            update[z, j] = sigmoid(G[t, z, 1, j] + R[z, 1, j])
            new[z, j] = tanh(G[t, z, 2, j] + reset[z, j] * R[z, 2, j])
            h[t + 1, z, j] = (1.0 - update[z, j]) * new[z, j] + update[z, j] * h[t, z, j]


@kernel
def gru_skip_bf16(steps=4, batch=4, hidden=16):
    """h[t + 1] = one step from h[t] and x[t]; states and weights are bf16, all else f32."""
    x, h = In(f32, steps, batch, hidden), InOut(bf16, steps + 1, batch, hidden)
    U, bias, recurrent_bias = In(bf16, hidden, 3, hidden), In(f32, 3, hidden), In(f32, 3, hidden)
    G, R = Temp(f32, steps, batch, 3, hidden), Temp(f32, batch, 3, hidden)
    reset, update, new = (
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
    )
    for t, z, g, j in grid(steps, batch, 3, hidden):
        G[t, z, g, j] = bias[g, j] + x[t, z, j]
    for t in range(steps):
        for z, g, j in grid(batch, 3, hidden):
            R[z, g, j] = recurrent_bias[g, j]
        for z, g, j, p in grid(batch, 3, hidden, hidden):
            R[z, g, j] += f32(h[t, z, p]) * f32(U[p, g, j])
        for z, j in grid(batch, hidden):
            reset[z, j] = sigmoid(G[t, z, 0, j] + R[z, 0, j])
            update[z, j] = sigmoid(G[t, z, 1, j] + R[z, 1, j])
            new[z, j] = tanh(G[t, z, 2, j] + reset[z, j] * R[z, 2, j])
            h[t + 1, z, j] = bf16((1.0 - update[z, j]) * new[z, j] + update[z, j] * f32(h[t, z, j]))


@kernel
def gru_i8(steps=4, batch=4, inputs=16, hidden=16):
    """h[t + 1] = one step from h[t] and x[t], i8."""
    x, h = In(i8, steps, batch, inputs), InOut(i8, steps + 1, batch, hidden)
    W, U = In(i8, inputs, 3, hidden), In(i8, hidden, 3, hidden)
    bias, recurrent_bias = In(i32, 3, hidden), In(i32, 3, hidden)
    G, R = Temp(i32, steps, batch, 3, hidden), Temp(i32, batch, 3, hidden)
    reset, update, new = (
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
    )
    for t, z, g, j in grid(steps, batch, 3, hidden):
        G[t, z, g, j] = bias[g, j]
    for t, z, g, j, p in grid(steps, batch, 3, hidden, inputs):
        G[t, z, g, j] += i32(x[t, z, p]) * i32(W[p, g, j])
    for t in range(steps):
        for z, g, j in grid(batch, 3, hidden):
            R[z, g, j] = recurrent_bias[g, j]
        for z, g, j, p in grid(batch, 3, hidden, hidden):
            R[z, g, j] += i32(h[t, z, p]) * i32(U[p, g, j])
        for z, j in grid(batch, hidden):
            reset[z, j] = sigmoid(f32(G[t, z, 0, j] + R[z, 0, j]) * 0.000062)
            update[z, j] = sigmoid(f32(G[t, z, 1, j] + R[z, 1, j]) * 0.000062)
            new[z, j] = tanh((f32(G[t, z, 2, j]) + reset[z, j] * f32(R[z, 2, j])) * 0.000062)
            h[t + 1, z, j] = sat_i8(
                round_even(
                    (1.0 - update[z, j]) * new[z, j] * 127.0 + update[z, j] * f32(h[t, z, j])
                )
            )


@kernel
def gru_skip_i8(steps=4, batch=4, hidden=16):
    """h[t + 1] = one step from h[t] and x[t], i8; x joins every gate as it is."""
    x, h = In(i8, steps, batch, hidden), InOut(i8, steps + 1, batch, hidden)
    U, bias, recurrent_bias = In(i8, hidden, 3, hidden), In(i32, 3, hidden), In(i32, 3, hidden)
    G, R = Temp(i32, steps, batch, 3, hidden), Temp(i32, batch, 3, hidden)
    reset, update, new = (
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
        Temp(f32, batch, hidden),
    )
    for t, z, g, j in grid(steps, batch, 3, hidden):
        G[t, z, g, j] = bias[g, j] + i32(x[t, z, j]) * 127
    for t in range(steps):
        for z, g, j in grid(batch, 3, hidden):
            R[z, g, j] = recurrent_bias[g, j]
        for z, g, j, p in grid(batch, 3, hidden, hidden):
            R[z, g, j] += i32(h[t, z, p]) * i32(U[p, g, j])
        for z, j in grid(batch, hidden):
            reset[z, j] = sigmoid(f32(G[t, z, 0, j] + R[z, 0, j]) * 0.000062)
            update[z, j] = sigmoid(f32(G[t, z, 1, j] + R[z, 1, j]) * 0.000062)
            new[z, j] = tanh((f32(G[t, z, 2, j]) + reset[z, j] * f32(R[z, 2, j])) * 0.000062)
            h[t + 1, z, j] = sat_i8(
                round_even(
                    (1.0 - update[z, j]) * new[z, j] * 127.0 + update[z, j] * f32(h[t, z, j])
                )
            )


def sigmoid_of(x: np.ndarray) -> np.ndarray:
    """Logistic function in f64, rounded to the type of x."""
    power = np.exp(-np.maximum(x.astype(np.float64), -700.0))  # e**700 is finite
    return (1.0 / (1.0 + power)).astype(x.dtype)


def tanh_of(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent in f64, rounded to the type of x."""
    return np.tanh(x.astype(np.float64)).astype(x.dtype)


def run_float(
    parts: np.ndarray, U: np.ndarray, recurrent_bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """All steps in f64; `parts` are the gates' input parts, [steps, batch, 3, hidden].

    States of f32 stay f64 until the end, those of bf16 are rounded at every step.
    """
    rounded = h.dtype if h.dtype.itemsize < 4 else np.float64
    states = [h[0].astype(np.float64)]
    weights = U.astype(np.float64)
    for part in parts:
        recurrent = np.tensordot(states[-1], weights, 1) + recurrent_bias
        both = sigmoid_of(part[:, :2] + recurrent[:, :2])
        reset, update = both[:, 0], both[:, 1]
        new = np.tanh(part[:, 2] + reset * recurrent[:, 2])
        state = (1 - update) * new + update * states[-1]
        states.append(state.astype(rounded).astype(np.float64))
    return {"h": np.stack(states).astype(h.dtype)}


def gru_reference(
    x: np.ndarray,
    W: np.ndarray,
    U: np.ndarray,
    bias: np.ndarray,
    recurrent_bias: np.ndarray,
    h: np.ndarray,
) -> dict[str, np.ndarray]:
    """NumPy's word for `gru`, in f64."""
    parts = np.tensordot(x.astype(np.float64), W.astype(np.float64), 1) + bias
    return run_float(parts, U, recurrent_bias, h)


def gru_skip_reference(
    x: np.ndarray, U: np.ndarray, bias: np.ndarray, recurrent_bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `gru_skip` and `gru_skip_bf16`, in f64 but for bf16 states."""
    return run_float(x.astype(np.float64)[:, :, None, :] + bias, U, recurrent_bias, h)


gru_skip_bf16_reference = gru_skip_reference


def run_quantised(
    parts: np.ndarray, U: np.ndarray, recurrent_bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """All steps, sums in integers that wrap to i32, gates in f32; `parts` are i64."""
    states, scale, one = [h[0]], np.float32(0.000062), np.float32(1)
    for part in parts:
        product = np.tensordot(states[-1].astype(np.int64), U.astype(np.int64), 1)
        recurrent = (product + recurrent_bias).astype(np.int32)
        both = (part + recurrent).astype(np.int32).astype(np.float32)
        reset, update = sigmoid_of(both[:, 0] * scale), sigmoid_of(both[:, 1] * scale)
        middle = part[:, 2].astype(np.int32).astype(np.float32)
        new = tanh_of((middle + reset * recurrent[:, 2].astype(np.float32)) * scale)
        old = states[-1].astype(np.float32)
        state = np.rint((one - update) * new * np.float32(127) + update * old)
        states.append(np.clip(state, -128, 127).astype(np.int8))
    return {"h": np.stack(states)}


def gru_i8_reference(
    x: np.ndarray,
    W: np.ndarray,
    U: np.ndarray,
    bias: np.ndarray,
    recurrent_bias: np.ndarray,
    h: np.ndarray,
) -> dict[str, np.ndarray]:
    """NumPy's word for `gru_i8`."""
    parts = np.tensordot(x.astype(np.int64), W.astype(np.int64), 1) + bias
    return run_quantised(parts, U, recurrent_bias, h)


def gru_skip_i8_reference(
    x: np.ndarray, U: np.ndarray, bias: np.ndarray, recurrent_bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `gru_skip_i8`."""
    return run_quantised(x.astype(np.int64)[:, :, None, :] * 127 + bias, U, recurrent_bias, h)
