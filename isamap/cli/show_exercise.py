"""Run the instructions of a machine and print one line for each way in which each was run.

In: a hardware file. Out: lines; how many instructions differ. Not its job: which calls are tried.
"""

from collections.abc import Mapping
from pathlib import Path

import click
import numpy as np

from isamap.codegen import find_toolchain, missing_features
from isamap.emulator import run
from isamap.errors import IsamapError
from isamap.exercise import Outcome, exercise
from isamap.hwdesc import Hardware, Instruction, load_hardware
from isamap.native import execute_c
from isamap.program import Program


def exercise_machine(path: Path, seed: int) -> int:
    """Exercise every instruction of a file without mistakes; the number of those that differ."""
    hw = load_hardware(path)
    reason = _why_not_compiled(hw)
    different = 0
    for instruction in hw.instructions:
        rows = [("in the emulator", exercise(instruction, hw, emulate, seed=seed))]
        hidden = _hidden_registers(instruction, hw)
        if instruction.c_form is not None and not reason and not hidden:
            where = f"under {hw.compiler.run[0]}" if hw.compiler and hw.compiler.run else "compiled"
            rows.append((where, exercise(instruction, hw, execute_c, seed=seed, is_exact=True)))
        for where, outcome in rows:
            click.echo(show_outcome(outcome, where))
        if instruction.c_form is not None and hidden:
            click.echo(f"    not compiled: nothing says how C reaches a register of {hidden}"
                       " (give 'c_copy')")  # fmt: skip
        different += any(not outcome.is_right for _, outcome in rows)
    if reason and any(i.c_form for i in hw.instructions):
        click.echo(f"  C text was not run: {reason}")
    count = len(hw.instructions)
    verdict = f"{different} differ" if different else "all as their semantics say"
    click.echo(f"{path}: {count} instruction{'s' if count > 1 else ''}, {verdict}")
    return different


def _hidden_registers(instruction: Instruction, hw: Hardware) -> str:
    """A memory of its operands whose registers C only names by number; empty if there is none."""
    memories = (hw.memory(rule.memory) for rule in instruction.operands)
    return next((m.name for m in memories if m.is_named and m.c_copy is None), "")


def emulate(
    program: Program, hw: Hardware, arrays: Mapping[str, np.ndarray]
) -> Mapping[str, np.ndarray]:
    """Outputs of a short program in the emulator."""
    return run(program, hw, arrays).outputs


def _why_not_compiled(hw: Hardware) -> str:
    """Why C for the machine cannot be run here; empty if it can."""
    rule = hw.compiler
    try:
        find_toolchain(hw)
    except IsamapError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message
    missing = missing_features(rule) if rule is not None and not rule.run else ()
    return f"this processor lacks {', '.join(missing)}" if missing else ""


def show_outcome(outcome: Outcome, where: str) -> str:
    """`mvin  22 calls in the emulator, r 1 to 16, c 1 to 16: equal`."""
    if not outcome.num_calls and not outcome.failure:
        return f"  {outcome.instruction}  only synchronises"
    extents = [
        f"{name} {low} to {high}" if low < high else f"{name} {high}"
        for name, low, high in outcome.extents
    ]
    tried = ", ".join([f"{outcome.num_calls} calls {where}", *extents])
    lines = [f"  {outcome.instruction}  {tried}: {_verdict(outcome)}"]
    lines += [f"    not tried: {reason}" for reason in outcome.skipped]
    if outcome.case is not None:
        case = outcome.case
        given = [f"{name} = {value}" for name, value in (*case.extents, *case.repeats)]
        given += [f"{name} = {value}" for name, value in case.immediates]
        lines.append(f"    in the call with {', '.join(given)}")
        for place in case.places:
            strides = ", ".join(map(str, place.strides))
            lines.append(
                f"    {place.name} at byte {place.address} of {place.memory}, strides [{strides}]"
            )
    return "\n".join(lines)


def _verdict(outcome: Outcome) -> str:
    if outcome.failure:
        return outcome.failure
    return "equal" if outcome.difference is None else str(outcome.difference)
