"""Element-wise kernels and reductions of rows on one core: generated C against torch and NumPy.

In: a kernel, a shape. Out: a Row. Not its job: other kinds, text.

Ours runs twice: floats summed in the kernel's order, and in any order. Libraries, which sum in any
order, stand on both sides.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cpu_gemm import Limits
from cpu_measure import Core, Run, aligned, cold, warm
from cpu_rivals import find_torch
from cpu_table import Row, Side

import isamap

SHAPES = ((512, 1024), (64, 4096), (35, 2560), (4096, 64), (7, 5))
OWN = Path(__file__).parent / "row_kernels.py"
CLOSE = 1e-5  # of the largest number: sums of different orders lie closer
Arrays = Mapping[str, np.ndarray]
ORDERS = {Side.ORDERED: False, Side.FREE: True}  # may floats be reassociated?


@dataclass(frozen=True, slots=True)
class RowKernel:
    """A kernel, as NumPy writes it, how many operations an element takes, and whether as much is
    written as is read."""

    kernel: str
    numpy: Callable[[Arrays], np.ndarray]
    operations: int
    is_whole: bool = True


def _softmax(a: Arrays) -> np.ndarray:
    power = np.exp(a["x"] - a["x"].max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def _layer_norm(a: Arrays) -> np.ndarray:
    x = a["x"]
    middle, spread = x.mean(axis=1, keepdims=True), x.var(axis=1, keepdims=True)
    return (x - middle) / np.sqrt(spread + np.float32(1e-5)) * a["gamma"] + a["beta"]


def _gelu(a: Arrays) -> np.ndarray:
    x, half = a["x"], np.float32(0.5)
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
    return half * x * (np.float32(1) + np.tanh(inner))


KERNELS: dict[str, RowKernel] = {
    "softmax": RowKernel("softmax", _softmax, 5),
    "layer_norm": RowKernel("layer_norm", _layer_norm, 8),
    "gelu": RowKernel(f"{OWN}:gelu", _gelu, 10),
    "relu_bias": RowKernel(f"{OWN}:relu_bias", lambda a: np.maximum(a["x"] + a["bias"], 0), 2),
    "row_max": RowKernel("reductions:row_max", lambda a: a["x"].max(axis=1), 1, False),
    "mean": RowKernel("reductions:mean", lambda a: a["x"].mean(axis=1), 1, False),
    "variance": RowKernel("reductions:variance", lambda a: a["x"].var(axis=1), 4, False),
}


def _torch(name: str, a: Arrays) -> Run | None:
    torch = find_torch()
    if torch is None:
        return None
    x = torch.from_numpy(a["x"])
    rest = [torch.from_numpy(array) for key, array in a.items() if key != "x"]
    norm = torch.nn.functional.layer_norm
    runs: dict[str, Run] = {
        "softmax": lambda: torch.softmax(x, 1),
        "layer_norm": lambda: norm(x, x.shape[1:], rest[0], rest[1], 1e-5),
        "gelu": lambda: torch.nn.functional.gelu(x, approximate="tanh"),
        "relu_bias": lambda: torch.relu(x + rest[0]),
        "row_max": lambda: torch.amax(x, 1),
        "mean": lambda: torch.mean(x, 1),
        "variance": lambda: torch.var(x, 1, correction=0),
    }
    return runs[name]


def label(name: str, shape: tuple[int, int]) -> str:
    """`softmax 512 x 1024`."""
    return f"{name} {shape[0]} x {shape[1]}"


def solve_rows(name: str, shape: tuple[int, int], machine: str, core: Core, limits: Limits) -> Row:
    """Build the kernel twice, and measure everything."""
    begin = time.monotonic()
    runs, built_s, is_right = make_runs(name, shape, machine, limits)
    elements = float(np.prod(shape))
    operations = KERNELS[name].operations * elements
    num_bytes = 4 * elements * (2 if KERNELS[name].is_whole else 1)
    bound_s, binds = core.bound("f32", operations, num_bytes)
    hot, cool = warm(runs, limits.measure_s), cold(runs)
    return Row(
        "rows", "f32", label(name, shape), operations, bound_s, binds,
        {name: [t.seconds, t.scatter] for name, t in hot.items()},
        {name: [t.seconds, t.scatter] for name, t in cool.items()},
        built_s, is_right, time.monotonic() - begin,
    )  # fmt: skip


def make_runs(
    name: str, shape: tuple[int, int], machine: str, limits: Limits
) -> tuple[dict[str, Run], dict[str, float], bool]:
    """Every contestant, seconds of building ours, and whether all give the same numbers."""
    own = KERNELS[name]
    runs: dict[str, Run] = {}
    built_s: dict[str, float] = {}
    found: list[np.ndarray] = []
    arrays: dict[str, np.ndarray] = {}
    for side, may_reassociate in ORDERS.items():
        start = time.monotonic()
        sizes = dict(zip("mn", shape, strict=True))
        built = isamap.build(
            own.kernel, machine, sizes=sizes, may_reassociate=may_reassociate,
            time_limit_s=limits.search_s, verify="off",
        )  # fmt: skip
        built_s[side.value] = time.monotonic() - start
        arrays = arrays or _arrays(built)
        outputs = [b for b in built.kernel.buffers if b.role.value == "Out"]
        results = {b.name: _room(b.shape) for b in outputs}
        runs[f"isamap {side.value}"] = built.prepare().repeat(**arrays, **results)
        runs[f"isamap {side.value}"]()
        found.append(results[outputs[0].name])
    rival = _torch(name, arrays)
    if rival is not None:
        runs[f"torch {Side.FREE.value}"] = rival
    runs[f"NumPy {Side.FREE.value}"] = lambda: own.numpy(arrays)
    exact = own.numpy({key: array.astype(np.float64) for key, array in arrays.items()})
    scale = max(1.0, float(np.abs(exact).max()))
    is_right = all(bool(np.abs(mine - exact).max() <= CLOSE * scale) for mine in found)
    return runs, built_s, is_right


def _room(shape: tuple[int, ...]) -> np.ndarray:
    return aligned(shape, np.dtype(np.float32))


def _arrays(built: isamap.BuiltKernel) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    found = {}
    for buffer in built.kernel.buffers:
        if buffer.role.value == "In":
            found[buffer.name] = _room(buffer.shape)
            found[buffer.name][...] = rng.standard_normal(buffer.shape)
    return found
