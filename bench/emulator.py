"""How many calls a second the emulator executes and times.

In: nothing. Out: a text table with processor and versions; `python bench/emulator.py`.
Not its job: correctness (tests/emulator).
"""

import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from isamap.c_compiler import find_compiler  # noqa: E402
from isamap.emulator import run, time_program  # noqa: E402
from tests.emulator.hand_programs import gemm, machine  # noqa: E402

SIZES = ((2048, 704, 2048), (5124, 700, 2048))


def best_seconds(action: Callable[[], object], runs: int = 3) -> tuple[float, float]:
    """First run (with compiling, if the cache is cold) and the best of the others."""
    taken = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        action()
        taken.append(time.perf_counter() - start)
    return taken[0], min(taken[1:])


def processor() -> str:
    """The processor's name, as the system tells it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor()


def main() -> None:
    """Print one line per size and mode."""
    compiler = find_compiler()
    assert compiler, "the benchmark is about the compiled emulator"
    version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True)
    print(f"processor  {processor()}")
    print(f"compiler   {version.stdout.splitlines()[0]}")
    print(f"python     {platform.python_version()}, numpy {np.__version__}")
    print(f"{'mode':<11} {'m x n x k':<18} {'calls':>9} {'mma':>9} {'first s':>8} {'best s':>8}"
          f" {'calls/s':>10} {'mma/s':>10}")  # fmt: skip
    for m, n, k in SIZES:
        measure(m, n, k)


def measure(m: int, n: int, k: int) -> None:
    """Print both modes' lines for one product of matrices."""
    hardware, program = machine("tiny"), gemm(m, n, k, buffers=2)
    random = np.random.default_rng(0)
    arrays = {
        "A": random.integers(-128, 128, (m, k)).astype(np.int8),
        "B": random.integers(-128, 128, (k, n)).astype(np.int8),
    }
    counts = dict(time_program(program, hardware).calls)
    calls, products = sum(counts.values()), counts["mma"]
    for mode, action in (
        ("timing", lambda: time_program(program, hardware, compiled=True)),
        ("functional", lambda: run(program, hardware, arrays, compiled=True)),
    ):
        first, best = best_seconds(action)
        print(f"{mode:<11} {f'{m} x {n} x {k}':<18} {calls:>9} {products:>9} {first:>8.2f}"
              f" {best:>8.2f} {calls / best:>10.3g} {products / best:>10.3g}")  # fmt: skip


if __name__ == "__main__":
    main()
