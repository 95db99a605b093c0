"""The numbers of calls from their bits.

In: records that one pattern fits. Out: calls, and those whose bits contradict each other. Not its
job: which pattern a record takes (`decode`).

The fields of records, entries of tables and registers of states are equations for a call's numbers,
solved for all calls at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Entries, Hardware, advanced, count_equations

from .call import CallKind, Calls, Column, split_by
from .encode import LIMB_BITS
from .normal_form import bits_by_name
from .numbers import IntegerForm, idle_terms, integer_form, solve
from .pack_record import unpack_record
from .patterns import Pattern

Equation = tuple[IntegerForm, Column]


@dataclass(slots=True)
class _Held:
    """What tables and states hold: the calls that changed them, by their places."""

    setters: dict[str, list[Calls]] = field(default_factory=dict)
    loads: dict[str, list[Calls]] = field(default_factory=dict)


class Solver:
    """Solves one run after another; tables and states are to be given before what uses them."""

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
        self.entry_forms: dict[tuple[str, str, str, int], IntegerForm] = {}
        self.held = _Held()

    def begin(self) -> None:
        """A new run: nothing is set."""
        self.held = _Held()

    def solve(
        self, pattern: Pattern, places: np.ndarray, records: list[np.ndarray]
    ) -> tuple[list[Calls], np.ndarray]:
        """The calls at some places, and the places that are none. `records`: limbs per shape."""
        found: list[Calls] = []
        refused: list[np.ndarray] = []
        for calls in _with_tokens(pattern, places, records):
            rows = np.searchsorted(places, calls.places)
            equations: list[Equation] = [
                (form, read_field(limbs[rows], entry.first_bit, entry.width, entry.is_signed))
                for shape, limbs in zip(pattern.shapes, records, strict=True)
                for entry, form in shape.fields
            ]
            solved, is_right = self._numbers(calls, equations)
            refused.append(calls.places[~is_right])
            found += [part.take(is_right[part_rows]) for part, part_rows in solved]
        kept = [calls for calls in found if len(calls)]
        for calls in kept:
            self._note(calls)
        return kept, np.concatenate(refused)

    def _note(self, calls: Calls) -> None:
        if calls.form.kind is CallKind.SET_STATE:
            self.held.setters.setdefault(calls.form.name, []).append(calls)
        if calls.form.kind is CallKind.LOAD_TABLE:
            self.held.loads.setdefault(calls.form.name, []).append(calls)

    def _numbers(
        self, calls: Calls, equations: list[Equation]
    ) -> tuple[list[tuple[Calls, np.ndarray]], np.ndarray]:
        """The calls with their numbers, in parts with their rows; and which rows are right."""
        if calls.form.kind is not CallKind.INSTRUCTION:
            unknown = {name for value, _ in equations for name, _ in value.terms}
            values, is_right = solve(equations, self.constants, unknown - set(self.constants))
            every = np.arange(len(calls))
            return [(self._named(calls, values), every)], _column(is_right, len(calls))
        bits = self.bits[calls.form.name]
        known: dict[str, Column] = {**self.constants, **dict(bits.fixed)}
        unknown = set(bits.names) - set(known)
        unknown |= {f"{e.table}.{p}" for e in bits.entries for p in ("first", "end", "count")}
        equations = [*equations, *self.count_equations[calls.form.name]]
        values, is_right = solve(equations, known, unknown)
        right = _column(is_right, len(calls))
        for entries in bits.entries:
            more, is_there = self._from_table(calls, entries, values)
            equations += more
            right &= is_there
        parts = []
        for rows in self._alike(calls, values):
            part = calls.take(rows)
            own = [(form, _take(number, rows)) for form, number in equations]
            held, is_set = self._from_state(part, {n: _take(v, rows) for n, v in values.items()})
            found, is_right = solve([*own, *held], known, unknown)
            right[rows] &= _column(is_right, len(rows)) & is_set
            for name in bits.names:
                found.setdefault(name, 0)  # only strides of single steps stay open: any will do
            parts.append((self._named(part, found), rows))
        return parts, right

    def _named(self, calls: Calls, values: Mapping[str, Column]) -> Calls:
        return replace(calls, values={n: v for n, v in values.items() if n not in self.constants})

    def _alike(self, calls: Calls, values: Mapping[str, Column]) -> Iterator[np.ndarray]:
        """Rows to which the same registers matter."""
        counts = dict(self.bits[calls.form.name].counts)
        idle = [
            _column(idle_terms(value, values, counts), len(calls))
            for obeyed in self.instructions[calls.form.name].obeys
            for _, value in obeyed.values
        ]
        if not idle:
            yield np.arange(len(calls))
            return
        for _, rows in split_by(np.stack(idle, axis=1)):
            yield np.flatnonzero(rows)

    def _from_state(
        self, calls: Calls, values: Mapping[str, Column]
    ) -> tuple[list[Equation], np.ndarray]:
        """What the state says about the calls' numbers, and for which of them it is set."""
        counts = dict(self.bits[calls.form.name].counts)
        is_set = np.ones(len(calls), bool)
        equations: list[Equation] = []
        for obeyed in self.instructions[calls.form.name].obeys:
            copy = dict(calls.form.copies).get(obeyed.state, 0)
            setters = [
                one.take(one.column("copy") == copy) if "copy" in one.values else one
                for one in self.held.setters.get(obeyed.state, [])
            ]
            places = np.concatenate([np.zeros(0, np.int64), *(one.places for one in setters)])
            order = np.argsort(places, kind="stable")
            latest = np.searchsorted(places[order], calls.places) - 1
            is_set &= latest >= 0
            if not len(places):
                continue
            for register, value in obeyed.values:
                if not np.any(idle_terms(value, values, counts)):
                    column = np.concatenate([one.column(register) for one in setters])
                    equations.append((integer_form(value), column[order][latest]))
        return equations, is_set

    def _from_table(
        self, calls: Calls, entries: Entries, values: Mapping[str, Column]
    ) -> tuple[list[Equation], np.ndarray]:
        """What the entries of a table say about calls, and for which calls they are there.

        Calls that refer to the same entries, and of which the fields say the same, are alike.
        """
        loads = sorted(self.held.loads.get(entries.table, ()), key=lambda one: int(one.places[0]))
        rows = [(one.places[n], one.row(n)) for one in loads for n in range(len(one))]
        rows.sort(key=lambda row: int(row[0]))
        epochs = np.searchsorted([place for place, _ in rows], calls.places)
        ends = [f"{entries.table}.{part}" for part in ("first", "end")]
        if not set(ends) <= set(values):
            return [], np.zeros(len(calls), bool)
        names = sorted({n for _, v in entries.values for n in v.names} & set(values))
        columns = [_column(values[name], len(calls)) for name in (*ends, *names)]
        distinct, numbers = np.unique(
            np.stack([epochs, *columns], axis=1), axis=0, return_inverse=True
        )
        content: list[int | None] = [None] * self.encoding.table(entries.table).capacity
        found: dict[str, np.ndarray] = {}
        is_there = np.zeros(len(distinct), bool)
        epoch = 0
        for number, key in enumerate(distinct.tolist()):
            while epoch < key[0]:
                self._load(content, rows[epoch][1], entries.table)
                epoch += 1
            words = content[key[1] : key[2]]
            if not words or None in words:
                continue
            known: dict[str, Column] = {**self.constants, **dict(zip(names, key[3:]))}
            known |= dict(self.bits[calls.form.name].fixed)
            solved, is_right = solve(self._entry_equations(calls, entries, words), known, None)
            is_there[number] = bool(is_right)
            for name in set(solved) - set(known):
                found.setdefault(name, np.zeros(len(distinct), np.int64))[number] = solved[name]
        numbers = numbers.reshape(-1)
        equations: list[Equation] = [
            (IntegerForm(((name, 1),), 0, 1), column[numbers]) for name, column in found.items()
        ]
        return equations, is_there[numbers]

    def _entry_equations(
        self, calls: Calls, entries: Entries, words: list[int | None]
    ) -> Iterator[Equation]:
        item = self.instructions[calls.form.name]
        layout = self.encoding.format(self.encoding.table(entries.table).format)
        for number, word in enumerate(words):
            assert word is not None
            fields = unpack_record(layout, word)
            for name, value in entries.values:
                key = (item.name, entries.table, name, number)
                if key not in self.entry_forms:
                    if entries.over is not None:
                        value = advanced(value, item, entries.over, number)
                    self.entry_forms[key] = integer_form(value)
                yield self.entry_forms[key], fields[name]

    def _load(self, content: list[int | None], load: Mapping[str, int], table: str) -> None:
        """Bring entries from the image into a table; in place."""
        size = self.encoding.format(self.encoding.table(table).format).size_bytes
        for number in range(load["count"]):
            start = load["address"] + number * size
            entry = self.image[start : start + size]
            if len(entry) < size:
                raise ProgramError(
                    f"the image has no entries of table '{table}' at byte {start}",
                    hint="give the folder with image and manifest, not the program alone",
                )
            content[load["first"] + number] = int.from_bytes(entry, self.encoding.byte_order)


def _with_tokens(
    pattern: Pattern, places: np.ndarray, records: list[np.ndarray]
) -> Iterator[Calls]:
    """The calls without numbers; those with the same tokens together."""
    fields = [
        (entry, read_field(limbs, entry.first_bit, entry.width, False))
        for shape, limbs in zip(pattern.shapes, records, strict=True)
        for entry in shape.tokens
    ]
    if not fields:
        yield Calls(pattern.form, places, {})
        return
    for key, rows in split_by(np.stack([column for _, column in fields], axis=1)):
        pops: list[str] = []
        pushes: list[str] = []
        for (entry, _), count in zip(fields, key):
            pops += [c for c in entry.pops if c in pattern.pops] * int(count)
            pushes += [c for c in entry.pushes if c in pattern.pushes] * int(count)
        form = replace(pattern.form, pops=tuple(pops), pushes=tuple(pushes))
        yield Calls(form, places[rows], {})


def read_limbs(rows: np.ndarray, byte_order: str) -> np.ndarray:
    """Records, [n, bytes] u8, as words of 64 bits, the least significant first."""
    rows = rows[:, ::-1] if byte_order == "big" else rows
    size = -(-rows.shape[1] // 8) * 8
    padded = np.zeros((len(rows), size), np.uint8)
    padded[:, : rows.shape[1]] = rows
    return padded.view("<u8").astype(np.uint64)


def read_field(limbs: np.ndarray, first_bit: int, width: int, is_signed: bool) -> np.ndarray:
    """A field of each record. Numbers of 64 bits without sign may need Python's integers."""
    limb, shift = divmod(first_bit, LIMB_BITS)
    bits = limbs[:, limb] >> np.uint64(shift)
    if shift + width > LIMB_BITS:
        bits = bits | limbs[:, limb + 1] << np.uint64(LIMB_BITS - shift)
    bits = bits & np.uint64((1 << width) - 1)
    if width == LIMB_BITS and not is_signed and (bits >> np.uint64(63)).any():
        return bits.astype(object)
    found = bits.astype(np.int64)
    if is_signed and width < LIMB_BITS:
        found = np.where(found >> width - 1, found - (1 << width), found)
    return found


def _column(value: Column | np.bool_ | bool, size: int) -> np.ndarray:
    """A number per row, to be changed."""
    return np.array(np.broadcast_to(value, size))


def _take(value: Column, rows: np.ndarray) -> Column:
    return value[rows] if isinstance(value, np.ndarray) else value
