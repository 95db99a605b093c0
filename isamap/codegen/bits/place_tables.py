"""Tables that calls refer to (micro-operations): filled, placed in the image, loaded in time.

In: the calls of a run. Out: the same calls with the range that each refers to, loads before them,
and what lies in the image. Not its job: the records of calls.

Equal sequences of entries are held once. When a table is full it is filled anew from the start,
which is safe because one unit loads and uses it in order.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Entries, Hardware, Table, advanced

from .call import CallKind, Calls, Column, Form, TableRange, in_order, one_call, split_by
from .numbers import evaluate_all
from .pack_record import pack_record

ALIGN_BYTES = 64


@dataclass(slots=True)
class _Filling:
    """What a table holds since it was last filled from the start: where its load stands, the
    entries, and where sequences of them (by their numbers) begin."""

    place: int
    entries: list[int] = field(default_factory=list)
    firsts: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class _User:
    """Calls that refer to a table, and the number of the sequence that each needs."""

    calls: Calls
    batch: int
    sequences: np.ndarray


class TablePlacer:
    """Places the tables of one run after another, from byte `address` of the image on."""

    def __init__(self, hw: Hardware, address: int, constants: Mapping[str, int]) -> None:
        assert hw.encoding is not None
        self.hw = hw
        self.encoding = hw.encoding
        self.end = address
        self.constants = constants
        self.ranges: list[TableRange] = []
        self.needs = {i.name: i.bits.entries for i in hw.instructions if i.bits and i.bits.entries}

    def place(self, batches: tuple[Calls, ...]) -> tuple[Calls, ...]:
        """One run's calls with loads; a run begins with empty tables."""
        if not self.needs:
            return batches
        result = list(batches)
        loads: list[Calls] = []
        for table in self.encoding.tables:
            known: dict[tuple[int, ...], int] = {}
            users = [
                _User(calls, number, self._sequences(calls, entries, table, known))
                for number, calls in enumerate(result)
                if calls.form.kind is CallKind.INSTRUCTION
                for entries in self.needs.get(calls.form.name, ())
                if entries.table == table.name
            ]
            sequences = tuple(known)
            sizes = np.array([len(words) for words in sequences], np.int64)
            firsts, own_loads = self._fill(table, sequences, users)
            loads += own_loads
            for user, first in zip(users, firsts, strict=True):
                count = sizes[user.sequences]
                named = {"first": first, "end": first + count, "count": count}
                values: dict[str, Column] = {f"{table.name}.{n}": v for n, v in named.items()}
                result[user.batch] = result[user.batch].with_values(values)
        return in_order([*loads, *result])

    def _sequences(
        self, calls: Calls, entries: Entries, table: Table, known: dict[tuple[int, ...], int]
    ) -> np.ndarray:
        """The number of the entries that each call needs, in `known` (which grows)."""
        item = self.hw.instruction(calls.form.name)
        names = {name for _, value in entries.values for name in value.names}
        if entries.over is not None:
            steps = {f"{operand.name}.{entries.over}" for operand in item.operands}
            names |= {entries.over, *steps}
        relevant = sorted(names & set(calls.values))
        found = np.zeros(len(calls), np.int64)
        if not relevant:
            found[:] = known.setdefault(self._words(calls, 0, entries, table), len(known))
            return found
        for _, rows in split_by(np.stack([calls.column(name) for name in relevant], axis=1)):
            words = self._words(calls, int(np.argmax(rows)), entries, table)
            found[rows] = known.setdefault(words, len(known))
        return found

    def _words(self, calls: Calls, row: int, entries: Entries, table: Table) -> tuple[int, ...]:
        """The entries that one call needs."""
        layout = self.encoding.format(table.format)
        values = calls.row(row)
        count = values[entries.over] if entries.over is not None else 1
        item = self.hw.instruction(calls.form.name)
        numbers = np.arange(count)
        columns = {}
        for name, value in entries.values:
            moved: Column = evaluate_all(value, {**values, **self.constants}, item.name)
            if entries.over is not None and count > 1:
                step = advanced(value, item, entries.over, 1).plus(value, Fraction(-1))
                form = {**values, **self.constants}
                whole = value.plus(step)
                moved = moved + numbers * (evaluate_all(whole, form, item.name) - moved)
            columns[name] = np.broadcast_to(moved, count).tolist()
        return tuple(
            pack_record(layout, {n: c[number] for n, c in columns.items()}, item.name)
            for number in range(count)
        )

    def _fill(
        self, table: Table, sequences: tuple[tuple[int, ...], ...], users: list[_User]
    ) -> tuple[list[np.ndarray], list[Calls]]:
        """Where each call's entries stand in the table, and the loads that put them there."""
        for words in sequences:
            if len(words) > table.capacity:
                raise ProgramError(
                    f"{self.hw.name}: a call needs {len(words)} entries of table '{table.name}',"
                    f" which holds {table.capacity}"
                )
        loads: list[Calls] = []
        filled: _Filling | None = None
        found = [np.zeros(len(user.calls), np.int64) for user in users]
        for place, user, row, number in _by_place(users):
            if filled is None or number not in filled.firsts:
                words = sequences[number]
                if filled is None or len(filled.entries) + len(words) > table.capacity:
                    loads += [self._load(table, filled)] if filled is not None else []
                    filled = _Filling(place)
                filled.firsts[number] = len(filled.entries)
                filled.entries += words
            found[user][row] = filled.firsts[number]
        loads += [self._load(table, filled)] if filled is not None else []
        return found, loads

    def _load(self, table: Table, filled: _Filling) -> Calls:
        """The load, now that all that it loads is known."""
        entries = tuple(filled.entries)
        size = self.encoding.format(table.format).size_bytes
        same = (r.address for r in self.ranges if (r.table, r.entries) == (table.name, entries))
        address = next(same, None)
        if address is None:
            address = -(-self.end // ALIGN_BYTES) * ALIGN_BYTES
            self.end = address + size * len(entries)
            self.ranges.append(TableRange(table.name, address, entries))
        values = {"first": 0, "count": len(entries), "address": address}
        return one_call(Form(CallKind.LOAD_TABLE, table.name), filled.place, values)


def _by_place(users: list[_User]) -> Iterable[tuple[int, int, int, int]]:
    """(place, user, row, sequence) of all calls in order."""
    if not users:
        return ()
    places = np.concatenate([user.calls.places for user in users])
    numbers = np.repeat(np.arange(len(users)), [len(user.calls) for user in users])
    rows = np.concatenate([np.arange(len(user.calls)) for user in users])
    sequences = np.concatenate([user.sequences for user in users])
    order = np.argsort(places, kind="stable")
    columns = (places, numbers, rows, sequences)
    return zip(*(column[order].tolist() for column in columns))
