"""One matrix product of DeepBench: schedule, bounds, emulated time, and Gemmini's heuristic.

In: a shape, a machine's file, limits. Out: a GemmResult. Not its job: reading the list of shapes,
printing.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from count_calls import count_calls
from extrapolate import extrapolate_cycles
from gemmini_heuristic import Shape, heuristic_program

from isamap.costmodels import roofline
from isamap.emulator import Timing, time_program
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.program import Program
from isamap.scheduler import find_schedule

KERNELS = Path(__file__).resolve().parent.parent / "kernels" / "gemm.py"
KERNEL_NAMES = {
    (False, False): "gemm",
    (True, False): "gemm_tn",
    (False, True): "gemm_nt",
    (True, True): "gemm_tt",
}
PIECES = 8  # programs to extrapolate from are first looked for among those so much smaller


@dataclass(frozen=True, slots=True)
class Limits:
    """What a row may take."""

    emulated_calls: int
    solver_seconds: float


@dataclass(frozen=True, slots=True)
class GemmResult:
    """Cycles of one shape; None: not known (not emulated, no baseline on this machine, failed).

    `is_extrapolated`: emulated and baseline cycles of the row come from `extrapolate_cycles`.
    `busiest`: the unit or port with the largest share of the emulated time, in words.
    """

    shape: Shape
    error: str = ""
    status: str = ""
    analytical_cycles: int | None = None
    bound_cycles: int | None = None
    solver_seconds: float | None = None
    roofline_cycles: int | None = None
    roofline_limit: str = ""
    is_natural: bool = True
    emulated_cycles: int | None = None
    is_extrapolated: bool = False
    baseline_cycles: int | None = None
    busiest: str = ""

    @property
    def gap(self) -> float | None:
        """How far the schedule may be from the best, as a share of it."""
        if self.analytical_cycles is None or not self.bound_cycles:
            return None
        return self.analytical_cycles / self.bound_cycles - 1

    @property
    def is_emulated_in_full(self) -> bool:
        """Was every call timed, the baseline's too if there is one?"""
        return self.emulated_cycles is not None and not self.is_extrapolated

    @property
    def gain(self) -> float | None:
        """Emulated cycles of the baseline per emulated cycle of the schedule."""
        if self.baseline_cycles is None or not self.emulated_cycles:
            return None
        return self.baseline_cycles / self.emulated_cycles

    @property
    def roofline_share(self) -> float | None:
        """Roofline per cycle spent: emulated cycles, or the model's where nothing was emulated."""
        cycles = self.emulated_cycles or self.analytical_cycles
        return self.roofline_cycles / cycles if cycles and self.roofline_cycles else None

    @property
    def analytical_error(self) -> float | None:
        """Analytical against emulated cycles; below 0: too optimistic."""
        if not self.emulated_cycles or self.analytical_cycles is None:
            return None
        return self.analytical_cycles / self.emulated_cycles - 1


def solve_gemm(shape: Shape, hw_file: str, limits: Limits) -> GemmResult:
    """Schedule, emulate and compare; whatever goes wrong becomes the result's `error`."""
    result = GemmResult(shape)
    steps = (_schedule, _bound, _compare)
    try:
        hw = load_hardware(hw_file)
        for step in steps:
            result = step(result, hw, limits)
    except Exception as error:  # a benchmark has to show every failure as a row, our own bugs too
        text = str(error) if isinstance(error, IsamapError) else f"{type(error).__name__}: {error}"
        return replace(result, error=" ".join(text.split())[:300].rstrip() or type(error).__name__)
    return result


def _schedule(result: GemmResult, hw: Hardware, limits: Limits) -> GemmResult:
    """The scheduler's answer and its emulated time."""
    shape = result.shape
    sizes = {"m": shape.m, "n": shape.n, "k": shape.k}
    kernel = load_kernel(KERNELS, sizes, KERNEL_NAMES[shape.a_t, shape.b_t])
    answer = find_schedule(kernel, hw, time_limit_s=limits.solver_seconds, workers=1)
    result = replace(
        result,
        status=answer.status.value,
        analytical_cycles=answer.best.estimate.cycles,
        bound_cycles=answer.bound_cycles,
        solver_seconds=answer.seconds,
        is_natural=answer.best.is_natural,
    )
    return _emulate(result, answer.best.program, hw, limits)


def _emulate(result: GemmResult, program: Program, hw: Hardware, limits: Limits) -> GemmResult:
    try:
        timing = _time(program, hw, limits)
    except IsamapError as error:
        return replace(result, error=f"emulator: {' '.join(str(error).split())[:300]}")
    if timing is None:
        cycles = _extrapolate(program, hw, limits)
        return replace(result, emulated_cycles=cycles, is_extrapolated=cycles is not None)
    return replace(result, emulated_cycles=timing.cycles, busiest=_busiest(timing, hw))


def _bound(result: GemmResult, hw: Hardware, limits: Limits) -> GemmResult:
    """The roofline of the kernel on the machine."""
    shape = result.shape
    sizes = {"m": shape.m, "n": shape.n, "k": shape.k}
    kernel = load_kernel(KERNELS, sizes, KERNEL_NAMES[shape.a_t, shape.b_t])
    roof = roofline(kernel, hw)
    return replace(result, roofline_cycles=roof.cycles, roofline_limit=roof.limit)


def _compare(result: GemmResult, hw: Hardware, limits: Limits) -> GemmResult:
    """Gemmini's heuristic on the same emulator, where the machine is Gemmini."""
    if hw.name != "gemmini":
        return result
    program = heuristic_program(result.shape)
    timing = _time(program, hw, limits)
    if timing is not None:
        return replace(result, baseline_cycles=timing.cycles)
    cycles = _extrapolate(program, hw, limits)
    return replace(
        result,
        baseline_cycles=cycles,
        is_extrapolated=result.is_extrapolated or cycles is not None,
    )


def _time(program: Program, hw: Hardware, limits: Limits) -> Timing | None:
    """Emulated time, None where the program makes too many calls."""
    if count_calls(program) > limits.emulated_calls:
        return None
    return time_program(program, hw)


def _extrapolate(program: Program, hw: Hardware, limits: Limits) -> int | None:
    """Cycles of a program with too many calls: from small pieces, else from pieces at the limit."""

    def piece_cycles(piece: Program, most_calls: int) -> int | None:
        if count_calls(piece) <= most_calls:
            return time_program(piece, hw).cycles
        return extrapolate_cycles(piece, lambda part: piece_cycles(part, most_calls))

    small = piece_cycles(program, limits.emulated_calls // PIECES)
    return piece_cycles(program, limits.emulated_calls) if small is None else small


def _busiest(timing: Timing, hw: Hardware) -> str:
    shares = [(unit.utilisation, unit.unit) for unit in timing.unit_busy]
    shares += [(p.busy_cycles / timing.cycles, f"{p.memory} {p.port}") for p in timing.ports]
    share, name = max(shares)
    return f"{name} busy {share:.0%}"
