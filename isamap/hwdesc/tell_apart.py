"""Can a reader of a binary tell its records apart?

In: instructions with bits and the encoding. Out: pairs of calls that could be the same bits. Not
its job: reading binaries (`codegen`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from .encoding import Command, Encoding, Format
from .hardware import Instruction
from .linear import Linear


@dataclass(frozen=True, slots=True)
class _Form:
    """A call as it can be written: (format, constant bits' mask, their values) of its records."""

    name: str
    records: tuple[tuple[Format, int, int], ...]
    obeyed: tuple[tuple[tuple[str, str], int], ...]
    num_known: int


def confusable(
    instructions: tuple[Instruction, ...], encoding: Encoding
) -> Iterator[tuple[str, str]]:
    """Names of two that no constant tells apart and of which neither is more special."""
    forms = [*_own_forms(encoding)]
    for instruction in instructions:
        bits = instruction.bits
        if bits is not None and not bits.latches and not bits.view_of:
            forms += [_form(instruction, fresh, encoding) for fresh in bits.kinds]
    for a, b in combinations(forms, 2):
        if a.name != b.name and a.num_known == b.num_known and _may_be_equal(a, b):
            yield a.name, b.name


def _own_forms(encoding: Encoding) -> Iterator[_Form]:
    named = [(f"load {table.name}", table.load) for table in encoding.tables]
    named += [(f"set {state.name}", state.setter) for state in encoding.states]
    if encoding.ending is not None:
        named.append(("end", encoding.ending.command))
    if encoding.idle is not None:
        named.append(("idle", encoding.idle))
    for name, command in named:
        record = _record(command, encoding)
        yield _Form(name, (record,), (), record[1].bit_count())


def _form(instruction: Instruction, fresh: tuple[str, ...], encoding: Encoding) -> _Form:
    assert instruction.bits is not None
    commands = instruction.bits.written(fresh)
    records = tuple(_record(command, encoding) for command in commands)
    obeyed = tuple(
        ((item.state, register), int(value.constant))
        for item in instruction.obeys
        for register, value in item.values
        if value.is_constant
    )
    constants = {"base", *(name for name, _ in encoding.constants)}
    known = sum(mask.bit_count() for _, mask, _ in records)
    for command in commands:
        layout = encoding.format(command.format)
        known += sum(
            layout.field(name).width
            for name, value in command.values
            if isinstance(value, Linear) and value.terms and set(value.names) <= constants
        )
    return _Form(instruction.name, records, obeyed, known)


def _record(command: Command, encoding: Encoding) -> tuple[Format, int, int]:
    """A list of values (one per copy of a state) counts as unknown here."""
    layout = encoding.format(command.format)
    given = dict(command.values)
    mask = word = 0
    for field in layout.fields:
        value = given.get(field.name, Linear())
        is_token = bool(field.pops or field.pushes)
        if not is_token and isinstance(value, Linear) and value.is_constant:
            ones = (1 << field.width) - 1
            mask |= ones << field.first_bit
            word |= (int(value.constant) & ones) << field.first_bit
    return layout, mask, word


def _may_be_equal(a: _Form, b: _Form) -> bool:
    if len(a.records) != len(b.records):
        return False
    for (first, mask, word), (second, other_mask, other_word) in zip(a.records, b.records):
        common = mask & other_mask
        if first.size_bytes != second.size_bytes or word & common != other_word & common:
            return False
    values = dict(a.obeyed)
    return all(values.get(register, value) == value for register, value in b.obeyed)
