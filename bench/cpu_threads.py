"""One thread against several: f32 matrix products on this processor.

In: shapes m,n,k on the command line, or the default ones. Out: a table. Not its job: comparing with
libraries (`cpu.py`).

Runs alternate. `wall` is the median by the wall clock; on a machine that others use it says little.
`busiest` is the median of the longest processor time of any one thread: what the wall clock would
say if each thread had a core for itself, memory bandwidth and starting the threads left out.
Run with OMP_WAIT_POLICY=passive, so that a thread that waits for others does not count as busy.
"""

import argparse
import ctypes
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from host import header

import isamap
from isamap.compile import load_machine
from isamap.hwdesc import Hardware
from isamap.processor import NATIVE

KERNEL = "gemm:gemm_f32"
SHAPES = ((1024, 1024, 1024), (1760, 16, 1760), (1760, 128, 1760), (512, 512, 512), (64, 64, 64))
THREADS = (1, 2)
SECONDS = 4.0  # per row
SAMPLE_S = 0.005
THREAD_CLOCK = 6  # of Linux: the clock of a thread's processor time has the number ~thread * 8 + 6


def main(shapes: list[tuple[int, ...]], hw: str) -> None:
    """Print a row per shape."""
    machine = load_machine(hw)
    print("\n".join(header(("numpy", "ortools"))))
    print(f"machine    {machine.name}")
    print(f"load       {os.getloadavg()[0]:.1f} processes wanted one of {os.cpu_count()} cores\n")
    print("| m, n, k | wall 1 | wall 2 | ratio | busiest 1 | busiest 2 | ratio | same bits |")
    print("|---|---|---|---|---|---|---|---|")
    for shape in shapes:
        print(row(machine, *shape), flush=True)


def row(machine: Hardware, m: int, n: int, k: int) -> str:
    """One line of the table."""
    generator = np.random.default_rng(0)
    arrays = [
        generator.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n), (m, n))
    ]
    sizes = {"m": m, "n": n, "k": k}
    built = [
        isamap.build(KERNEL, machine, sizes=sizes, may_reassociate=True, threads=threads)
        for threads in THREADS
    ]
    results = []
    for kernel in built:
        results.append(arrays[2].copy())
        kernel(A=arrays[0], B=arrays[1], C=results[-1])
    same = all(np.array_equal(result, results[0]) for result in results)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    walls: list[list[float]] = [[] for _ in built]
    own: list[list[float]] = [[] for _ in built]
    begin = time.thread_time()
    built[0].run(pointers)
    calls = max(1, round(SAMPLE_S / (time.thread_time() - begin)))
    end = time.monotonic() + SECONDS
    while time.monotonic() < end or len(walls[0]) < 5:
        for number, kernel in enumerate(built):
            before, begin = busy_s(), time.perf_counter()
            for _ in range(calls):
                kernel.run(pointers)
            walls[number].append((time.perf_counter() - begin) / calls)
            spent = (seconds - before.get(task, 0.0) for task, seconds in busy_s().items())
            own[number].append(max(spent) / calls)
    times = [[statistics.median(times) * 1e3 for times in kind] for kind in (walls, own)]
    cells = (f"{one:.3f} ms | {two:.3f} ms | {one / two:.2f}" for one, two in times)
    return f"| {m}, {n}, {k} | {' | '.join(cells)} | {'yes' if same else 'NO'} |"


def busy_s() -> dict[int, float]:
    """Processor seconds of each thread of this process so far."""
    tasks = [int(task.name) for task in Path("/proc/self/task").iterdir()]
    return {task: time.clock_gettime(~task << 3 | THREAD_CLOCK) for task in tasks}


if __name__ == "__main__":
    if os.environ.get("OMP_WAIT_POLICY") != "passive":
        sys.exit("set OMP_WAIT_POLICY=passive: threads that wait would count as busy")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("shapes", nargs="*", help="m,n,k")
    parser.add_argument("--hw", default=NATIVE, help="the machine")
    given = parser.parse_args()
    shapes = [tuple(map(int, text.split(","))) for text in given.shapes]
    main(shapes or list(SHAPES), given.hw)
