"""Emulate a program with a loop over time steps: in full, or a few steps and the rest by rule.

In: a program, its loop over time. Out: cycles of all steps, and how many were emulated. Not its
job: other kinds of programs.

Steps repeat one pattern, or two in turns, so a program of n + 2 steps takes a constant number of
cycles more than one of n, once the first steps are over. Only where that is exactly so for all
`SAMPLES`, one step more each where the number of steps is odd, are further steps added by
multiplying.
"""

from dataclasses import dataclass, replace

from count_calls import count_calls
from extrapolate import extrapolate_cycles

from isamap.emulator import Timing, time_program
from isamap.hwdesc import Hardware
from isamap.program import For, Program, Span

SAMPLES = (4, 6, 8)  # steps


@dataclass(frozen=True, slots=True)
class StepTime:
    """Cycles of all steps, those in which the host is busy, and the steps that were emulated.

    `steps` 0: no step as a whole; loops within steps were cut too.
    """

    cycles: int
    host_cycles: int
    steps: int


def time_steps(
    program: Program, loop: str, steps: int, hw: Hardware, most_calls: int
) -> StepTime | None:
    """Time of all steps; None: too many calls even for a few steps, or they do not repeat.

    Args:
        loop: of the program, at its top, over `steps` steps; without such a loop all is emulated.
    """
    if count_calls(program) <= most_calls:
        timing = time_program(program, hw)
        return StepTime(timing.cycles, _host_busy(timing, hw), steps)
    samples = [number + steps % 2 for number in SAMPLES]
    short = [_cut(program, loop, number) for number in samples]
    if steps <= samples[-1] or short[-1] == program or count_calls(short[-1]) > most_calls:
        return _time_pieces(program, hw, most_calls)
    timings = [time_program(one, hw) for one in short]
    cycles = _extrapolate(samples, [timing.cycles for timing in timings], steps)
    host = _extrapolate(samples, [_host_busy(timing, hw) for timing in timings], steps)
    if cycles is None or host is None:
        return None
    return StepTime(cycles, host, samples[-1])


def _time_pieces(program: Program, hw: Hardware, most_calls: int) -> StepTime | None:
    """Times from programs with any of their loops cut, those within steps too."""
    known: dict[Program, Timing] = {}

    def timing_of(piece: Program) -> Timing:
        if piece not in known:
            known[piece] = time_program(piece, hw)
        return known[piece]

    def cycles_of(piece: Program) -> int | None:
        if count_calls(piece) <= most_calls:
            return timing_of(piece).cycles
        return extrapolate_cycles(piece, cycles_of)

    def host_of(piece: Program) -> int | None:
        if count_calls(piece) <= most_calls:
            return _host_busy(timing_of(piece), hw)
        return extrapolate_cycles(piece, host_of)

    cycles = cycles_of(program)
    host = None if cycles is None else host_of(program)
    return None if cycles is None or host is None else StepTime(cycles, host, 0)


def _cut(program: Program, loop: str, steps: int) -> Program:
    """The program with only the first steps."""
    body = tuple(
        replace(node, span=Span(steps)) if isinstance(node, For) and node.loop == loop else node
        for node in program.body
    )
    return replace(program, body=body)


def _extrapolate(samples: list[int], values: list[int], steps: int) -> int | None:
    """The value at `steps`, if those at `samples`, even steps apart, lie exactly on a line."""
    slopes = {
        (after - before) / (b - a)
        for before, after, a, b in zip(values, values[1:], samples, samples[1:])
    }
    if len(slopes) != 1:
        return None
    return values[-1] + round(slopes.pop() * (steps - samples[-1]))


def _host_busy(timing: Timing, hw: Hardware) -> int:
    unit = hw.host.unit if hw.host else None
    return sum(time.busy_cycles for time in timing.unit_busy if time.unit == unit)
