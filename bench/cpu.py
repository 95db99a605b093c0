"""Matrix products on this processor: generated C against NumPy's library, on one core.

In: shapes m,n,k on the command line, or the default ones. Out: a Markdown table. Not its job:
choosing schedules, checking results beyond one comparison.

Runs alternate; each figure is the median of processor seconds of the calling thread, so that other
processes on a shared core do not count. Buffers that the program wants packed are packed before the
clock starts, and named. NumPy has no bfloat16 or u8 x i8 product to compare with.
Run with OPENBLAS_NUM_THREADS=1, best on a pinned core: `taskset -c 1 python bench/cpu.py`.
"""

import ctypes
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import isamap
from isamap.ir import interpret
from isamap.native import whole_arrays
from isamap.program import pack

MACHINE = "x86_avx512"
SHAPES = (
    (127, 129, 131), (512, 512, 512), (1024, 1024, 1024), (1760, 16, 1760), (1760, 128, 1760),
    (2560, 64, 2560), (35, 700, 2048),
)  # fmt: skip
TYPES = (("f32", "f32", "f32"), ("bf16", "bf16", "f32"), ("u8", "i8", "i32"))
KERNEL = """
from isamap.lang import In, Out, bf16, f32, grid, i8, i32, kernel, u8

@kernel
def product(m=1, n=1, k=1):
    A, B, C = In({a}, m, k), In({b}, k, n), Out({c}, m, n)
    for i, j, p in grid(m, n, k):
        C[i, j] += {c}(A[i, p]) * {c}(B[p, j])
"""
SECONDS = 1.5  # per row and contestant
CHECKED = 2**27  # iterations up to which the result is compared


def main(shapes: list[tuple[int, int, int]]) -> None:
    """Print a row per shape and type."""
    print("| types | m, n, k | isamap GOP/s | NumPy GOP/s | ratio | if caches always hit", end="")
    print(" | packed | right |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for a, b, c in TYPES:
            text = KERNEL.format(a=a, b=b, c=c).replace(f"{c}(A[i, p]) * {c}(B[p, j])", "X")
            same = a == c
            value = "A[i, p] * B[p, j]" if same else f"{c}(A[i, p]) * {c}(B[p, j])"
            path = Path(folder, f"{a}_{b}.py")
            path.write_text(text.replace("X", value))
            for shape in shapes:
                print(row(path, (a, b, c), shape), flush=True)


def row(path: Path, types: tuple[str, str, str], shape: tuple[int, int, int]) -> str:
    """One line of the table."""
    m, n, k = shape
    built = isamap.build(path, MACHINE, sizes={"m": m, "n": n, "k": k}, may_reassociate=True)
    arrays = whole_arrays(built.kernel, 0)
    target = np.zeros((m, n), np.int32 if types[2] == "i32" else np.float32)
    places = [
        target if p.is_written and p.layout.is_natural
        else pack({**arrays, "C": target}[p.buffer], p.layout)
        for p in built.source.parameters
    ]  # fmt: skip
    pointers = [ctypes.c_void_p(place.ctypes.data) for place in places]
    library: Callable[[], object] | None = None
    if types[0] == "f32":
        out = np.empty_like(target)
        library = lambda: np.matmul(arrays["A"], arrays["B"], out=out)  # noqa: E731
    ours, theirs = measure(lambda: built.run(pointers), library)
    work = 2 * m * n * k / 1e9
    predicted = work / (built.mapped.cycles / built.mapped.hardware.clock_hz)
    right = "not compared"
    if m * n * k <= CHECKED:
        is_right = np.array_equal(built(**arrays), interpret(built.kernel, arrays)["C"])
        right = "exact" if is_right else "WRONG"
    numpy_text = f"{work / theirs:.0f} | {theirs / ours:.2f}" if theirs else "- | -"
    packed = ", ".join(built.packed) or "none"
    return (
        f"| {types[0]} x {types[1]} | {m}, {n}, {k} | {work / ours:.0f} | {numpy_text} |"
        f" {predicted:.0f} | {packed} | {right} |"
    )


def measure(ours: Callable[[], object], theirs: Callable[[], object] | None) -> tuple[float, float]:
    """Medians of alternating runs; 0 for a missing rival."""
    first, second = [], []
    ours()
    end = time.monotonic() + SECONDS * (2 if theirs else 1)
    while time.monotonic() < end or len(first) < 5:
        for run, seconds in ((ours, first), (theirs, second)):
            if run is not None:
                begin = time.thread_time()
                run()
                seconds.append(time.thread_time() - begin)
    return statistics.median(first), statistics.median(second) if second else 0.0


if __name__ == "__main__":
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        sys.exit("set OPENBLAS_NUM_THREADS=1: NumPy would use every core")
    given = [tuple(map(int, text.split(","))) for text in sys.argv[1:]]
    main([(m, n, k) for m, n, k in given] or list(SHAPES))
