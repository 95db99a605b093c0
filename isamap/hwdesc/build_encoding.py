"""A machine's formats, tables, states and ending, from their models.

In: a checked model and a reader. Out: `Encoding`; mistakes are recorded. Not its job: what each
instruction writes (`build_bits`).
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .document import Path
from .encoding import (
    CHAIN_BEGINS,
    CHAIN_ENDS,
    BitField,
    Choice,
    Command,
    Encoding,
    Ending,
    Format,
    State,
    Table,
)
from .linear import Linear, parse_linear
from .reader import Reader
from .schema import HardwareModel
from .schema_encoding import CommandModel, EncodingModel, FieldModel, FormatModel

PLACE = re.compile(r"(?:w(\d+) +)?(\d+)(?:-(\d+))?")
PLACE_HINT = "write '0-2', '7' or, in a later word, 'w1 16-31'"
LOAD_NAMES = ("first", "count", "address", "base")
MAX_WIDTH = 64
CHAIN = "chain"  # stands among operands that may be new
CHAIN_CASES = {
    "first": (CHAIN_BEGINS, True),
    "later": (CHAIN_BEGINS, False),
    "last": (CHAIN_ENDS, True),
    "earlier": (CHAIN_ENDS, False),
}


@dataclass(frozen=True, slots=True)
class Names:
    """What values may name, and how many copies lists have one value for (1: no lists)."""

    names: Collection[str]
    copies: int = 1
    latched: Collection[str] = ()


def build_encoding(model: HardwareModel, reader: Reader) -> Encoding | None:
    """The encoding without the instructions; None if the file has none."""
    entry = model.encoding
    if entry is None:
        _refuse_without_encoding(model, reader)
        return None
    word = reader.integer(entry.word, ("encoding", "word"), 1)
    formats = tuple(
        _build_format(name, item, word, model, reader) for name, item in entry.formats.items()
    )
    zeros = tuple(
        (name, reader.size(text, ("encoding", "zeros", name))) for name, text in entry.zeros.items()
    )
    align = reader.size(entry.base.align, ("encoding", "base", "align"))
    base = reader.integer(entry.base.default, ("encoding", "base", "default"), 0)
    if base % align:
        message = f"the base address {base} is no multiple of {align} bytes"
        reader.error(message, ("encoding", "base", "default"), "change one of the two")
    known = tuple(name for name, _ in zeros)
    return Encoding(
        byte_order=entry.endian,
        word_bits=word,
        base=base,
        base_align=align,
        formats=formats,
        tables=_build_tables(entry, model, formats, reader),
        states=_build_states(model, formats, known, reader),
        constants=zeros,
        ending=_build_ending(entry, model, formats, reader),
        idle=_build_idle(entry, model, formats, reader),
        c_header=entry.c or "",
    )


def _refuse_without_encoding(model: HardwareModel, reader: Reader) -> None:
    hint = "describe formats and byte order under 'encoding'"
    for name, instruction in model.instructions.items():
        if instruction.emit.bits is not None:
            path = ("instructions", name, "emit", "bits")
            reader.error("there are bits, but no 'encoding'", path, hint, at_key=True)
    if model.state:
        reader.error("there is a 'state', but no 'encoding'", ("state",), hint, at_key=True)


def _build_format(
    name: str, model: FormatModel, word: int, machine: HardwareModel, reader: Reader
) -> Format:
    path: Path = ("encoding", "formats", name)
    size = reader.size(model.size, (*path, "size"))
    fields: list[BitField] = []
    for key, item in model.fields.items():
        place = (*path, "fields", key)
        made = _build_field(key, item, word, machine, place, reader)
        if made is None:
            continue
        if made.first_bit + made.width > 8 * size:
            message = f"field '{key}' ends at bit {made.first_bit + made.width - 1}"
            reader.error(f"{message}, '{name}' has {8 * size} bits", place, PLACE_HINT)
        for other in fields:
            if _overlap(made, other):
                message = f"fields '{other.name}' and '{key}' share bits"
                reader.error(message, place, "move one of them")
        fields.append(made)
    return Format(name, size, tuple(fields), model.c or "")


def _overlap(a: BitField, b: BitField) -> bool:
    return a.first_bit < b.first_bit + b.width and b.first_bit < a.first_bit + a.width


def _build_field(
    name: str, model: FieldModel, word: int, machine: HardwareModel, path: Path, reader: Reader
) -> BitField | None:
    found = PLACE.fullmatch(model.at.strip())
    if found is None:
        reader.error(f"'{model.at}' is no place of bits", path, PLACE_HINT)
        return None
    number, first, last = (int(group or 0) for group in found.groups())
    last = last if found[3] is not None else first
    if last < first or last - first >= MAX_WIDTH:
        message = f"'{model.at}' is not between 1 and {MAX_WIDTH} bits"
        reader.error(message, path, "give the first bit before the last")
        return None
    for key, channels in (("pops", model.pops), ("pushes", model.pushes)):
        for position, channel in enumerate(channels):
            reader.known("channel", channel, machine.channels, (*path, key, position))
    if (model.pops or model.pushes) and (model.signed or (model.pops and model.pushes)):
        reader.error(f"field '{name}' counts pops or pushes, nothing else", path, "split it", True)
    return BitField(
        name,
        number * word + first,
        last - first + 1,
        model.signed,
        tuple(model.pops),
        tuple(model.pushes),
    )


def build_command(
    model: CommandModel, path: Path, known: Names, formats: Iterable[Format], reader: Reader
) -> Command | None:
    """One record; None if its format does not exist."""
    by_name = {entry.name: entry for entry in formats}
    if not reader.known("format", model.format, by_name, (*path, "format")):
        return None
    fields = {entry.name: entry for entry in by_name[model.format].fields}
    values: list[tuple[str, Choice]] = []
    for name, text in model.set.items():
        place = (*path, "set", name)
        if name not in fields:
            own = [n for n, f in fields.items() if not (f.pops or f.pushes)]
            reader.error(
                f"format '{model.format}' has no field '{name}'",
                place,
                f"its fields are: {', '.join(own)}",
                at_key=True,
            )
        elif fields[name].pops or fields[name].pushes:
            message = f"field '{name}' counts tokens and takes no value"
            reader.error(message, place, "remove it", at_key=True)
        else:
            values.append((name, _build_choice(text, place, known, fields[name], reader)))
    only = None
    for operand, wish in model.only.items():
        place = (*path, "only", operand)
        if reader.known("latched operand", operand, known.latched, place):
            loaded = {"new": (operand, True), "kept": (operand, False)}
            cases = CHAIN_CASES if operand == CHAIN else loaded
            if reader.known("case", wish, cases, place):
                only = cases[wish]
    return Command(model.format, tuple(values), only, reader.document.loc(path))


def _build_choice(
    text: str | list[str], path: Path, known: Names, field: BitField, reader: Reader
) -> Choice:
    if not isinstance(text, list):
        return build_value(text, path, known.names, reader, field)
    if len(text) != known.copies:
        message = f"{len(text)} values for {known.copies} copies of a state"
        reader.error(message, path, "give one value, or one per copy of the state it obeys")
    return tuple(
        build_value(item, (*path, number), known.names, reader, field)
        for number, item in enumerate(text)
    )


def build_value(
    text: str, path: Path, names: Collection[str], reader: Reader, field: BitField | None = None
) -> Linear:
    """A value; a constant must fit its field."""
    with reader.problems.caught():
        value = parse_linear(text, reader.document.loc(path), names, reader.parameters)
        if field is not None and value.is_constant:
            number = value.constant
            if number.denominator != 1 or not field.least <= number <= field.most:
                message = f"field '{field.name}' holds {field.least} to {field.most}, not {number}"
                reader.error(message, path, "correct the value or the field")
        return value
    return Linear()


def _build_tables(
    entry: EncodingModel, machine: HardwareModel, formats: tuple[Format, ...], reader: Reader
) -> tuple[Table, ...]:
    tables = []
    for name, model in entry.tables.items():
        path: Path = ("encoding", "tables", name)
        reader.known("unit", model.unit, machine.units, (*path, "unit"))
        known = [item.name for item in formats]
        is_known = reader.known("format", model.format, known, (*path, "format"))
        capacity = reader.integer(model.capacity, (*path, "capacity"), 1)
        load = build_command(model.load, (*path, "load"), Names(LOAD_NAMES), formats, reader)
        if is_known and load is not None:
            tables.append(Table(name, model.format, capacity, model.unit, load))
    return tuple(tables)


def _build_states(
    machine: HardwareModel, formats: tuple[Format, ...], zeros: tuple[str, ...], reader: Reader
) -> tuple[State, ...]:
    states = []
    for name, model in machine.state.items():
        path: Path = ("state", name)
        reader.known("unit", model.unit, machine.units, (*path, "unit"))
        copies = reader.integer(model.copies, (*path, "copies"), 1)
        names = (*model.registers, "copy", "base", *zeros)
        setter = build_command(model.set_by, (*path, "set_by"), Names(names), formats, reader)
        if setter is not None:
            states.append(State(name, tuple(model.registers), copies, model.unit, setter))
    return tuple(states)


def _build_idle(
    entry: EncodingModel, machine: HardwareModel, formats: tuple[Format, ...], reader: Reader
) -> Command | None:
    """Needed where the program itself is timed; what else takes time is then not foreseen."""
    if machine.synchronisation == "exposed":
        if entry.idle is None:
            hint = "say which record lets a cycle pass"
            reader.error("exposed timing needs 'idle'", ("encoding",), hint, at_key=True)
        for key, others in (("tables", entry.tables), ("state", machine.state)):
            if others:
                message = f"'{key}' and exposed timing do not go together"
                reader.error(message, ("encoding",), "their records would take cycles", at_key=True)
    if entry.idle is None:
        return None
    return build_command(entry.idle, ("encoding", "idle"), Names(()), formats, reader)


def _build_ending(
    entry: EncodingModel, machine: HardwareModel, formats: tuple[Format, ...], reader: Reader
) -> Ending | None:
    if entry.end is None:
        return None
    path: Path = ("encoding", "end")
    reader.known("unit", entry.end.unit, machine.units, (*path, "unit"))
    command = build_command(entry.end.command, (*path, "command"), Names(()), formats, reader)
    return Ending(entry.end.unit, command) if command is not None else None
