"""Schedule a kernel of one statement, bound it, emulate it.

In: figures so far, a kernel, a machine, limits. Out: figures with more of them known. Not its job:
which kernel a row is, baselines, text.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from count_calls import count_calls
from extrapolate import extrapolate_cycles
from figures import Figures, Limits

from isamap.costmodels import roofline
from isamap.emulator import Timing, time_program
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel
from isamap.program import Program
from isamap.scheduler import Wishes, find_schedule

PIECES = 8  # programs to extrapolate from are first looked for among those so much smaller

Row = TypeVar("Row", bound=Figures)


def guard(
    row: Row,
    hw_file: str,
    limits: Limits,
    steps: tuple[Callable[[Row, Hardware, Limits], Row], ...],
) -> Row:
    """The row after all steps; whatever goes wrong becomes its `error`."""
    try:
        hw = load_hardware(hw_file)
        for step in steps:
            row = step(row, hw, limits)
    except Exception as error:  # a benchmark has to show every failure as a row, our own bugs too
        text = str(error) if isinstance(error, IsamapError) else f"{type(error).__name__}: {error}"
        return replace(row, error=" ".join(text.split())[:300].strip() or type(error).__name__)
    return row


def schedule(row: Row, kernel: Kernel, hw: Hardware, limits: Limits) -> tuple[Row, Program]:
    """The scheduler's answer and its program."""
    answer = find_schedule(kernel, hw, Wishes(time_limit_s=limits.solver_seconds, workers=1))
    row = replace(
        row,
        status=answer.status.value,
        analytical_cycles=answer.best.estimate.cycles,
        bound_cycles=answer.bound_cycles,
        solver_seconds=answer.seconds,
        is_natural=answer.best.is_natural,
    )
    return row, answer.best.program


def emulate(row: Row, program: Program, hw: Hardware, limits: Limits) -> Row:
    """Emulated time of the schedule's program; a program that the emulator rejects is an error."""
    try:
        timing = time_within(program, hw, limits)
    except IsamapError as error:
        return replace(row, error=f"emulator: {' '.join(str(error).split())[:300].strip()}")
    if timing is None:
        cycles = extrapolate(program, hw, limits)
        return replace(row, emulated_cycles=cycles, is_extrapolated=cycles is not None)
    return replace(row, emulated_cycles=timing.cycles, busiest=busiest(timing))


def compare(row: Row, program: Program, hw: Hardware, limits: Limits, times: int = 1) -> Row:
    """The baseline's emulated time, `program` run so many times."""
    timing = time_within(program, hw, limits)
    if timing is not None:
        return replace(row, baseline_cycles=times * timing.cycles)
    cycles = extrapolate(program, hw, limits)
    if cycles is None:
        return row
    return replace(row, baseline_cycles=times * cycles, is_extrapolated=True)


def bound(row: Row, kernel: Kernel, hw: Hardware) -> Row:
    """The roofline of the kernel on the machine."""
    roof = roofline(kernel, hw)
    return replace(row, roofline_cycles=roof.cycles, roofline_limit=roof.limit)


def time_within(program: Program, hw: Hardware, limits: Limits) -> Timing | None:
    """Emulated time, None where the program makes too many calls."""
    if count_calls(program) > limits.emulated_calls:
        return None
    return time_program(program, hw)


def extrapolate(program: Program, hw: Hardware, limits: Limits) -> int | None:
    """Cycles of a program with too many calls: from small pieces, else from pieces at the limit;
    None where no call shall be emulated."""
    if not limits.emulated_calls:
        return None
    small = _piece_cycles(program, hw, limits.emulated_calls // PIECES)
    return _piece_cycles(program, hw, limits.emulated_calls) if small is None else small


def _piece_cycles(piece: Program, hw: Hardware, most_calls: int) -> int | None:
    if count_calls(piece) <= most_calls:
        return time_program(piece, hw).cycles
    return extrapolate_cycles(piece, lambda part: _piece_cycles(part, hw, most_calls))


def busiest(timing: Timing) -> str:
    """The unit or port with the largest share of the time, in words."""
    shares = [(unit.utilisation, unit.unit) for unit in timing.unit_busy]
    shares += [(p.busy_cycles / timing.cycles, f"{p.memory} {p.port}") for p in timing.ports]
    share, name = max(shares)
    return f"{name} busy {share:.0%}"
