"""How far f32 kernels may lie from their f64 references.

In: a kernel's inputs. Out: an absolute bound to first order in U, the unit roundoff of f32. Not its
job: integers, and f32 kernels that only choose or whose references round as they do: those agree
bit for bit.

A sum of n terms rounded after every addition is off by at most n * U * (sum of magnitudes) (Higham,
Accuracy and Stability, section 4.2); a product, quotient or rounded function by U of itself.
sigmoid has slope 1/4 at most and tanh 1. e is the error of the state before a step, a that of a
gate's argument.
"""

from collections.abc import Callable, Mapping

import numpy as np

Arrays = Mapping[str, np.ndarray]
U = 2.0**-24


def largest(array: np.ndarray) -> float:
    """Largest magnitude."""
    return float(np.abs(array).max())


def bound_mean(arrays: Arrays) -> float:
    """Sum of n terms, a quotient."""
    x = arrays["x"]
    return (x.shape[1] + 2) * U * float(np.abs(x).mean(axis=1).max())


def bound_variance(arrays: Arrays) -> float:
    """Sum of n squares, each with 4 roundings; distances from the mean add up to 0, so that an
    error of the mean counts squared only."""
    x = arrays["x"].astype(np.float64)
    return (x.shape[1] + 6) * U * float(x.var(axis=1).max()) + bound_mean(arrays) ** 2


def bound_layer_norm(arrays: Arrays) -> float:
    """As mean and variance; 1 / sqrt(v) has slope 1 / (2 v**1.5), and v is 0.00001 at least."""
    x, gamma, beta = arrays["x"].astype(np.float64), arrays["gamma"], arrays["beta"]
    off_mean, off_variance = bound_mean(arrays), bound_variance(arrays)
    lowest = max(float(x.var(axis=1).min()) - off_variance, 0.0) + 0.00001
    scale = lowest**-0.5
    off_scale = off_variance / (2 * lowest**1.5) + 4 * U * scale
    distance = largest(x - x.mean(axis=1, keepdims=True)) + off_mean
    product = (off_mean + 4 * U * distance) * scale + distance * off_scale
    return product * largest(gamma) + 4 * U * (distance * scale * largest(gamma) + largest(beta))


def bound_softmax(arrays: Arrays) -> float:
    """Arguments up to 2 X are rounded, in numerator and sum alike; results are 1 at most."""
    x = arrays["x"]
    return (4 * largest(x) + x.shape[1] + 8) * U


def bound_attention(arrays: Arrays) -> float:
    """Scores up to S move every weight by twice their own error; weights add up to 1."""
    d, n = arrays["Q"].shape[2], arrays["K"].shape[1]
    score = d**0.5 * largest(arrays["Q"]) * largest(arrays["K"])
    weight = 2 * ((d + 3) * score + 2 * score + 1) + n + 2
    return (weight + n + 2) * U * largest(arrays["V"])


class Recurrence:
    """What the three recurrences share: sizes of arguments and how errors of the state spread."""

    def __init__(self, arrays: Arrays) -> None:
        inputs, weights = arrays["x"], arrays.get("W")
        self.steps, self.bias = inputs.shape[0], largest(arrays["bias"])
        self.bias += largest(arrays["recurrent_bias"]) if "recurrent_bias" in arrays else 0.0
        self.entering = largest(inputs)
        if weights is not None:
            self.entering *= float(np.abs(weights).sum(axis=0).max())
        self.spread = float(np.abs(arrays["U"]).sum(axis=0).max())
        self.num_terms = arrays["U"].shape[0] + (1 if weights is None else weights.shape[0])
        self.state = largest(arrays["h"][0])

    def argument(self, state: float) -> float:
        """Largest argument of a gate when states are up to `state`."""
        return self.bias + self.entering + self.spread * state

    def argument_error(self, state: float, error: float) -> float:
        """Error of that argument when states are off by `error`."""
        return self.spread * error + (self.num_terms + 6) * U * self.argument(state)


def bound_rnn(arrays: Arrays) -> float:
    """e' = a + U, states of 1 at most after the first."""
    recurrence, error = Recurrence(arrays), 0.0
    for _ in range(recurrence.steps):
        error = recurrence.argument_error(max(1.0, recurrence.state), error) + U
    return error


def bound_rnn_relu(arrays: Arrays) -> float:
    """e' = a; states may grow."""
    recurrence, error = Recurrence(arrays), 0.0
    state = recurrence.state
    for _ in range(recurrence.steps):
        error = recurrence.argument_error(state, error)
        state = max(state, recurrence.argument(state))
    return error


def bound_lstm(arrays: Arrays) -> float:
    """The cell takes C (a/4 + U) + (a/4 + U) + (a + U) + 3 U (C + 1) a step, and passes it on."""
    recurrence, error, cell_error = Recurrence(arrays), 0.0, 0.0
    cell = largest(arrays["c"])
    for _ in range(recurrence.steps):
        a = recurrence.argument_error(max(1.0, recurrence.state), error)
        cell_error += (cell + 1) * (a / 4 + U) + a + U + 3 * U * (cell + 1)
        cell += 1
        error = cell_error + a / 4 + 3 * U
    return max(error, cell_error)


def bound_gru(arrays: Arrays, rounding: float = 0.0) -> float:
    """e' = e + (1 + H)(a/4 + U) + error of `new` + 4 U (1 + H), whose argument is 2 A at most.

    `rounding`: how far apart two states lie that were rounded to the two sides of a tie.
    """
    recurrence, error = Recurrence(arrays), 0.0
    state = max(1.0, recurrence.state)
    size = recurrence.argument(state)
    for _ in range(recurrence.steps):
        a = recurrence.argument_error(state, error)
        new_error = 2 * a + size * (a / 4 + U) + 3 * U * size + U
        error += (1 + state) * (a / 4 + U) + new_error + 4 * U * (1 + state) + rounding * state
    return error


def bound_gru_bf16(arrays: Arrays) -> float:
    """As f32, but that every state is rounded to 8 bits."""
    return bound_gru(arrays, 2.0**-8)


BOUNDS: dict[str, Callable[[Arrays], float]] = {
    "mean": bound_mean,
    "variance": bound_variance,
    "layer_norm": bound_layer_norm,
    "softmax": bound_softmax,
    "attention": bound_attention,
    "rnn": bound_rnn,
    "rnn_relu_skip": bound_rnn_relu,
    "lstm": bound_lstm,
    "lstm_skip": bound_lstm,
    "gru": bound_gru,
    "gru_skip": bound_gru,
    "gru_skip_bf16": bound_gru_bf16,
}
