"""A GRU layer on one core: generated C against torch and oneDNN's primitive.

In: a shape. Out: a Row. Not its job: which shapes, text.

The layer is `kernels/gru.py` with as many inputs as hidden units; a step of DeepBench's long
sequences costs what a step of a short one does, so that few steps are run. Weights are W and U.
"""

import ctypes
import time

import numpy as np
from cpu_gemm import Limits
from cpu_measure import Core, Run, aligned, cold, warm
from cpu_rivals import find_dnnl, find_torch
from cpu_table import Row, Side
from rnn_row import RnnShape

import isamap

WEIGHTS = ("W", "U")
COLD_ROUNDS = 3
CLOSE = 1e-4  # how far results of different orders of summation lie apart here, states being < 1


def label(shape: RnnShape) -> str:
    """`512 units, batch 4, 50 steps`."""
    return f"{shape.hidden} units, batch {shape.batch}, {shape.steps} steps"


def solve_gru(shape: RnnShape, machine: str, core: Core, limits: Limits) -> Row:
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
            "gru", machine, sizes=sizes, may_reassociate=True, time_limit_s=limits.search_s,
            ahead=ahead, verify="off",
        )  # fmt: skip
        built_s[side.value] = time.monotonic() - start
        arrays = arrays or _arrays(built, shape)
        given = {name: arrays[name] for name in ahead}
        rest = {name: array for name, array in arrays.items() if name not in ahead}
        runs[f"isamap {side.value}"] = built.prepare(**given).repeat(**rest)
        runs[f"isamap {side.value}"]()
        states.append(arrays["h"][1:].copy())
    is_right = bool(np.allclose(states[0], states[1], rtol=0, atol=CLOSE))
    for name, rival in (("torch", _torch(shape, arrays)), ("oneDNN", _dnnl(shape, arrays))):
        if rival is not None:
            run, expected = rival
            runs[f"{name} {Side.AHEAD.value}"] = run
            is_right &= all(np.allclose(own, expected, rtol=0, atol=CLOSE) for own in states)
    operations = 2.0 * 2 * 3 * shape.hidden**2 * shape.batch * shape.steps
    step_bytes = 4.0 * 3 * shape.hidden**2
    step_s, binds = core.bound("f32", operations / 2 / shape.steps, step_bytes)
    bound_s = step_s * shape.steps + operations / 2 / core.peaks["f32"]
    hot, cool = warm(runs, limits.measure_s), cold(runs, COLD_ROUNDS)
    return Row(
        "gru", "f32", label(shape), operations, bound_s, binds,
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
    layer = torch.nn.GRU(shape.hidden, shape.hidden).eval()
    for ours, theirs in (("W", "weight_ih_l0"), ("U", "weight_hh_l0")):
        rows = arrays[ours].transpose(1, 2, 0).reshape(3 * shape.hidden, shape.hidden)
        getattr(layer, theirs).copy_(torch.from_numpy(np.ascontiguousarray(rows)))
    for ours, theirs in (("bias", "bias_ih_l0"), ("recurrent_bias", "bias_hh_l0")):
        getattr(layer, theirs).copy_(torch.from_numpy(arrays[ours].reshape(-1)))
    x, h = torch.from_numpy(arrays["x"]), torch.from_numpy(arrays["h"][:1].copy())
    return (lambda: layer(x, h)), layer(x, h)[0].numpy()


def _dnnl(shape: RnnShape, arrays: dict[str, np.ndarray]) -> tuple[Run, np.ndarray] | None:
    """oneDNN's primitive with the same weights in the form that it asks for, and its states."""
    library = find_dnnl()
    if library is None:
        return None
    order = [1, 0, 2]  # update, reset, new
    w, u = (np.ascontiguousarray(arrays[name][:, order]) for name in WEIGHTS)
    bias = np.zeros((4, shape.hidden), np.float32)
    bias[:3] = arrays["bias"][order]
    bias[:2] += arrays["recurrent_bias"][order[:2]]
    bias[3] = arrays["recurrent_bias"][2]
    states = np.zeros((shape.steps, shape.batch, shape.hidden), np.float32)
    kept = (arrays["x"], np.ascontiguousarray(arrays["h"][0]), w, u, bias, states)
    library.gru_make.restype = ctypes.c_void_p
    sizes = (shape.steps, shape.batch, shape.hidden, shape.hidden)
    places = (ctypes.c_void_p(array.ctypes.data) for array in kept)
    layer = library.gru_make(*map(ctypes.c_int64, sizes), *places)
    if not layer:
        return None
    handle = ctypes.c_void_p(layer)

    def run(keep: object = kept) -> None:
        assert library.gru_run(handle) == 0, "oneDNN failed"

    run()
    return run, states
