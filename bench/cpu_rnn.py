"""A GRU or LSTM layer on one core: generated C against torch and oneDNN's primitive.

In: a shape. Out: a Row. Not its job: which shapes, text.

The layer is `kernels/gru.py` or `lstm.py` with as many inputs as hidden units, and as many steps as
the shortest of DeepBench's long sequences has (187) or fewer: a shared cache keeps U only after it
has been read up to twenty times (75 MiB on a Golden Cove core), before that steps read it from
memory. Weights are W and U. An LSTM's cell goes on from call to call.
"""

import ctypes
import time

import numpy as np
from cpu_gemm import Limits
from cpu_measure import Core, Run, aligned, cold, warm
from cpu_rivals import find_dnnl, find_torch
from cpu_table import Row, Side
from rnn_row import GATES, Cell, RnnShape

import isamap

WEIGHTS = ("W", "U")
COLD_ROUNDS = 3
CLOSE = 1e-4  # how far results of different orders of summation lie apart here, states being < 1


def label(shape: RnnShape) -> str:
    """`512 units, batch 4, 50 steps`."""
    return f"{shape.hidden} units, batch {shape.batch}, {shape.steps} steps"


def solve_layer(shape: RnnShape, machine: str, core: Core, limits: Limits) -> Row:
    """Build the layer twice, as it lies and with weights packed ahead, and measure everything."""
    begin = time.monotonic()
    sizes = {
        "steps": shape.steps, "batch": shape.batch,
        "inputs": shape.hidden, "hidden": shape.hidden,
    }  # fmt: skip
    runs: dict[str, Run] = {}
    built_s: dict[str, float] = {}
    states: list[np.ndarray] = []
    arrays: dict[str, np.ndarray] = {}
    for side, ahead in ((Side.PLAIN, ()), (Side.AHEAD, WEIGHTS)):
        start = time.monotonic()
        built = isamap.build(
            shape.cell.value, machine, sizes=sizes, may_reassociate=True,
            time_limit_s=limits.search_s, ahead=ahead, verify="off",
        )  # fmt: skip
        built_s[side.value] = time.monotonic() - start
        arrays = arrays or _arrays(built, shape)
        given = {name: arrays[name] for name in ahead}
        rest = {name: array for name, array in arrays.items() if name not in ahead}
        if shape.cell is Cell.LSTM:
            rest["c"] = arrays["c"].copy()  # each begins with the same cell
        runs[f"isamap {side.value}"] = built.prepare(**given).repeat(**rest)
        runs[f"isamap {side.value}"]()
        states.append(arrays["h"][1:].copy())
    is_right = bool(np.allclose(states[0], states[1], rtol=0, atol=CLOSE))
    for name, rival in (("torch", _torch(shape, arrays)), ("oneDNN", _dnnl(shape, arrays))):
        if rival is not None:
            run, expected = rival
            runs[f"{name} {Side.AHEAD.value}"] = run
            is_right &= all(np.allclose(own, expected, rtol=0, atol=CLOSE) for own in states)
    operations = 2.0 * 2 * GATES[shape.cell] * shape.hidden**2 * shape.batch * shape.steps
    step_bytes = 4.0 * GATES[shape.cell] * shape.hidden**2
    step_s, binds = core.bound("f32", operations / 2 / shape.steps, step_bytes)
    bound_s = step_s * shape.steps + operations / 2 / core.peaks["f32"]
    hot, cool = warm(runs, limits.measure_s), cold(runs, COLD_ROUNDS)
    return Row(
        shape.cell.value, "f32", label(shape), operations, bound_s, binds,
        {name: [t.seconds, t.scatter] for name, t in hot.items()},
        {name: [t.seconds, t.scatter] for name, t in cool.items()},
        built_s, is_right, time.monotonic() - begin, shape.steps,
    )  # fmt: skip


def _arrays(built: isamap.BuiltKernel, shape: RnnShape) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {}
    for buffer in built.kernel.buffers:
        if buffer.role.value in ("In", "InOut"):
            found[buffer.name] = aligned(buffer.shape, np.dtype(np.float32))
            found[buffer.name][...] = rng.standard_normal(buffer.shape) / shape.hidden**0.5
    return found


def _torch(shape: RnnShape, arrays: dict[str, np.ndarray]) -> tuple[Run, np.ndarray] | None:
    """torch's layer with the same weights, and its states."""
    torch = find_torch()
    if torch is None:
        return None
    is_gru = shape.cell is Cell.GRU
    layer = (torch.nn.GRU if is_gru else torch.nn.LSTM)(shape.hidden, shape.hidden).eval()
    for ours, theirs in (("W", "weight_ih_l0"), ("U", "weight_hh_l0")):
        rows = arrays[ours].transpose(1, 2, 0).reshape(-1, shape.hidden)
        getattr(layer, theirs).copy_(torch.from_numpy(np.ascontiguousarray(rows)))
    for ours, theirs in (("bias", "bias_ih_l0"), ("recurrent_bias", "bias_hh_l0")):
        values = arrays.get(ours, np.zeros_like(arrays["bias"]))  # an LSTM's are added up
        getattr(layer, theirs).copy_(torch.from_numpy(values.reshape(-1)))
    x, h = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["h"][:1].copy())
    first = h if is_gru else (h, torch.from_numpy(arrays["c"][None]))
    return (lambda: layer(x, first)), layer(x, first)[0].numpy()


def _dnnl(shape: RnnShape, arrays: dict[str, np.ndarray]) -> tuple[Run, np.ndarray] | None:
    """oneDNN's primitive with the same weights in the form that it asks for, and its states."""
    library = find_dnnl()
    if library is None:
        return None
    w, u, bias, cell = arrays["W"], arrays["U"], arrays["bias"], arrays.get("c")
    if shape.cell is Cell.GRU:
        order = [1, 0, 2]  # update, reset, new
        w, u = (np.ascontiguousarray(array[:, order]) for array in (w, u))
        again = arrays["recurrent_bias"]
        bias = np.concatenate((bias[order], again[2:]))
        bias[:2] += again[order[:2]]
    states = np.zeros((shape.steps, shape.batch, shape.hidden), np.float32)
    kept = (arrays["x"], np.ascontiguousarray(arrays["h"][0]), cell, w, u, bias, states)
    library.rnn_make.restype = ctypes.c_void_p
    sizes = (shape.steps, shape.batch, shape.hidden, shape.hidden)
    places = (ctypes.c_void_p(None if array is None else array.ctypes.data) for array in kept)
    layer = library.rnn_make(*map(ctypes.c_int64, sizes), *places)
    if not layer:
        return None
    handle = ctypes.c_void_p(layer)

    def run(keep: object = kept) -> None:
        assert library.rnn_run(handle) == 0, "oneDNN failed"

    run()
    return run, states
