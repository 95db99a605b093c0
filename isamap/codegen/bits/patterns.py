"""The forms that calls take as bits.

In: a machine. Out: patterns of constant bits, the most special first. Not its job: finding them in
a program (`decode`).

Every form that a call can take (instruction, copy of a state, newly loaded or kept operands) is a
pattern; where several fit, the one with the most constants is meant.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from isamap.hwdesc import BitField, Command, Format, Hardware, Linear

from .call import CallKind, Form, unit_of
from .encode import chosen_value, commands_of
from .numbers import IntegerForm, integer_form


@dataclass(frozen=True, slots=True)
class Shape:
    """One record of a pattern: constant bits under `mask`, fields with equations, and fields that
    count tokens."""

    layout: Format
    mask: int
    word: int
    fields: tuple[tuple[BitField, IntegerForm], ...]
    tokens: tuple[BitField, ...]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A form of a call: what is known before its numbers are.

    `pops`, `pushes`: channels that its unit may pop, push. `num_known`: bits that do not depend on
    the call's numbers.
    """

    form: Form
    shapes: tuple[Shape, ...]
    pops: tuple[str, ...]
    pushes: tuple[str, ...]
    num_known: int

    @property
    def size_bytes(self) -> int:
        """Of all its records."""
        return sum(shape.layout.size_bytes for shape in self.shapes)


def make_patterns(hw: Hardware, constants: Mapping[str, int]) -> tuple[Pattern, ...]:
    """Every pattern, those with the most known bits first."""
    found = []
    for form in _forms(hw):
        commands = commands_of(form, hw)
        if not commands:
            continue
        shapes = tuple(_shape(command, form, hw) for command in commands)
        unit = unit_of(form, hw)
        pops = tuple(c.name for c in hw.channels if c.target_unit == unit)
        pushes = tuple(c.name for c in hw.channels if c.source_unit == unit)
        num_known = sum(_num_known(shape, constants) for shape in shapes)
        found.append(Pattern(form, shapes, pops, pushes, num_known))
    return tuple(sorted(found, key=lambda pattern: pattern.num_known, reverse=True))


def _shape(command: Command, form: Form, hw: Hardware) -> Shape:
    assert hw.encoding is not None
    layout = hw.encoding.format(command.format)
    given = dict(command.values)
    mask = word = 0
    fields: list[tuple[BitField, IntegerForm]] = []
    tokens = tuple(field for field in layout.fields if field.pops or field.pushes)
    for field in layout.fields:
        if field in tokens:
            continue
        value = chosen_value(given.get(field.name, Linear()), form.copies)
        if value.is_constant:
            ones = (1 << field.width) - 1
            mask |= ones << field.first_bit
            word |= (int(value.constant) & ones) << field.first_bit
        else:
            fields.append((field, integer_form(value)))
    return Shape(layout, mask, word, tuple(fields), tokens)


def _num_known(shape: Shape, constants: Mapping[str, int]) -> int:
    known = (
        f.width for f, value in shape.fields if all(name in constants for name, _ in value.terms)
    )
    return shape.mask.bit_count() + sum(known)


def _forms(hw: Hardware) -> Iterator[Form]:
    """Every form that a call can take."""
    assert hw.encoding is not None
    for table in hw.encoding.tables:
        yield Form(CallKind.LOAD_TABLE, table.name)
    for state in hw.encoding.states:
        yield Form(CallKind.SET_STATE, state.name)
    if hw.encoding.ending is not None:
        yield Form(CallKind.END, "end")
    if hw.encoding.idle is not None:
        yield Form(CallKind.IDLE, "idle")
    for instruction in hw.instructions:
        bits = instruction.bits
        if bits is None or bits.latches or bits.view_of:
            continue
        several = [
            [(obeyed.state, copy) for copy in range(hw.encoding.state(obeyed.state).copies)]
            for obeyed in instruction.obeys
            if hw.encoding.state(obeyed.state).copies > 1
        ]
        for copies in product(*several):
            for fresh in bits.kinds:
                yield Form(
                    CallKind.INSTRUCTION, instruction.name, fresh=fresh, copies=tuple(copies)
                )
