"""One convolution on one core: generated C against torch, whose convolutions are oneDNN's.

In: a shape. Out: a Row. Not its job: which shapes, text.

Channels lie last in x [n, h, w, c] and y, weights are [r, s, c, k]: so lies what torch calls
channels-last. Weights packed ahead are in the form that oneDNN asked for.
"""

import time

import numpy as np
from conv_row import KERNELS, ConvShape
from cpu_gemm import LARGEST, Limits
from cpu_measure import LONG_SECONDS, Core, Run, aligned, cold, warm
from cpu_rivals import find_torch
from cpu_table import Row, Side

import isamap
from isamap.ir import load_kernel

KERNEL = "conv2d_f32"


def label(shape: ConvShape) -> str:
    """`4 x 14x14x256 -> 256, 3x3` with stride and padding where there are any."""
    text = f"{shape.n} x {shape.h}x{shape.w}x{shape.c} -> {shape.k}, {shape.r}x{shape.s}"
    text += f", stride {shape.stride}" if shape.stride > 1 else ""
    return text + (f", padding {shape.pad}" if shape.pad else "")


def sizes(shape: ConvShape) -> dict[str, int]:
    """The kernel's sizes."""
    names = ("n", "h", "w", "c", "k", "r", "s", "stride", "pad")
    return {name: getattr(shape, name) for name in names}


def operations(shape: ConvShape) -> float:
    """Multiplications and additions, those with the padding's zeros too."""
    height, width = (
        (size + 2 * shape.pad - window) // shape.stride + 1
        for size, window in ((shape.h, shape.r), (shape.w, shape.s))
    )
    return 2.0 * shape.n * height * width * shape.k * shape.c * shape.r * shape.s


def solve_conv(shape: ConvShape, machine: str, core: Core, limits: Limits) -> Row:
    """Build the layer twice, as it lies and with weights packed ahead, and measure everything."""
    begin = time.monotonic()
    kernel = load_kernel(KERNELS, sizes(shape), KERNEL)
    arrays = {b.name: _whole_numbers(b.shape, seed) for seed, b in enumerate(kernel.buffers)}
    runs: dict[str, Run] = {}
    built_s: dict[str, float] = {}
    expected = _torch_once(arrays, shape)
    is_right = True
    for side, ahead in ((Side.PLAIN, ()), (Side.AHEAD, ("weights",))):
        start = time.monotonic()
        built = isamap.build(
            f"{KERNELS}:{KERNEL}", machine, sizes=sizes(shape), may_reassociate=True,
            time_limit_s=limits.search_s, ahead=ahead, verify="off",
        )  # fmt: skip
        built_s[side.value] = time.monotonic() - start
        given = {name: arrays[name] for name in ahead}
        rest = {name: array for name, array in arrays.items() if name not in ahead}
        runs[f"isamap {side.value}"] = built.prepare(**given).repeat(**rest)
        arrays["y"][...] = 0
        runs[f"isamap {side.value}"]()
        is_right &= expected is None or bool(np.array_equal(arrays["y"], expected))
    runs |= _torch(arrays, shape)
    num_bytes = sum(array.nbytes for array in arrays.values())
    bound_s, binds = core.bound("f32", operations(shape), num_bytes)
    hot = warm(runs, limits.measure_s)
    cool = cold(runs) if max(t.seconds for t in hot.values()) < LONG_SECONDS else hot
    return Row(
        "conv", "f32", label(shape), operations(shape), bound_s, binds,
        {name: [t.seconds, t.scatter] for name, t in hot.items()},
        {name: [t.seconds, t.scatter] for name, t in cool.items()},
        built_s, is_right, time.monotonic() - begin,
    )  # fmt: skip


def _whole_numbers(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Floats that are small whole numbers: their sums are exact in any order."""
    room = aligned(shape, np.dtype(np.float32))
    rng = np.random.default_rng(seed)
    room[...] = rng.integers(-LARGEST, LARGEST, shape, np.int8, endpoint=True)
    return room


def _torch_once(arrays: dict[str, np.ndarray], shape: ConvShape) -> np.ndarray | None:
    """What torch computes."""
    run = _torch(arrays, shape).get(f"torch {Side.PLAIN.value}")
    return None if run is None else run().permute(0, 2, 3, 1).numpy()  # type: ignore[attr-defined]


def _torch(arrays: dict[str, np.ndarray], shape: ConvShape) -> dict[str, Run]:
    """torch's layer on the same arrays, and with weights in oneDNN's own form."""
    torch = find_torch()
    if torch is None:
        return {}
    x = torch.from_numpy(arrays["x"]).permute(0, 3, 1, 2)
    weights = torch.from_numpy(np.ascontiguousarray(arrays["weights"].transpose(3, 2, 0, 1)))
    weights = weights.to(memory_format=torch.channels_last)
    form = [[shape.pad] * 2, [shape.stride] * 2, [1, 1]]
    packed = torch.ops.mkldnn._reorder_convolution_weight(weights, *form, 1, list(x.shape))
    call = torch.ops.mkldnn._convolution_pointwise
    return {
        f"torch {Side.PLAIN.value}": lambda: torch.conv2d(
            x, weights, stride=shape.stride, padding=shape.pad
        ),
        f"oneDNN {Side.AHEAD.value}": lambda: call(x, packed, None, *form, 1, "none", [], ""),
    }
