"""One matrix product on one core: generated C against the libraries.

In: a shape and types. Out: a Row. Not its job: which shapes, text.

As DeepBench has it, in column-major terms C[m, n] = A[m, k] * B[k, n]; so C lies as [n, m], A as
[k, m] (a_t: [m, k]) and B as [n, k] (b_t: [k, n]), row-major. A holds the weights.
"""

import tempfile
import time
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import ml_dtypes
import numpy as np
from cpu_measure import LONG_SECONDS, Core, Run, aligned, cold, warm
from cpu_rivals import Product, rivals
from cpu_table import OURS, TUNED, Row, Side
from gemmini_heuristic import Shape

import isamap
from isamap.costmodels import CostModel
from isamap.measured import Measured

KERNEL = """
from isamap.lang import In, Out, bf16, f32, grid, i8, i32, kernel, u8

@kernel
def product(m=1, n=1, k=1):
    A, B, C = In({a}, {a_shape}), In({b}, {b_shape}), Out({c}, n, m)
    for j, i, p in grid(n, m, k):
        C[j, i] += {value}
"""
TYPES = {"f32": ("f32", "f32", "f32"), "bf16": ("bf16", "bf16", "f32"), "i8": ("i8", "u8", "i32")}
NUMPY = {"f32": np.float32, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "u8": np.uint8}
SIDES: tuple[tuple[Side, tuple[str, ...]], ...] = ((Side.PLAIN, ()), (Side.AHEAD, ("A",)))
CHECKED = 64  # rows and columns whose products are compared
LARGEST = 4  # floats are whole numbers up to this: sums are exact in any order


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for one search, for one contestant's warm runs, and for tuning (0: nothing is)."""

    search_s: float
    measure_s: float
    tune_s: float = 0.0


def num_bytes(shape: Shape, types: str) -> int:
    """Of the three arrays."""
    inner, outer = {"f32": (4, 4), "bf16": (2, 4), "i8": (1, 4)}[types]
    return inner * shape.k * (shape.m + shape.n) + outer * shape.m * shape.n


def label(shape: Shape) -> str:
    """`1760,16,1760 TN`: sizes, then how A and B are stored."""
    flags = "".join("T" if flag else "N" for flag in (shape.a_t, shape.b_t))
    return f"{shape.m},{shape.n},{shape.k} {flags}"


def solve_gemm(shape: Shape, types: str, machine: str, core: Core, limits: Limits) -> Row:
    """Build the product as it lies and with A packed ahead, each tuned, too, if there is time for
    that, and measure everything."""
    begin = time.monotonic()
    arrays = _arrays(shape, types)
    a, b = arrays["A"], arrays["B"]
    a, b = (a if shape.a_t else a.T), (b.T if shape.b_t else b)
    every: dict[tuple[str, str], Run] = {}
    spent: dict[str, dict[str, float]] = {OURS: {}, TUNED: {}}
    right = []
    forms = [(OURS, "analytical")]
    if limits.tune_s:
        forms.append((TUNED, Measured(seconds=limits.tune_s)))
    for (name, cost), (side, ahead) in product(forms, SIDES):
        start = time.monotonic()
        built = _build(shape, types, machine, ahead, limits, cost)
        spent[name][side.value] = time.monotonic() - start
        given = {name: arrays[name] for name in ahead}
        rest = {name: array for name, array in arrays.items() if name not in ahead}
        every[name, side.value] = built.prepare(**given).repeat(**rest)
        arrays["C"][...] = 0
        every[name, side.value]()
        right.append(_is_right(a, b, arrays["C"]))
    rival_a, rival_b = (x.astype(np.float32) if types == "bf16" else x for x in (a, b))
    for rival in rivals(Product(types, rival_a, rival_b, np.empty_like(arrays["C"]))):
        side = Side.AHEAD if rival.is_packed else Side.PLAIN
        every[rival.name, side.value] = rival.run
    named = {f"{name} {side}": run for (name, side), run in every.items()}
    operations = 2.0 * shape.m * shape.n * shape.k
    bound_s, binds = core.bound(types, operations, num_bytes(shape, types))
    hot = warm(named, limits.measure_s)
    cool = cold(named) if max(t.seconds for t in hot.values()) < LONG_SECONDS else hot
    return Row(
        "gemm", types, label(shape), operations, bound_s, binds,
        {name: [t.seconds, t.scatter] for name, t in hot.items()},
        {name: [t.seconds, t.scatter] for name, t in cool.items()},
        spent[OURS], all(right), time.monotonic() - begin, tuned_s=spent[TUNED],
    )  # fmt: skip


def _build(
    shape: Shape,
    types: str,
    machine: str,
    ahead: tuple[str, ...],
    limits: Limits,
    cost: str | CostModel = "analytical",
) -> isamap.BuiltKernel:
    a, b, c = TYPES[types]
    first = "A[i, p]" if shape.a_t else "A[p, i]"
    second = "B[p, j]" if shape.b_t else "B[j, p]"
    value = f"{first} * {second}" if types == "f32" else f"{c}({first}) * {c}({second})"
    text = KERNEL.format(
        a=a, b=b, c=c, value=value,
        a_shape="m, k" if shape.a_t else "k, m",
        b_shape="k, n" if shape.b_t else "n, k",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="isamap-cpu-") as folder:
        path = Path(folder, "product.py")
        path.write_text(text)
        return isamap.build(
            path, machine, sizes={"m": shape.m, "n": shape.n, "k": shape.k}, out=Path(folder),
            may_reassociate=True, time_limit_s=limits.search_s, ahead=ahead, verify="off",
            cost=cost,
        )  # fmt: skip


def _arrays(shape: Shape, types: str) -> dict[str, np.ndarray]:
    a, b, _ = TYPES[types]
    rng = np.random.default_rng(0)
    sizes = {
        "A": (shape.m, shape.k) if shape.a_t else (shape.k, shape.m),
        "B": (shape.k, shape.n) if shape.b_t else (shape.n, shape.k),
    }
    found = {}
    for name, kind in (("A", a), ("B", b)):
        dtype = np.dtype(NUMPY[kind])
        low, high = {"i8": (-127, 127), "u8": (0, 127)}.get(kind, (-LARGEST, LARGEST))
        values = rng.integers(low, high, sizes[name], np.int8, endpoint=True)
        found[name] = aligned(sizes[name], dtype)
        found[name][...] = values.astype(dtype)
    found["C"] = aligned((shape.n, shape.m), np.dtype(np.int32 if types == "i8" else np.float32))
    return found


def _is_right(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> bool:
    """Some rows and columns of C, first, last and in between, against f64."""
    rows = np.unique(np.linspace(0, c.shape[0] - 1, CHECKED).astype(int))
    columns = np.unique(np.linspace(0, c.shape[1] - 1, CHECKED).astype(int))
    expected = b[rows].astype(np.float64) @ a[columns].astype(np.float64).T
    return bool(np.array_equal(c[np.ix_(rows, columns)].astype(np.float64), expected))
