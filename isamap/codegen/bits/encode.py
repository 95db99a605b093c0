"""Calls to records.

In: calls whose tables, states and tokens are settled. Out: records as integers, and bytes. Not its
job: settling (`assemble`), reading back (`decode`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from isamap.errors import ProgramError
from isamap.hwdesc import BitField, Choice, Command, Format, Hardware, Linear

from .call import Call, CallKind
from .numbers import IntegerForm, evaluate_form, integer_form, not_whole
from .pack_record import field_bits

Key = tuple[CallKind, str, tuple[str, ...], tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True)
class _Template:
    """A record with its constants in place, and the fields that change."""

    layout: Format
    word: int
    fields: tuple[tuple[BitField, Linear, IntegerForm], ...]
    tokens: tuple[BitField, ...]
    shift_by_base: tuple[tuple[int, Fraction], ...]  # (first bit, factor) of fields with the base


@dataclass(frozen=True, slots=True)
class Record:
    """One record: its format, its bits, and where the base address was added, how often."""

    layout: Format
    word: int
    shift_by_base: tuple[tuple[int, Fraction], ...] = ()


def commands_of(call: Call, hw: Hardware) -> tuple[Command, ...]:
    """The commands that a call writes."""
    assert hw.encoding is not None
    match call.kind:
        case CallKind.LOAD_TABLE:
            return (hw.encoding.table(call.name).load,)
        case CallKind.SET_STATE:
            return (hw.encoding.state(call.name).setter,)
        case CallKind.IDLE:
            assert hw.encoding.idle is not None
            return (hw.encoding.idle,) * call.values["cycles"]
        case CallKind.END:
            assert hw.encoding.ending is not None
            return (hw.encoding.ending.command,)
        case CallKind.INSTRUCTION:
            bits = hw.instruction(call.name).bits
            if bits is None:
                raise ProgramError(
                    f"{hw.name} does not say how '{call.name}' is written as bits",
                    loc=hw.instruction(call.name).loc,
                    hint="add 'emit: {bits: ..}' to it",
                )
            return tuple(
                command
                for command in bits.commands
                if command.only is None or (command.only[0] in call.fresh) is command.only[1]
            )


def chosen_value(choice: Choice, copies: tuple[tuple[str, int], ...]) -> Linear:
    """The value for the copy of the state that is obeyed."""
    if isinstance(choice, Linear):
        return choice
    assert len(copies) == 1, "a list has one value per copy of the one state with copies"
    return choice[copies[0][1]]


class Encoder:
    """Writes calls; `constants`: the base address and where blocks of zeros lie."""

    def __init__(self, hw: Hardware, constants: Mapping[str, int]) -> None:
        assert hw.encoding is not None
        self.hw = hw
        self.encoding = hw.encoding
        self.constants = dict(constants)
        self.templates: dict[Key, tuple[_Template, ...]] = {}

    def encode(self, call: Call) -> Iterator[Record]:
        """The call's records.

        Raises:
            ProgramError: a number does not fit its field, or is none that the field can say.
        """
        if call.kind is CallKind.IDLE:
            for command in commands_of(call, self.hw):
                yield Record(
                    self.encoding.format(command.format), self._template(command, call).word
                )
            return
        key = (call.kind, call.name, call.fresh, call.copies)
        templates = self.templates.get(key)
        if templates is None:
            templates = tuple(self._template(c, call) for c in commands_of(call, self.hw))
            self.templates[key] = templates
        values = {**self.constants, **call.values}
        for template in templates:
            word = template.word
            for field, value, form in template.fields:
                number, rest = evaluate_form(form, values)
                if rest:
                    raise not_whole(value, values, call.name)
                word |= field_bits(field, number, template.layout, call.name)
            for field in template.tokens:
                count = sum(channel in field.pops for channel in call.pops)
                count += sum(channel in field.pushes for channel in call.pushes)
                word |= field_bits(field, count, template.layout, call.name)
            yield Record(template.layout, word, template.shift_by_base)

    def _template(self, command: Command, call: Call) -> _Template:
        layout = self.encoding.format(command.format)
        word = 0
        fields: list[tuple[BitField, Linear, IntegerForm]] = []
        for name, choice in command.values:
            value = chosen_value(choice, call.copies)
            field = layout.field(name)
            if value.is_constant:
                word |= field_bits(field, int(value.constant), layout, call.name)
            else:
                fields.append((field, value, integer_form(value)))
        tokens = tuple(field for field in layout.fields if field.pops or field.pushes)
        by_base = tuple(
            (field.first_bit, dict(value.terms)["base"])
            for field, value, _ in fields
            if "base" in value.names
        )
        return _Template(layout, word, tuple(fields), tokens, by_base)
