"""Which numbers of a call its bits determine.

In: an instruction with bits. Out: the equations that a reader of the bits has, and the numbers that
they leave open. Not its job: solving them (`codegen`).
"""

from fractions import Fraction

from .encoding import CHAIN_BEGINS, CHAIN_ENDS
from .hardware import Instruction
from .linear import Linear
from .quantities import quantities


def undetermined(instruction: Instruction, is_new: bool) -> tuple[str, ...]:
    """Free quantities that the bits leave open, when latched operands are newly loaded or kept.

    What some calls of a chain say holds for all of them.
    """
    bits = instruction.bits
    assert bits is not None and not bits.latches
    open_names = {name for name in bits.names if is_new or ".loaded." not in name}
    open_names |= {f"{e.table}.{part}" for e in bits.entries for part in ("first", "end", "count")}
    open_names |= set(quantities(instruction).aliases)
    equations = [value for _, value in _field_values(instruction, is_new)]
    equations += [value for obeyed in instruction.obeys for _, value in obeyed.values]
    equations += [*count_equations(instruction), *_entry_values(instruction)]
    progress = True
    while progress:
        progress = False
        for equation in equations:
            left = [name for name in equation.names if name in open_names]
            if len(left) == 1:
                open_names.discard(left[0])
                progress = True
    return tuple(name for name in bits.names if name in open_names)


def _field_values(instruction: Instruction, is_new: bool) -> list[tuple[str, Linear]]:
    assert instruction.bits is not None
    found: list[tuple[str, Linear]] = []
    for command in instruction.bits.commands:
        only = command.only
        if only is None or only[1] is is_new or only[0] in (CHAIN_BEGINS, CHAIN_ENDS):
            for name, value in command.values:
                found.append((name, value[0] if isinstance(value, tuple) else value))
    return found


def count_equations(instruction: Instruction) -> list[Linear]:
    """How many entries a call refers to: sums that are 0."""
    assert instruction.bits is not None
    found: list[Linear] = []
    for entries in instruction.bits.entries:
        first, end, count = (_name(f"{entries.table}.{p}") for p in ("first", "end", "count"))
        found.append(end.plus(first, Fraction(-1)).plus(count, Fraction(-1)))
        over = Linear((), Fraction(1)) if entries.over is None else _name(entries.over)
        found.append(count.plus(over, Fraction(-1)))
    return found


def _entry_values(instruction: Instruction) -> list[Linear]:
    """What the fields of a call's entries say."""
    assert instruction.bits is not None
    found: list[Linear] = []
    for entries in instruction.bits.entries:
        for _, value in entries.values:
            found.append(value)
            if entries.over is not None:
                found.append(advanced(value, instruction, entries.over, 1))
    return found


def advanced(value: Linear, instruction: Instruction, repeat: str, rounds: int) -> Linear:
    """The value after some rounds of a repeat: each operand moves by its stride per round."""
    moved = value
    operands = {operand.name for operand in instruction.operands}
    for name, factor in value.terms:
        if name in operands:
            moved = moved.plus(_name(f"{name}.{repeat}"), factor * rounds)
    return moved


def _name(name: str) -> Linear:
    return Linear(((name, Fraction(1)),))
