"""Long short-term memory over time, in f32 and quantised to i8.

Shapes: x is [steps, batch, inputs], h is [steps + 1, batch, hidden] with the initial state in h[0],
c is [batch, hidden] f32, the initial cell and in the end the last one, W is [inputs, 4, hidden],
U is [hidden, 4, hidden], bias is [4, hidden]; gates are input, forget, new, output. In `skip` forms
x is [steps, batch, hidden] and joins every gate as it is.

i8 forms: x, h, W, U are i8 and stand for value / 127, bias is i32 and stands for
value * 0.000062 (1 / 127**2), gates and c are f32; the state is rounded to nearest, ties to even.

Source: cuDNN's CUDNN_LSTM, its two biases added up; `skip` is CUDNN_SKIP_INPUT, which DeepBench
measures.
"""

import numpy as np

from isamap.lang import (
    In,
    InOut,
    Temp,
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
def lstm(steps=4, batch=4, inputs=16, hidden=16):
    """h[t + 1] and c = one step from h[t], c and x[t], f32."""
    x, h = In(f32, steps, batch, inputs), InOut(f32, steps + 1, batch, hidden)
    W, U, bias = In(f32, inputs, 4, hidden), In(f32, hidden, 4, hidden), In(f32, 4, hidden)
    c, G = InOut(f32, batch, hidden), Temp(f32, steps, batch, 4, hidden)
    for t, z, g, j in grid(steps, batch, 4, hidden):
        G[t, z, g, j] = bias[g, j]
    for t, z, g, j, p in grid(steps, batch, 4, hidden, inputs):
        G[t, z, g, j] += x[t, z, p] * W[p, g, j]
    for t in range(steps):
        for z, g, j, p in grid(batch, 4, hidden, hidden):
            G[t, z, g, j] += h[t, z, p] * U[p, g, j]
        for z, j in grid(batch, hidden):
            c[z, j] = sigmoid(G[t, z, 1, j]) * c[z, j] + sigmoid(G[t, z, 0, j]) * tanh(
                G[t, z, 2, j]
            )
            h[t + 1, z, j] = sigmoid(G[t, z, 3, j]) * tanh(c[z, j])


@kernel
def lstm_skip(steps=4, batch=4, hidden=16):
    """h[t + 1] and c = one step from h[t], c and x[t], f32; x joins every gate as it is."""
    x, h = In(f32, steps, batch, hidden), InOut(f32, steps + 1, batch, hidden)
    U, bias = In(f32, hidden, 4, hidden), In(f32, 4, hidden)
    c, G = InOut(f32, batch, hidden), Temp(f32, steps, batch, 4, hidden)
    for t, z, g, j in grid(steps, batch, 4, hidden):
        G[t, z, g, j] = bias[g, j] + x[t, z, j]
    for t in range(steps):
        for z, g, j, p in grid(batch, 4, hidden, hidden):
            G[t, z, g, j] += h[t, z, p] * U[p, g, j]
        for z, j in grid(batch, hidden):
            c[z, j] = sigmoid(G[t, z, 1, j]) * c[z, j] + sigmoid(G[t, z, 0, j]) * tanh(
                G[t, z, 2, j]
            )
            h[t + 1, z, j] = sigmoid(G[t, z, 3, j]) * tanh(c[z, j])


@kernel
def lstm_i8(steps=4, batch=4, inputs=16, hidden=16):
    """h[t + 1] and c = one step from h[t], c and x[t], i8."""
    x, h = In(i8, steps, batch, inputs), InOut(i8, steps + 1, batch, hidden)
    W, U, bias = In(i8, inputs, 4, hidden), In(i8, hidden, 4, hidden), In(i32, 4, hidden)
    c, G = InOut(f32, batch, hidden), Temp(i32, steps, batch, 4, hidden)
    for t, z, g, j in grid(steps, batch, 4, hidden):
        G[t, z, g, j] = bias[g, j]
    for t, z, g, j, p in grid(steps, batch, 4, hidden, inputs):
        G[t, z, g, j] += i32(x[t, z, p]) * i32(W[p, g, j])
    for t in range(steps):
        for z, g, j, p in grid(batch, 4, hidden, hidden):
            G[t, z, g, j] += i32(h[t, z, p]) * i32(U[p, g, j])
        for z, j in grid(batch, hidden):
            c[z, j] = sigmoid(f32(G[t, z, 1, j]) * 0.000062) * c[z, j] + sigmoid(
                f32(G[t, z, 0, j]) * 0.000062
            ) * tanh(f32(G[t, z, 2, j]) * 0.000062)
            h[t + 1, z, j] = sat_i8(
                round_even(sigmoid(f32(G[t, z, 3, j]) * 0.000062) * tanh(c[z, j]) * 127.0)
            )


@kernel
def lstm_skip_i8(steps=4, batch=4, hidden=16):
    """h[t + 1] and c = one step from h[t], c and x[t], i8; x joins every gate as it is."""
    x, h = In(i8, steps, batch, hidden), InOut(i8, steps + 1, batch, hidden)
    U, bias = In(i8, hidden, 4, hidden), In(i32, 4, hidden)
    c, G = InOut(f32, batch, hidden), Temp(i32, steps, batch, 4, hidden)
    for t, z, g, j in grid(steps, batch, 4, hidden):
        G[t, z, g, j] = bias[g, j] + i32(x[t, z, j]) * 127
    for t in range(steps):
        for z, g, j, p in grid(batch, 4, hidden, hidden):
            G[t, z, g, j] += i32(h[t, z, p]) * i32(U[p, g, j])
        for z, j in grid(batch, hidden):
            c[z, j] = sigmoid(f32(G[t, z, 1, j]) * 0.000062) * c[z, j] + sigmoid(
                f32(G[t, z, 0, j]) * 0.000062
            ) * tanh(f32(G[t, z, 2, j]) * 0.000062)
            h[t + 1, z, j] = sat_i8(
                round_even(sigmoid(f32(G[t, z, 3, j]) * 0.000062) * tanh(c[z, j]) * 127.0)
            )


def sigmoid_of(x: np.ndarray) -> np.ndarray:
    """Logistic function in f64, rounded to the type of x."""
    power = np.exp(-np.maximum(x.astype(np.float64), -700.0))  # e**700 is finite
    return (1.0 / (1.0 + power)).astype(x.dtype)


def tanh_of(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent in f64, rounded to the type of x."""
    return np.tanh(x.astype(np.float64)).astype(x.dtype)


def run_float(
    parts: np.ndarray, U: np.ndarray, h: np.ndarray, c: np.ndarray
) -> dict[str, np.ndarray]:
    """All steps in f64; `parts` are the gates' input parts, [steps, batch, 4, hidden]."""
    states, cell, weights = [h[0].astype(np.float64)], c.astype(np.float64), U.astype(np.float64)
    for part in parts:
        gates = part + np.tensordot(states[-1], weights, 1)
        enter, forget, leave = (sigmoid_of(gates[:, g]) for g in (0, 1, 3))
        cell = forget * cell + enter * np.tanh(gates[:, 2])
        states.append(leave * np.tanh(cell))
    return {"h": np.stack(states).astype(np.float32), "c": cell.astype(np.float32)}


def lstm_reference(
    x: np.ndarray, W: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray, c: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `lstm`, in f64."""
    parts = np.tensordot(x.astype(np.float64), W.astype(np.float64), 1) + bias
    return run_float(parts, U, h, c)


def lstm_skip_reference(
    x: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray, c: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `lstm_skip`, in f64."""
    return run_float(x.astype(np.float64)[:, :, None, :] + bias, U, h, c)


def run_quantised(
    parts: np.ndarray, U: np.ndarray, h: np.ndarray, c: np.ndarray
) -> dict[str, np.ndarray]:
    """All steps, sums in integers that wrap to i32, gates in f32; `parts` are i64."""
    states, cell, scale = [h[0]], c, np.float32(0.000062)
    for part in parts:
        total = part + np.tensordot(states[-1].astype(np.int64), U.astype(np.int64), 1)
        gates = total.astype(np.int32).astype(np.float32) * scale
        enter, forget, leave = (sigmoid_of(gates[:, g]) for g in (0, 1, 3))
        cell = forget * cell + enter * tanh_of(gates[:, 2])
        state = np.rint(leave * tanh_of(cell) * np.float32(127))
        states.append(np.clip(state, -128, 127).astype(np.int8))
    return {"h": np.stack(states), "c": cell}


def lstm_i8_reference(
    x: np.ndarray, W: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray, c: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `lstm_i8`."""
    parts = np.tensordot(x.astype(np.int64), W.astype(np.int64), 1) + bias
    return run_quantised(parts, U, h, c)


def lstm_skip_i8_reference(
    x: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray, c: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `lstm_skip_i8`."""
    return run_quantised(x.astype(np.int64)[:, :, None, :] * 127 + bias, U, h, c)
