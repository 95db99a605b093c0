"""How long a program takes on its machine.

In: a Program and a Hardware. Out: Timing, or ProgramError. Not its job: values (`run`); the
contract is docs/timing.md.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from isamap.errors import IsamapError, ProgramError
from isamap.hwdesc import Hardware, Unit
from isamap.program import Program

from .bind import Bound, bind
from .build import compile_c, run_executable
from .c_text import Fault
from .c_timing import ENERGY_SCALE, emit_timing
from .faults import fault_error, parse_report, show_call
from .optimisation import choose_optimisation, is_compiled
from .python_timing import interpret_timing
from .result import PortTime, Timing, Traffic, UnitTime


def time_program(
    program: Program,
    hardware: Hardware,
    *,
    compiled: bool | None = None,
    timeout_s: float = 600.0,
) -> Timing:
    """Cycles, utilisation, traffic and energy of every call of `program` (docs/timing.md).

    Args:
        compiled: run through the C compiler; None: if there is one and the program is not over
            sooner in Python; False: in Python (slow).

    Raises:
        ProgramError: an illegal call, a hazard, a deadlock.
        IsamapError: `compiled` is True without a compiler, or the time limit struck.
    """
    bound = bind(program, hardware)
    if bound.is_exposed and bound.calls and not bound.is_timed:
        raise ProgramError(
            f"{hardware.name!r} does not wait: every call needs the cycle in which it starts",
            hint="isamap.emulator.set_starts gives each the earliest",
        )
    use_c = is_compiled(bound, compiled)
    numbers = _run_compiled(bound, timeout_s) if use_c else interpret_timing(bound)
    timing = _to_timing(bound, numbers)
    if bound.is_timed:
        _check_all_executed(bound, timing)
    return timing


def _check_all_executed(bound: Bound, timing: Timing) -> None:
    """No call has more start cycles than executions."""
    given = sum(run.count for call in bound.calls for run in call.issue.starts)
    executed = sum(count for _, count in timing.calls)
    if given != executed:
        raise ProgramError(f"{given} start cycles for {executed} executions of all calls")


def _run_compiled(bound: Bound, timeout_s: float) -> tuple[int, ...]:
    text = emit_timing(bound)
    words = run_executable(compile_c(text, choose_optimisation(bound)), (), timeout_s).split()
    if words[0] == "ok":
        return tuple(map(int, words[1:]))
    if words[0] == "memory":
        raise IsamapError("the emulator ran out of memory for its hazard tables")
    raise find_error(bound, text, words, timeout_s)


def find_error(bound: Bound, text: str, words: list[str], timeout_s: float) -> ProgramError:
    """The error that `words` report; runs the C `text` again to name the other call."""
    report = parse_report(words)
    if report.fault not in (Fault.HAZARD, Fault.BUSY, Fault.DISTANCE):
        return fault_error(bound, report)
    traced = compile_c(text, choose_optimisation(bound), ("-DTRACE",))
    report = parse_report(run_executable(traced, (), timeout_s).split())
    other = parse_report(run_executable(traced, (str(report.c),), timeout_s).split())
    return fault_error(bound, replace(report, other=show_call(bound, other.call, other.values)))


def _unit_time(unit: Unit, hardware: Hardware, cycles: int, rest: Iterator[int]) -> UnitTime:
    """One unit's time from the next numbers, one per copy."""
    copies = tuple(next(rest) for _ in range(hardware.num_copies(unit.name)))
    instances = unit.count * len(copies)
    busy = sum(copies)
    share = busy / (cycles * instances) if cycles else 0.0
    return UnitTime(unit.name, busy, share, copies if len(copies) > 1 else ())


def _to_timing(bound: Bound, numbers: Sequence[int]) -> Timing:
    """Name the numbers that both executions give in the same order (see
    `c_timing._emit_results`)."""
    hardware = bound.hardware
    rest = iter(numbers)
    cycles = next(rest)
    units = tuple(_unit_time(unit, hardware, cycles, rest) for unit in hardware.units)
    ports = tuple(
        PortTime(
            port.memory,
            port.name,
            max(next(rest) for _ in range(hardware.num_copies(port.memory))),
        )
        for port in bound.ports
    )
    reads = [next(rest) for _ in bound.extents]
    writes = [next(rest) for _ in bound.extents]
    counts = [next(rest) for _ in bound.calls]
    energies = [next(rest) for _ in bound.calls]
    traffic = tuple(
        Traffic(extent.memory, read, written)
        for extent, read, written in zip(bound.extents, reads, writes)
    )
    calls = {
        instruction.name: sum(
            count
            for call, count in zip(bound.calls, counts)
            if call.instruction.name == instruction.name
        )
        for instruction in hardware.instructions
    }
    energy = sum(energies) / ENERGY_SCALE
    for memory, read, written in zip(hardware.memories, reads, writes):
        energy += memory.read_energy_pj_per_byte * read
        energy += memory.write_energy_pj_per_byte * written
    used = tuple((name, count) for name, count in calls.items() if count)
    return Timing(cycles, units, ports, traffic, used, energy)
