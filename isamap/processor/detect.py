"""Which machines this processor is, and how fast it runs their instructions.

In: hardware descriptions. Out: what is missing, or measured peaks. Not its job: printing.
"""

import ctypes
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path

from isamap.codegen import (
    Toolchain,
    can_measure,
    find_toolchain,
    generate_peaks,
    load_functions,
    missing_features,
)
from isamap.errors import IsamapError
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Role
from isamap.work_folder import work_folder

ROUNDS = 200_000
REPEATS = 40
LEAST, ENOUGH_S = 8, 0.1  # repeats, and time that is enough after them


@dataclass(frozen=True, slots=True)
class Peak:
    """An instruction's pace: element operations (iterations of its semantics) per second, as
    measured and as the description says. `products`: the types that it multiplies."""

    instruction: str
    products: str
    measured_per_s: float
    described_per_s: float


@dataclass(frozen=True, slots=True)
class Detection:
    """A machine on this processor. `reason`: why its programs do not run here; empty if they do."""

    hardware: Hardware
    reason: str
    peaks: tuple[Peak, ...]


def detect(hw: Hardware) -> Detection | None:
    """What this processor makes of a machine; None for one whose instructions have no C text."""
    if all(instruction.c_form is None for instruction in hw.instructions) or hw.compiler is None:
        return None
    if hw.compiler.run:
        return Detection(hw, f"its programs run under {hw.compiler.run[0]}", ())
    missing = missing_features(hw.compiler)
    if missing:
        return Detection(hw, f"this processor lacks {', '.join(missing)}", ())
    try:
        toolchain = find_toolchain(hw)
        known = [i for i in hw.instructions if _adds_up(i) and can_measure(i, hw)]
        return Detection(hw, "", _measure(known, hw, toolchain) if known else ())
    except IsamapError as error:
        return Detection(hw, _in_a_line(error), ())


def _in_a_line(error: IsamapError) -> str:
    """Such as that the compiler is too old for the machine's flags."""
    first = error.message.strip().partition("\n")[0]
    return f"{first} ({error.hint})" if error.hint else first


def _adds_up(instruction: Instruction) -> bool:
    return any(s.update == "+=" for s in instruction.semantics.statements)


def _measure(
    instructions: Sequence[Instruction], hw: Hardware, toolchain: Toolchain
) -> tuple[Peak, ...]:
    """The best of a few runs of each on one core, in its own time: others may use the core in
    between."""
    text, functions = generate_peaks(instructions, hw)
    with work_folder() as folder:
        source, library = Path(folder, "peaks.c"), Path(folder, "peaks.so")
        source.write_text(text)
        toolchain.compile_shared(source, library)
        runs = load_functions(library, tuple(name for name, _ in functions))
        seconds = [_least_seconds(runs[name]) for name, _ in functions]
    return tuple(
        _peak(instruction, hw, calls / least)
        for instruction, (_, calls), least in zip(instructions, functions, seconds, strict=True)
    )


def _least_seconds(run: Callable[[ctypes.c_int64], None]) -> float:
    """Of a round."""
    best, spent = float("inf"), 0.0
    for number in range(REPEATS):
        if number >= LEAST and spent > ENOUGH_S:
            break
        begin = time.thread_time()
        run(ctypes.c_int64(ROUNDS))
        took = time.thread_time() - begin
        best, spent = min(best, took), spent + took
    return best / ROUNDS


def _peak(instruction: Instruction, hw: Hardware, calls_per_s: float) -> Peak:
    extents = {name: rule.maximum for name, rule in instruction.extents}
    each = prod(extents.values())
    units = {unit.name: unit.count for unit in hw.units}
    issue = instruction.issue_cycles.evaluate(extents)
    described = hw.clock_hz * units[instruction.unit] * each / issue
    return Peak(instruction.name, _products(instruction), calls_per_s * each, described)


def _products(instruction: Instruction) -> str:
    """Types of its inputs: f32, i8 x u8."""
    inputs = (b.dtype for b in instruction.semantics.buffers if b.role is Role.IN)
    return " x ".join(sorted(set(inputs)))
