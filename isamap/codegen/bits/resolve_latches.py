"""Calls that are written along with the next call that reads their result; entries of fifos.

In: parts of a program. Out: the parts without latched calls; each reader says whether it finds its
operand newly loaded, and from where. The first reader of a fifo's entry finds it new. Not its job:
bits.

A machine that loads a register on the side of the next computation (an array's stationary weights)
reads the source only then. So the source must still be there, which is checked here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import size_bytes

from .call import Call, CallKind, HostStep, Part, Run

Extent = tuple[str, int, int]  # memory, first byte, past the last


@dataclass(slots=True)
class _Loaded:
    """A latched call, what it reads, and who overwrote that since ('' while nobody did)."""

    call: Call
    sources: tuple[Extent, ...]
    overwritten_by: str = ""


@dataclass(slots=True)
class _Entries:
    """A fifo: which writing each place holds, the newest, and the one read last."""

    numbers: dict[int, int] = field(default_factory=dict)
    newest: int = 0
    front: int = 0


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
        part if isinstance(part, HostStep) else Run(tuple(resolver.resolve(part.calls)))
        for part in parts
    )


class _Resolver:
    """Follows what is latched where through the calls."""

    def __init__(self, hw: Hardware) -> None:
        self.instructions = {item.name: item for item in hw.instructions}
        self.memories = {
            _target(item)[1] for item in hw.instructions if item.bits and item.bits.latches
        }
        self.targets = {
            item.name: tuple(dict.fromkeys(s.target.buffer for s in item.semantics.statements))
            for item in hw.instructions
        }
        self.slots: dict[tuple[str, int], _Loaded] = {}
        self.entries = {m.name: _Entries() for m in hw.memories if m.fifo is not None}
        self.asked = {i.name: _asked(i) for i in hw.instructions}
        self.current: dict[str, _Loaded] = {}  # per unit: what its reader loaded last

    def resolve(self, calls: tuple[Call, ...]) -> Iterator[Call]:
        """One run's calls; a run begins with nothing loaded."""
        self.current.clear()
        for call in calls:
            if call.kind is not CallKind.INSTRUCTION:
                yield call
                continue
            instruction = self.instructions[call.name]
            if instruction.bits is not None and instruction.bits.latches:
                self._latch(call, instruction)
                continue
            yield self._read_entries(self._read(call, instruction), instruction)
            for extent in self._written(call, instruction):
                self._overwrite(extent, call.name)

    def _latch(self, call: Call, instruction: Instruction) -> None:
        assert not (call.pops or call.pushes), "latched calls carry no tokens"
        operand, memory = _target(instruction)
        sources = tuple(
            byte_extent(call, instruction, rule.name)
            for rule in instruction.operands
            if rule.name != operand
        )
        self.slots[memory, call.values[operand]] = _Loaded(call, sources)

    def _read(self, call: Call, instruction: Instruction) -> Call:
        values = dict(call.values)
        fresh: list[str] = []
        for rule in instruction.operands:
            if rule.memory not in self.memories:
                continue
            found = self.slots.get((rule.memory, values[rule.name]))
            if found is None:
                raise ProgramError(f"{call.name}: nothing was loaded for operand '{rule.name}'")
            if self.current.get(instruction.unit) is not found:
                if found.overwritten_by:
                    raise ProgramError(
                        f"{call.name} loads '{rule.name}' again, but {found.overwritten_by} has"
                        " overwritten where it came from",
                        hint="the machine keeps one at a time; choose smaller tiles",
                    )
                fresh.append(rule.name)
                self.current[instruction.unit] = found
                latch = self.instructions[found.call.name]
                hidden = _target(latch)[0]
                values |= {
                    f"{rule.name}.loaded.{name}": value
                    for name, value in found.call.values.items()
                    if name.partition(".")[0] != hidden
                }
        return replace(call, values=values, fresh=tuple(fresh))

    def _read_entries(self, call: Call, instruction: Instruction) -> Call:
        """Which entries the call is the first to read; what it writes is one more entry."""
        fresh = list(call.fresh)
        for rule in instruction.operands:
            entries = self.entries.get(rule.memory)
            if entries is None:
                continue
            place = call.values[rule.name]
            if rule.name in self.targets[instruction.name]:
                entries.newest += 1
                entries.numbers[place] = entries.newest
            elif rule.name in self.asked[instruction.name]:
                number = entries.numbers.get(place, 0)
                fresh += [rule.name] if number != entries.front else []
                entries.front = number
        return replace(call, fresh=tuple(fresh))

    def _written(self, call: Call, instruction: Instruction) -> Iterator[Extent]:
        for name in self.targets[instruction.name]:
            yield byte_extent(call, instruction, name)

    def _overwrite(self, written: Extent, by: str) -> None:
        memory, first, end = written
        for loaded in self.slots.values():
            for source, low, high in loaded.sources:
                if source == memory and first < high and low < end:
                    loaded.overwritten_by = by


def _asked(instruction: Instruction) -> frozenset[str]:
    """Operands whose commands depend on whether they are new."""
    commands = instruction.bits.commands if instruction.bits is not None else ()
    return frozenset(command.only[0] for command in commands if command.only is not None)


def _target(instruction: Instruction) -> tuple[str, str]:
    """Operand and memory that a latched call writes."""
    name = instruction.semantics.statements[0].target.buffer
    return name, instruction.operand(name).memory


def byte_extent(call: Call, instruction: Instruction, operand: str) -> Extent:
    """The bytes between the first and the last that a call touches of an operand."""
    loops = [name for name, _ in instruction.extents]
    loops += [repeat.name for repeat in instruction.repeats]
    last = sum(
        call.values.get(f"{operand}.{loop}", 0) * (call.values[loop] - 1)
        for loop in loops
        if loop in call.values
    )
    first = call.values[operand]
    element = size_bytes(instruction.semantics.buffer(operand).dtype)
    return instruction.operand(operand).memory, first, first + last + element
