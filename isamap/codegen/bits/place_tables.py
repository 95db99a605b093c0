"""Tables that calls refer to (micro-operations): filled, placed in the image, loaded in time.

In: the calls of a run. Out: the same calls with the range that each refers to, loads before them,
and what lies in the image. Not its job: the records of calls.

Equal sequences of entries are held once. When a table is full it is filled anew from the start,
which is safe because one unit loads and uses it in order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from isamap.errors import ProgramError
from isamap.hwdesc import Entries, Hardware, Table, advanced

from .call import Call, CallKind, TableRange
from .numbers import evaluate
from .pack_record import pack_record

ALIGN_BYTES = 64


@dataclass(slots=True)
class _Filling:
    """What a table holds since it was last filled from the start, and where its load stands."""

    position: int
    entries: list[int] = field(default_factory=list)
    places: dict[tuple[int, ...], int] = field(default_factory=dict)


class TablePlacer:
    """Places the tables of one run after another, from byte `address` of the image on."""

    def __init__(self, hw: Hardware, address: int, constants: Mapping[str, int]) -> None:
        assert hw.encoding is not None
        self.hw = hw
        self.encoding = hw.encoding
        self.end = address
        self.constants = constants
        self.ranges: list[TableRange] = []
        self.users = {i.name: i.bits.entries for i in hw.instructions if i.bits and i.bits.entries}
        self.known: dict[tuple[object, ...], tuple[int, ...]] = {}

    def place(self, calls: tuple[Call, ...]) -> tuple[Call, ...]:
        """One run's calls with loads; a run begins with empty tables."""
        if not self.users:
            return calls
        result: list[Call] = []
        filling: dict[str, _Filling] = {}
        for call in calls:
            values = dict(call.values)
            for entries in self._users(call):
                table = self.encoding.table(entries.table)
                words = self._words(call, entries, table)
                first = self._find(table, words, filling, result)
                values[f"{table.name}.first"] = first
                values[f"{table.name}.end"] = first + len(words)
                values[f"{table.name}.count"] = len(words)
            result.append(replace(call, values=values) if self._users(call) else call)
        for name, filled in filling.items():
            self._finish(self.encoding.table(name), filled, result)
        return tuple(result)

    def _users(self, call: Call) -> tuple[Entries, ...]:
        return self.users.get(call.name, ()) if call.kind is CallKind.INSTRUCTION else ()

    def _words(self, call: Call, entries: Entries, table: Table) -> tuple[int, ...]:
        key = (call.name, entries.table, *call.values.values())
        if key not in self.known:
            self.known[key] = tuple(self._entry_words(call, entries, table))
        return self.known[key]

    def _entry_words(self, call: Call, entries: Entries, table: Table) -> Iterator[int]:
        layout = self.encoding.format(table.format)
        count = call.values[entries.over] if entries.over is not None else 1
        instruction = self.hw.instruction(call.name)
        known = {**call.values, **self.constants}
        for number in range(count):
            values = {}
            for name, value in entries.values:
                if entries.over is not None:
                    value = advanced(value, instruction, entries.over, number)
                values[name] = evaluate(value, known, call.name)
            yield pack_record(layout, values, call.name)

    def _find(
        self,
        table: Table,
        words: tuple[int, ...],
        filling: dict[str, _Filling],
        result: list[Call],
    ) -> int:
        """Where the words stand in the table, put there if they are new."""
        if len(words) > table.capacity:
            raise ProgramError(
                f"{self.hw.name}: a call needs {len(words)} entries of table '{table.name}',"
                f" which holds {table.capacity}"
            )
        filled = filling.get(table.name)
        if filled is not None and words in filled.places:
            return filled.places[words]
        if filled is None or len(filled.entries) + len(words) > table.capacity:
            if filled is not None:
                self._finish(table, filled, result)
            filled = filling[table.name] = _Filling(len(result))
            result.append(Call(CallKind.LOAD_TABLE, table.name, {}))
        first = filled.places[words] = len(filled.entries)
        filled.entries += words
        return first

    def _finish(self, table: Table, filled: _Filling, result: list[Call]) -> None:
        """Say in the load what it loads, now that all of it is known."""
        entries = tuple(filled.entries)
        size = self.encoding.format(table.format).size_bytes
        same = (r.address for r in self.ranges if (r.table, r.entries) == (table.name, entries))
        address = next(same, None)
        if address is None:
            address = -(-self.end // ALIGN_BYTES) * ALIGN_BYTES
            self.end = address + size * len(entries)
            self.ranges.append(TableRange(table.name, address, entries))
        values = {"first": 0, "count": len(entries), "address": address}
        result[filled.position] = replace(result[filled.position], values=values)
