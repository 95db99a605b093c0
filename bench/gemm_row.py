"""One matrix product of DeepBench: schedule, bounds, emulated time, and Gemmini's heuristic.

In: a shape, a machine's file, limits. Out: a GemmResult. Not its job: reading the list of shapes,
printing.
"""

from dataclasses import dataclass
from pathlib import Path

from figures import Figures, Limits
from gemmini_heuristic import Shape, heuristic_program
from measure import bound, compare, emulate, guard, schedule

from isamap.hwdesc import Hardware
from isamap.ir import Kernel, load_kernel

KERNELS = Path(__file__).resolve().parent.parent / "kernels" / "gemm.py"
KERNEL_NAMES = {
    (False, False): "gemm",
    (True, False): "gemm_tn",
    (False, True): "gemm_nt",
    (True, True): "gemm_tt",
}


@dataclass(frozen=True, slots=True)
class GemmResult(Figures):
    """Figures of one matrix product."""

    shape: Shape


def solve_gemm(shape: Shape, hw_file: str, limits: Limits) -> GemmResult:
    """Schedule, emulate and compare; whatever goes wrong becomes the result's `error`."""
    return guard(GemmResult(shape), hw_file, limits, (_schedule, _bound, _compare))


def _schedule(row: GemmResult, hw: Hardware, limits: Limits) -> GemmResult:
    row, program = schedule(row, gemm_kernel(row.shape), hw, limits)
    return emulate(row, program, hw, limits)


def _bound(row: GemmResult, hw: Hardware, limits: Limits) -> GemmResult:
    return bound(row, gemm_kernel(row.shape), hw)


def gemm_kernel(shape: Shape) -> Kernel:
    """The product with its operands stored as the shape says."""
    sizes = {"m": shape.m, "n": shape.n, "k": shape.k}
    return load_kernel(KERNELS, sizes, KERNEL_NAMES[shape.a_t, shape.b_t])


def _compare(row: GemmResult, hw: Hardware, limits: Limits) -> GemmResult:
    """Gemmini's heuristic on the same emulator, where the machine is Gemmini."""
    if hw.name != "gemmini":
        return row
    return compare(row, heuristic_program(row.shape), hw, limits)
