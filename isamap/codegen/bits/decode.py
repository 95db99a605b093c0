"""Records back to calls.

In: a run's bytes, the image's bytes, the machine. Out: its calls in normal form, equal to those
that were written. Not its job: files.

Every form that a call can take (instruction, copy of a state, newly loaded or kept operands) is a
pattern of constant bits; where several fit, the one with the most constants is meant. The remaining
fields are equations for the call's numbers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from isamap.errors import ProgramError
from isamap.hwdesc import BitField, Format, Hardware, Linear, advanced, count_equations

from .call import Call, CallKind
from .encode import chosen_value, commands_of
from .fill_idle import idle_cycles
from .normal_form import bits_by_name, normal_form
from .numbers import IntegerForm, integer_form, matters, solve
from .pack_record import read_field, unpack_record

Equation = tuple[IntegerForm, int]


@dataclass(frozen=True, slots=True)
class _Shape:
    """One record of a pattern: constant bits under `mask`, and fields to solve."""

    layout: Format
    mask: int
    word: int
    fields: tuple[tuple[BitField, IntegerForm], ...]


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A form of a call: what is known before its numbers are.

    `num_known`: bits that do not depend on the call's numbers; the more, the more special.
    """

    form: Call
    shapes: tuple[_Shape, ...]
    num_known: int


class Decoder:
    """Reads runs; `constants`: the base address and where blocks of zeros lie."""

    def __init__(self, hw: Hardware, image: bytes, constants: Mapping[str, int]) -> None:
        assert hw.encoding is not None
        self.hw = hw
        self.encoding = hw.encoding
        self.instructions = {item.name: item for item in hw.instructions}
        self.bits = bits_by_name(hw)
        self.count_equations = {
            item.name: [(integer_form(value), 0) for value in count_equations(item)]
            for item in hw.instructions
            if item.bits is not None
        }
        self.image = image
        self.constants = dict(constants)
        patterns = sorted(self._patterns(), key=lambda p: p.num_known, reverse=True)
        self.patterns = tuple(patterns)
        self.tables: dict[str, list[int | None]] = {}
        self.states: dict[tuple[str, int], dict[str, int]] = {}

    def decode(self, data: bytes) -> Iterator[Call]:
        """The calls of one run.

        Raises:
            ProgramError: bytes that are no call of this machine.
        """
        self.tables = {t.name: [None] * t.capacity for t in self.encoding.tables}
        self.states = {}
        position = idle = 0
        while position < len(data):
            call, size = self._next(data, position)
            self._obey(call)
            position += size
            if call.kind is CallKind.IDLE:
                idle += 1
                continue
            if idle:
                yield idle_cycles(idle)
                idle = 0
            yield normal_form(call, self.bits)
        if idle:
            yield idle_cycles(idle)

    def _next(self, data: bytes, position: int) -> tuple[Call, int]:
        for pattern in self.patterns:
            words = self._fit(pattern, data, position)
            call = self._solve(pattern, words) if words is not None else None
            if call is not None:
                return call, sum(shape.layout.size_bytes for shape in pattern.shapes)
        shown = data[position : position + 16].hex(" ")
        raise ProgramError(
            f"byte {position}: {shown} .. is no instruction of {self.hw.name}",
            hint="is it the right machine, and does the program begin here?",
        )

    def _fit(self, pattern: _Pattern, data: bytes, position: int) -> list[int] | None:
        words = []
        for shape in pattern.shapes:
            end = position + shape.layout.size_bytes
            if end > len(data):
                return None
            word = int.from_bytes(data[position:end], self.encoding.byte_order)
            if word & shape.mask != shape.word:
                return None
            words.append(word)
            position = end
        return words

    def _solve(self, pattern: _Pattern, words: list[int]) -> Call | None:
        form = pattern.form
        equations: list[Equation] = []
        pops: list[str] = []
        pushes: list[str] = []
        for shape, word in zip(pattern.shapes, words, strict=True):
            equations += [(value, read_field(field, word)) for field, value in shape.fields]
            for field in shape.layout.fields:
                count = read_field(field, word)
                pops += [c for c in field.pops if self._ends_at(c, form)] * count
                pushes += [c for c in field.pushes if self._starts_at(c, form)] * count
        values = self._values(form, equations)
        if values is None:
            return None
        return Call(
            form.kind, form.name, values, tuple(pops), tuple(pushes), form.fresh, form.copies
        )

    def _values(self, form: Call, equations: list[Equation]) -> dict[str, int] | None:
        """The call's numbers, or None if they contradict each other."""
        if form.kind is not CallKind.INSTRUCTION:
            unknown = {name for value, _ in equations for name, _ in value.terms}
            found = solve(equations, self.constants, unknown - set(self.constants))
            return None if found is None else _without(found, self.constants)
        bits = self.bits[form.name]
        known = {**self.constants, **dict(bits.fixed)}
        unknown = set(bits.names) - set(known)
        unknown |= {f"{e.table}.{p}" for e in bits.entries for p in ("first", "end", "count")}
        equations = [*equations, *self.count_equations[form.name]]
        found = solve(equations, known, unknown)
        if found is None:
            return None
        more = self._table_equations(form, found)
        held = None if more is None else self._obeyed_equations(form, found)
        if more is None or held is None:
            return None
        found = solve([*equations, *more, *held], known, unknown)
        if found is None:
            return None
        for name in bits.names:
            found.setdefault(name, 0)  # only strides of single steps stay open: any will do
        return _without(found, self.constants)

    def _table_equations(self, form: Call, found: Mapping[str, int]) -> list[Equation] | None:
        instruction = self.instructions[form.name]
        equations: list[Equation] = []
        for entries in self.bits[form.name].entries:
            if not {f"{entries.table}.first", f"{entries.table}.end"} <= set(found):
                return None
            first, end = found[f"{entries.table}.first"], found[f"{entries.table}.end"]
            words = self.tables[entries.table][first:end]
            if not words or None in words:
                return None
            layout = self.encoding.format(self.encoding.table(entries.table).format)
            for number, word in enumerate(words):
                assert word is not None
                fields = unpack_record(layout, word)
                for name, value in entries.values:
                    if entries.over is not None:
                        value = advanced(value, instruction, entries.over, number)
                    equations.append((integer_form(value), fields[name]))
        return equations

    def _obeyed_equations(self, form: Call, found: Mapping[str, int]) -> list[Equation] | None:
        """What the state says about the call's numbers; None where it is not set."""
        counts = dict(self.bits[form.name].counts)
        equations: list[Equation] = []
        for obeyed in self.instructions[form.name].obeys:
            copy = dict(form.copies).get(obeyed.state, 0)
            values = self.states.get((obeyed.state, copy))
            if values is None:
                return None
            for register, value in obeyed.values:
                if matters(value, found, counts):
                    equations.append((integer_form(value), values[register]))
        return equations

    def _obey(self, call: Call) -> None:
        """Follow tables and states."""
        if call.kind is CallKind.SET_STATE:
            copy = call.values.get("copy", 0)
            self.states[call.name, copy] = dict(call.values)
        if call.kind is CallKind.LOAD_TABLE:
            size = self.encoding.format(self.encoding.table(call.name).format).size_bytes
            order = self.encoding.byte_order
            for number in range(call.values["count"]):
                start = call.values["address"] + number * size
                entry = self.image[start : start + size]
                if len(entry) < size:
                    raise ProgramError(
                        f"the image has no entries of table '{call.name}' at byte {start}",
                        hint="give the folder with image and manifest, not the program alone",
                    )
                place = call.values["first"] + number
                self.tables[call.name][place] = int.from_bytes(entry, order)

    def _ends_at(self, channel: str, form: Call) -> bool:
        return self._channel_units(channel)[1] == self._unit(form)

    def _starts_at(self, channel: str, form: Call) -> bool:
        return self._channel_units(channel)[0] == self._unit(form)

    def _channel_units(self, channel: str) -> tuple[str, str]:
        found = next(c for c in self.hw.channels if c.name == channel)
        return found.source_unit, found.target_unit

    def _unit(self, form: Call) -> str:
        match form.kind:
            case CallKind.INSTRUCTION:
                return self.instructions[form.name].unit
            case CallKind.LOAD_TABLE:
                return self.encoding.table(form.name).unit
            case CallKind.SET_STATE:
                return self.encoding.state(form.name).unit
            case CallKind.END | CallKind.IDLE:
                assert self.encoding.ending is not None
                return self.encoding.ending.unit

    def _patterns(self) -> Iterator[_Pattern]:
        for form in self._forms():
            commands = commands_of(form, self.hw)
            if not commands:
                continue
            shapes = []
            for command in commands:
                layout = self.encoding.format(command.format)
                given = dict(command.values)
                mask = word = 0
                fields: list[tuple[BitField, IntegerForm]] = []
                for field in layout.fields:
                    if field.pops or field.pushes:
                        continue
                    value = chosen_value(given.get(field.name, Linear()), form.copies)
                    if value.is_constant:
                        ones = (1 << field.width) - 1
                        mask |= ones << field.first_bit
                        word |= (int(value.constant) & ones) << field.first_bit
                    else:
                        fields.append((field, integer_form(value)))
                shapes.append(_Shape(layout, mask, word, tuple(fields)))
            yield _Pattern(form, tuple(shapes), sum(map(self._num_known, shapes)))

    def _num_known(self, shape: _Shape) -> int:
        known = (
            f.width
            for f, value in shape.fields
            if all(name in self.constants for name, _ in value.terms)
        )
        return shape.mask.bit_count() + sum(known)

    def _forms(self) -> Iterator[Call]:
        """Every form that a call can take, without numbers."""
        for table in self.encoding.tables:
            yield Call(CallKind.LOAD_TABLE, table.name, {})
        for state in self.encoding.states:
            yield Call(CallKind.SET_STATE, state.name, {})
        if self.encoding.ending is not None:
            yield Call(CallKind.END, "end", {})
        if self.encoding.idle is not None:
            yield idle_cycles(1)
        for instruction in self.hw.instructions:
            bits = instruction.bits
            if bits is None or bits.latches or bits.view_of:
                continue
            latched = sorted({c.only[0] for c in bits.commands if c.only is not None})
            several = [
                [(obeyed.state, copy) for copy in range(self.encoding.state(obeyed.state).copies)]
                for obeyed in instruction.obeys
                if self.encoding.state(obeyed.state).copies > 1
            ]
            for copies in product(*several):
                for fresh in _subsets(latched):
                    yield Call(
                        CallKind.INSTRUCTION, instruction.name, {}, (), (), fresh, tuple(copies)
                    )


def _subsets(names: list[str]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for name in names:
        found += [(*some, name) for some in found]
    return found


def _name(name: str) -> IntegerForm:
    return IntegerForm(((name, 1),), 0, 1)


def _without(values: Mapping[str, int], names: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in values.items() if name not in names}
