"""Times of contestants on one core, and what the core can do.

In: callables. Out: medians and how far they scatter. Not its job: what is measured.

Contestants take turns, so that a slow minute hits all of them; a figure is the median of the
thread's processor time, so that other processes on the core do not count (their cache misses do).
"""

import ctypes
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np

from isamap.compile import load_machine
from isamap.errors import IsamapError
from isamap.native import aligned_bytes
from isamap.processor import Peak, detect

Run = Callable[[], object]
SAMPLE_SECONDS = 2e-3  # shorter calls are repeated within a sample
LEAST_ROUNDS = 3
LONG_SECONDS = 0.2  # calls that fill no cache with anything of use to the next one
WARM_UPS = 8  # shared caches keep lines from the third to eighth pass on (75 MiB on a Golden Cove)
COLD_ROUNDS = 5
READINGS = 8  # of each way to read
FLUSH_BYTES = 2**27  # more than any cache
SIZES = (2**14, 2**18, 2**20, 2**23, 2**25, 2**26, 2**27, 2**28)  # of data whose reading is timed
STREAMS = (1, 8)  # parts read side by side
AHEAD = (0, 4096)  # bytes from what is read to what is asked for
PEAKS = {  # what instructions multiply that compute such a product: the fastest one counts
    "f32": ("f32",),
    "bf16": ("bf16", "f32"),
    "i8": ("i8 x u8", "i16"),
}
READ = """#include <stdint.h>
#include <immintrin.h>
#define STEP(i) s##i = _mm256_or_ps(s##i, _mm256_load_ps((const float *)(from + 32 * i)));
#define SUM(i) s0 = _mm256_or_ps(s0, s##i);
void read_all(
    const char *data, int64_t size, int64_t rounds, int64_t streams, int64_t ahead, float *out) {
  __m256 s0 = _mm256_setzero_ps(), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (int64_t round = 0; round < rounds; ++round)
    for (int64_t at = 0; at < size / streams; at += 256)
      for (int64_t stream = 0; stream < streams; ++stream) {
        const char *from = data + stream * (size / streams) + at;
        if (ahead)
          for (int64_t line = 0; line < 256; line += 64)
            _mm_prefetch((const char *)((uintptr_t)from + ahead + line), _MM_HINT_T0);
        STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
      }
  SUM(1) SUM(2) SUM(3) SUM(4) SUM(5) SUM(6) SUM(7)
  _mm256_storeu_ps(out, s0);
}
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of a call: the median, and half the distance between the quartiles over it."""

    seconds: float
    scatter: float


@dataclass(frozen=True, slots=True)
class Core:
    """What one core reaches: operations per second by type, and bytes read per second by size."""

    peaks: Mapping[str, float]
    bandwidths: Mapping[int, float]

    def bound(self, types: str, operations: float, num_bytes: float) -> tuple[float, str]:
        """Least seconds for so many operations and bytes that are touched once, and what binds:
        arithmetic, or reading as fast as the largest data measured that are not more."""
        size = max((size for size in SIZES if size <= num_bytes), default=SIZES[0])
        bandwidth = self.bandwidths[size]
        compute, reading = operations / self.peaks[types], num_bytes / bandwidth
        return max(compute, reading), "peak" if compute >= reading else "bandwidth"


def pin(core: int) -> None:
    """Stay on one core, where the system knows how."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def aligned(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Room for an array, aligned as generated code likes it."""
    size = int(np.prod(shape)) * dtype.itemsize
    return aligned_bytes(size).view(dtype).reshape(shape)


def warm(contestants: Mapping[str, Run], seconds: float) -> dict[str, Timed]:
    """Calls after calls, about so many seconds for each contestant."""
    repeats = {}
    longest = 0.0
    for name, run in contestants.items():
        run()
        once = _time(run, 1)
        longest = max(longest, once)
        repeats[name] = max(1, int(SAMPLE_SECONDS / max(once, 1e-9)))
    found: dict[str, list[float]] = {name: [] for name in contestants}
    end = time.monotonic() + seconds * len(contestants)
    while time.monotonic() < end or len(next(iter(found.values()))) < LEAST_ROUNDS:
        for name, run in contestants.items():
            if longest < LONG_SECONDS:
                _time(run, WARM_UPS)  # its own data come back into the caches
            found[name].append(_time(run, repeats[name]))
    return {name: _timed(samples) for name, samples in found.items()}


def cold(contestants: Mapping[str, Run], rounds: int = COLD_ROUNDS) -> dict[str, Timed]:
    """Single calls, each after all caches were filled with something else."""
    other = np.zeros(FLUSH_BYTES, np.uint8)
    found: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, run in contestants.items():
            other += 1
            found[name].append(_time(run, 1))
    return {name: _timed(samples) for name, samples in found.items()}


def _time(run: Run, repeats: int) -> float:
    begin = time.thread_time()
    for _ in range(repeats):
        run()
    return (time.thread_time() - begin) / repeats


def _timed(samples: list[float]) -> Timed:
    middle = statistics.median(samples)
    if len(samples) < 2:
        return Timed(middle, 0.0)
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return Timed(middle, (high - low) / 2 / middle if middle else 0.0)


def measure_core(machine: str) -> Core:
    """Peaks of the machine's instructions, and read bandwidths, on this core.

    Raises:
        IsamapError: this processor does not have the machine's instructions.
    """
    found = detect(load_machine(machine))
    if found is None or found.reason:
        raise IsamapError(found.reason if found else f"{machine} has no C")
    return Core(fastest(found.peaks), _bandwidths())


def fastest(peaks: Sequence[Peak]) -> dict[str, float]:
    """Operations per second of the fastest instruction for each type of product."""
    return {
        types: max(2 * peak.measured_per_s for peak in peaks if peak.products in products)
        for types, products in PEAKS.items()
    }


def _bandwidths() -> dict[int, float]:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None, "detect has found a compiler"
    with tempfile.TemporaryDirectory(prefix="isamap-read-") as folder:
        source, library = Path(folder, "read.c"), Path(folder, "read.so")
        source.write_text(READ)
        command = [compiler, "-O2", "-mavx", "-shared", "-fPIC", str(source), "-o", str(library)]
        subprocess.run(command, check=True)
        call = ctypes.CDLL(str(library)).read_all
        call.restype = None
        out = np.zeros(64, np.float32)
        found = {}
        for size in SIZES:
            data = aligned_bytes(size)
            data += 1
            place, rounds = ctypes.c_void_p(data.ctypes.data), max(1, 2**26 // size)
            seconds = []
            for streams, ahead in product(STREAMS, AHEAD):
                given = map(ctypes.c_int64, (size, rounds, streams, ahead))
                run = partial(call, place, *given, ctypes.c_void_p(out.ctypes.data))
                seconds += [_time(run, 1) for _ in range(READINGS)]
            found[size] = size * rounds / min(seconds)
    return found
