"""A GRU layer on one core: generated C against torch.

In: a shape. Out: a Row. Not its job: which shapes, text.

The layer is `kernels/gru.py` with as many inputs as hidden units; a step of DeepBench's long
sequences costs what a step of a short one does, so that few steps are run. Weights are W and U.
"""

import time

import numpy as np
from cpu_gemm import Limits
from cpu_measure import Core, Run, cold, warm
from cpu_rivals import find_torch
from cpu_table import Row, Side
from rnn_row import RnnShape

import isamap
from isamap.native import aligned_bytes

WEIGHTS = ("W", "U")
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
            ahead=ahead,
        )  # fmt: skip
        built_s[side.value] = time.monotonic() - start
        arrays = arrays or _arrays(built, shape)
        given = {name: arrays[name] for name in ahead}
        rest = {name: array for name, array in arrays.items() if name not in ahead}
        runs[f"isamap {side.value}"] = built.prepare(**given).repeat(**rest)
        runs[f"isamap {side.value}"]()
        states.append(arrays["h"][1:].copy())
    is_right = bool(np.allclose(states[0], states[1], rtol=0, atol=CLOSE))
    rival = _torch(shape, arrays)
    if rival is not None:
        runs[f"torch {Side.PLAIN.value}"], expected = rival
        is_right &= all(np.allclose(own, expected, rtol=0, atol=CLOSE) for own in states)
    operations = 2.0 * 2 * 3 * shape.hidden**2 * shape.batch * shape.steps
    step_bytes = 4.0 * 3 * shape.hidden**2
    step_s, binds = core.bound("f32", operations / 2 / shape.steps, step_bytes)
    bound_s = step_s * shape.steps + operations / 2 / core.peaks["f32"]
    hot, cool = warm(runs, limits.measure_s), cold(runs, 3)
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
            room = aligned_bytes(4 * int(np.prod(buffer.shape))).view(np.float32)
            room[...] = rng.standard_normal(room.size) / shape.hidden**0.5
            found[buffer.name] = room.reshape(buffer.shape)
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
