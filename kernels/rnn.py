"""Plain recurrent network over time, in f32 and quantised to i8.

Shapes: x is [steps, batch, inputs], h is [steps + 1, batch, hidden] with the initial state in h[0],
W is [inputs, hidden], U is [hidden, hidden], bias is [hidden]. In `skip` forms x is
[steps, batch, hidden] and joins the sum as it is.

i8 forms: x, h, W, U are i8, bias and sums i32. `rnn_i8` takes i8 for value / 127, sums for
value * 0.000062 (1 / 127**2) and rounds to nearest, ties to even; `rnn_relu_skip_i8` takes i8 for
value / 128 and shifts with rounding to nearest, ties up.

Source: cuDNN's CUDNN_RNN_TANH and CUDNN_RNN_RELU, their two biases added up; relu with
CUDNN_SKIP_INPUT is what DeepBench measures.
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
    relu,
    round_even,
    rshift_round,
    sat_i8,
    tanh,
)


@kernel
def rnn(steps=4, batch=4, inputs=16, hidden=16):
    """h[t + 1] = tanh(x[t] W + h[t] U + bias), f32."""
    x, h = In(f32, steps, batch, inputs), InOut(f32, steps + 1, batch, hidden)
    W, U, bias = In(f32, inputs, hidden), In(f32, hidden, hidden), In(f32, hidden)
    G = Temp(f32, steps, batch, hidden)
    for t, z, j in grid(steps, batch, hidden):
        G[t, z, j] = bias[j]
    for t, z, j, p in grid(steps, batch, hidden, inputs):
        G[t, z, j] += x[t, z, p] * W[p, j]
    for t in range(steps):
        for z, j, p in grid(batch, hidden, hidden):
            G[t, z, j] += h[t, z, p] * U[p, j]
        for z, j in grid(batch, hidden):
            h[t + 1, z, j] = tanh(G[t, z, j])


@kernel
def rnn_relu_skip(steps=4, batch=4, hidden=16):
    """h[t + 1] = relu(x[t] + h[t] U + bias), f32."""
    x, h = In(f32, steps, batch, hidden), InOut(f32, steps + 1, batch, hidden)
    U, bias, G = In(f32, hidden, hidden), In(f32, hidden), Temp(f32, steps, batch, hidden)
    for t, z, j in grid(steps, batch, hidden):
        G[t, z, j] = bias[j] + x[t, z, j]
    for t in range(steps):
        for z, j, p in grid(batch, hidden, hidden):
            G[t, z, j] += h[t, z, p] * U[p, j]
        for z, j in grid(batch, hidden):
            h[t + 1, z, j] = relu(G[t, z, j])


@kernel
def rnn_i8(steps=4, batch=4, inputs=16, hidden=16):
    """h[t + 1] = tanh(x[t] W + h[t] U + bias), i8."""
    x, h = In(i8, steps, batch, inputs), InOut(i8, steps + 1, batch, hidden)
    W, U, bias = In(i8, inputs, hidden), In(i8, hidden, hidden), In(i32, hidden)
    G = Temp(i32, steps, batch, hidden)
    for t, z, j in grid(steps, batch, hidden):
        G[t, z, j] = bias[j]
    for t, z, j, p in grid(steps, batch, hidden, inputs):
        G[t, z, j] += i32(x[t, z, p]) * i32(W[p, j])
    for t in range(steps):
        for z, j, p in grid(batch, hidden, hidden):
            G[t, z, j] += i32(h[t, z, p]) * i32(U[p, j])
        for z, j in grid(batch, hidden):
            h[t + 1, z, j] = sat_i8(round_even(tanh(f32(G[t, z, j]) * 0.000062) * 127.0))


@kernel
def rnn_relu_skip_i8(steps=4, batch=4, hidden=16):
    """h[t + 1] = relu(x[t] + h[t] U + bias), i8 and without floats."""
    x, h = In(i8, steps, batch, hidden), InOut(i8, steps + 1, batch, hidden)
    U, bias, G = In(i8, hidden, hidden), In(i32, hidden), Temp(i32, steps, batch, hidden)
    for t, z, j in grid(steps, batch, hidden):
        G[t, z, j] = bias[j] + i32(x[t, z, j]) * 128
    for t in range(steps):
        for z, j, p in grid(batch, hidden, hidden):
            G[t, z, j] += i32(h[t, z, p]) * i32(U[p, j])
        for z, j in grid(batch, hidden):
            h[t + 1, z, j] = sat_i8(rshift_round(relu(G[t, z, j]), 7))


def rnn_reference(
    x: np.ndarray, W: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `rnn`, in f64."""
    states, weights = [h[0].astype(np.float64)], U.astype(np.float64)
    for part in x.astype(np.float64) @ W.astype(np.float64) + bias:
        states.append(np.tanh(part + states[-1] @ weights))
    return {"h": np.stack(states).astype(np.float32)}


def rnn_relu_skip_reference(
    x: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `rnn_relu_skip`, in f64."""
    states, weights = [h[0].astype(np.float64)], U.astype(np.float64)
    for part in x.astype(np.float64) + bias:
        states.append(np.maximum(part + states[-1] @ weights, 0))
    return {"h": np.stack(states).astype(np.float32)}


def rnn_i8_reference(
    x: np.ndarray, W: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `rnn_i8`."""
    states, weights = [h[0]], U.astype(np.int64)
    for part in x.astype(np.int64) @ W.astype(np.int64) + bias:
        total = (part + states[-1].astype(np.int64) @ weights).astype(np.int32)
        scaled = total.astype(np.float32) * np.float32(0.000062)
        bent = np.tanh(scaled.astype(np.float64)).astype(np.float32)
        states.append(np.rint(bent * np.float32(127)).astype(np.int8))
    return {"h": np.stack(states)}


def rnn_relu_skip_i8_reference(
    x: np.ndarray, U: np.ndarray, bias: np.ndarray, h: np.ndarray
) -> dict[str, np.ndarray]:
    """NumPy's word for `rnn_relu_skip_i8`."""
    states, weights = [h[0]], U.astype(np.int64)
    for part in x.astype(np.int64) * 128 + bias:
        total = (part + states[-1].astype(np.int64) @ weights).astype(np.int32)
        rounded = np.floor(np.maximum(total, 0) / 128 + 0.5)  # exact in f64
        states.append(np.minimum(rounded, 127).astype(np.int8))
    return {"h": np.stack(states)}
