"""Calls that are written along with the next call that reads their result; entries of fifos.

In: parts of a program. Out: the parts without latched calls; each reader says whether it finds its
operand newly loaded, and from where. The first reader of a fifo's entry finds it new. Not its job:
bits.

A machine that loads a register on the side of the next computation (an array's stationary weights)
reads the source only then. So the source must still be there, which is checked here.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import size_bytes

from .call import CallKind, Calls, Column, HostStep, Part, Run, split_by

KEPT = -1  # in columns of latched calls: what the reader's unit loaded last


@dataclass(slots=True)
class _Loaded:
    """A latched call by its number, what it reads, and who overwrote that since ('' while nobody
    did)."""

    number: int
    sources: tuple[tuple[str, int, int], ...]  # memory, first byte, past the last
    overwritten_by: str = ""


@dataclass(slots=True)
class _Entries:
    """A fifo: which writing each place holds, the newest, and the one read last."""

    numbers: dict[int, int] = field(default_factory=dict)
    newest: int = 0
    front: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class _Track:
    """Calls as far as they matter here, row by row.

    `latched`: (operand, memory, address) of operands in memories that are latched into; `entries`:
    (operand, fifo, address, is it written); `touched`: memory, first byte and end of what they
    read, if they latch, or else write.
    """

    calls: Calls
    instruction: Instruction
    is_latch: bool
    latched: tuple[tuple[str, str, list[int]], ...]
    entries: tuple[tuple[str, str, list[int], bool], ...]
    touched: tuple[tuple[str, list[int], list[int]], ...]


def resolve_latches(parts: tuple[Part, ...], hw: Hardware) -> tuple[Part, ...]:
    """The parts with every latched call folded into its readers.

    Raises:
        ProgramError: something overwrites what a latched call reads before its reader comes.
    """
    has_fifo = any(memory.fifo is not None for memory in hw.memories)
    latches = any(item.bits is not None and item.bits.latches for item in hw.instructions)
    if not (latches or has_fifo):
        return parts
    resolver = _Resolver(hw)
    return tuple(
        part if isinstance(part, HostStep) else Run(resolver.resolve(part.calls)) for part in parts
    )


class _Resolver:
    """Follows what is latched where through the calls."""

    def __init__(self, hw: Hardware) -> None:
        self.instructions = {item.name: item for item in hw.instructions}
        self.latches = {
            _target(item)[1]: item for item in hw.instructions if item.bits and item.bits.latches
        }
        sources = {
            rule.memory
            for item in self.latches.values()
            for rule in item.operands
            if rule.name != _target(item)[0]
        }
        self.sources = tuple(sorted(sources))
        self.slots: dict[tuple[str, int], _Loaded] = {}
        self.entries = {m.name: _Entries() for m in hw.memories if m.fifo is not None}
        self.current: dict[str, _Loaded] = {}  # per unit: what its reader loaded last
        self.columns: dict[str, list[Calls]] = {name: [] for name in self.latches}  # by memory
        self.num_latched = dict.fromkeys(self.latches, 0)

    def resolve(self, batches: tuple[Calls, ...]) -> tuple[Calls, ...]:
        """One run's calls; a run begins with nothing loaded."""
        self.current.clear()
        tracks = {
            number: track
            for number, calls in enumerate(batches)
            if calls.form.kind is CallKind.INSTRUCTION and (track := self._track(calls))
        }
        found = {
            number: [np.full(len(track.calls), KEPT) for _ in _asked(track)]
            for number, track in tracks.items()
        }
        for number, row in _by_place(tracks):
            track = tracks[number]
            if track.is_latch:
                self._latch(track, row)
                continue
            for column, (_, memory, places) in zip(found[number], track.latched):
                column[row] = self._read(track, memory, places[row])
            late = found[number][len(track.latched) :]
            self._pass_entries(track, row, late)
            for memory, firsts, ends in track.touched:
                self._overwrite(memory, firsts[row], ends[row], track.instruction.name)
        result: list[Calls] = []
        for number, calls in enumerate(batches):
            if number not in tracks:
                result.append(calls)
            elif tracks[number].is_latch:
                continue
            else:
                result += self._told(tracks[number], found[number])
        return tuple(result)

    def _track(self, calls: Calls) -> _Track | None:
        """What to follow of calls, None if nothing."""
        item = self.instructions[calls.form.name]
        is_latch = item.bits is not None and item.bits.latches
        if is_latch:
            assert not (calls.form.pops or calls.form.pushes), "latched calls carry no tokens"
            memory = _target(item)[1]
            self.columns[memory].append(calls)
            touched = [r for r in item.operands if r.name != _target(item)[0]]
        else:
            targets = {s.target.buffer for s in item.semantics.statements}
            touched = [r for r in item.operands if r.name in targets and r.memory in self.sources]
        latched = [r for r in item.operands if r.memory in self.latches]
        written = {s.target.buffer for s in item.semantics.statements}
        asked = _asked_of(item)
        entries = [
            r
            for r in item.operands
            if r.memory in self.entries and (r.name in written or r.name in asked)
        ]
        if not (latched or entries or touched):
            return None
        return _Track(
            calls,
            item,
            is_latch,
            tuple((r.name, r.memory, calls.column(r.name).tolist()) for r in latched),
            tuple(
                (r.name, r.memory, calls.column(r.name).tolist(), r.name in written)
                for r in entries
            ),
            tuple((r.memory, *byte_extents(calls, item, r.name)) for r in touched),
        )

    def _latch(self, track: _Track, row: int) -> None:
        ((_, memory, places),) = track.latched
        sources = tuple((where, low[row], high[row]) for where, low, high in track.touched)
        self.slots[memory, places[row]] = _Loaded(
            self._number_of(memory, track.calls, row), sources
        )

    def _number_of(self, memory: str, calls: Calls, row: int) -> int:
        """A latched call's number in the columns of its memory."""
        number = row
        for batch in self.columns[memory]:
            if batch is calls:
                return number
            number += len(batch)
        raise AssertionError("every latched call has been noted")

    def _read(self, track: _Track, memory: str, place: int) -> int:
        """The latched call that a reader must load from, or `KEPT`."""
        found = self.slots.get((memory, place))
        name = track.instruction.name
        if found is None:
            raise ProgramError(f"{name}: nothing was loaded into '{memory}' at byte {place}")
        if self.current.get(track.instruction.unit) is found:
            return KEPT
        if found.overwritten_by:
            raise ProgramError(
                f"{name} loads '{memory}' again, but {found.overwritten_by} has"
                " overwritten where it came from",
                hint="the machine keeps one at a time; choose smaller tiles",
            )
        self.current[track.instruction.unit] = found
        return found.number

    def _pass_entries(self, track: _Track, row: int, columns: list[np.ndarray]) -> None:
        """Note which entries a call is the first to read; what it writes is one more entry."""
        asked = iter(columns)
        for _, memory, places, is_written in track.entries:
            entries = self.entries[memory]
            if is_written:
                entries.newest += 1
                entries.numbers[places[row]] = entries.newest
                continue
            number = entries.numbers.get(places[row], 0)
            next(asked)[row] = KEPT if number == entries.front else number
            entries.front = number

    def _overwrite(self, memory: str, first: int, end: int, by: str) -> None:
        for loaded in self.slots.values():
            for source, low, high in loaded.sources:
                if source == memory and first < high and low < end:
                    loaded.overwritten_by = by

    def _told(self, track: _Track, columns: list[np.ndarray]) -> list[Calls]:
        """Readers that know which operands are new, and where those were loaded from."""
        asked = _asked(track)
        if not asked:
            return [track.calls]
        result = []
        for key, rows in split_by(np.stack([column != KEPT for column in columns], axis=1)):
            fresh = tuple(name for (name, _), is_new in zip(asked, key) if is_new)
            form = track.calls.form
            found = tuple(sorted((*form.fresh, *fresh)))
            calls = track.calls.take(rows, replace(form, fresh=found))
            values: dict[str, Column] = {}
            for (name, memory), column, is_new in zip(asked, columns, key):
                if is_new and memory in self.latches:
                    values |= self._loaded(name, memory, column[rows])
            result.append(calls.with_values(values))
        return result

    def _loaded(self, operand: str, memory: str, numbers: np.ndarray) -> dict[str, Column]:
        """The quantities of latched calls, as those of their reader."""
        hidden = _target(self.latches[memory])[0]
        names = [n for n in self.columns[memory][0].values if n.partition(".")[0] != hidden]
        return {
            f"{operand}.loaded.{name}": np.concatenate(
                [batch.column(name) for batch in self.columns[memory]]
            )[numbers]
            for name in names
        }


def _by_place(tracks: dict[int, _Track]) -> Iterable[tuple[int, int]]:
    """(batch, row) of all calls in order."""
    if not tracks:
        return ()
    batches = np.repeat(list(tracks), [len(t.calls) for t in tracks.values()])
    rows = np.concatenate([np.arange(len(t.calls)) for t in tracks.values()])
    order = np.argsort(np.concatenate([t.calls.places for t in tracks.values()]), kind="stable")
    return zip(batches[order].tolist(), rows[order].tolist())


def _asked(track: _Track) -> tuple[tuple[str, str], ...]:
    """Operands and memories of which a call says whether it finds them new."""
    if track.is_latch:
        return ()
    read = [(name, memory) for name, memory, _, is_written in track.entries if not is_written]
    return (*((name, memory) for name, memory, _ in track.latched), *read)


def _asked_of(instruction: Instruction) -> frozenset[str]:
    """Operands whose commands depend on whether they are new."""
    commands = instruction.bits.commands if instruction.bits is not None else ()
    return frozenset(command.only[0] for command in commands if command.only is not None)


def _target(instruction: Instruction) -> tuple[str, str]:
    """Operand and memory that a latched call writes."""
    name = instruction.semantics.statements[0].target.buffer
    return name, instruction.operand(name).memory


def byte_extents(
    calls: Calls, instruction: Instruction, operand: str
) -> tuple[list[int], list[int]]:
    """Of an operand, the first byte that each call touches, and past the last."""
    loops = [name for name, _ in instruction.extents]
    loops += [repeat.name for repeat in instruction.repeats]
    first = calls.column(operand)
    last: Column = size_bytes(instruction.semantics.buffer(operand).dtype)
    for loop in loops:
        if loop in calls.values:
            last = last + calls.values.get(f"{operand}.{loop}", 0) * (calls.values[loop] - 1)
    return first.tolist(), (first + last).tolist()
