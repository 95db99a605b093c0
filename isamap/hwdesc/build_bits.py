"""What each instruction writes into a binary program.

In: instructions without mistakes, the encoding, the file's model. Out: the instructions with `bits`
and `obeys`; mistakes are recorded. Not its job: formats, tables and states (`build_encoding`).

Held here: a reader of the binary can tell instructions apart and find every number of a call.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isamap.ir import is_float

from .build_encoding import CHAIN, Names, build_command, build_value
from .determined import undetermined
from .document import Path
from .encoding import Bits, Command, Encoding, Entries, Obeyed
from .hardware import Instruction
from .quantities import quantities
from .reader import Reader
from .schema import HardwareModel
from .schema_encoding import BitsModel, CommandModel
from .tell_apart import confusable


def add_bits(
    instructions: tuple[Instruction, ...],
    encoding: Encoding,
    machine: HardwareModel,
    reader: Reader,
) -> tuple[Instruction, ...]:
    """The instructions with what they write."""
    latches = _find_latches(instructions, machine, reader)
    before = reader.problems.count
    result = tuple(
        _Builder(item, encoding, machine, latches, instructions, reader).build()
        for item in instructions
    )
    if reader.problems.count == before:
        for instruction in result:
            _check_determined(instruction, reader)
        _check_distinct(result, encoding, reader)
    return result


def _find_latches(
    instructions: tuple[Instruction, ...], machine: HardwareModel, reader: Reader
) -> dict[str, Instruction]:
    """Per memory that is written without a record of its own: the instruction that does."""
    found: dict[str, Instruction] = {}
    for instruction in instructions:
        model = machine.instructions[instruction.name].emit.bits
        if model is None or not model.latch:
            continue
        target = instruction.semantics.statements[0].target.buffer
        memory = instruction.operand(target).memory
        path: Path = ("instructions", instruction.name, "emit", "bits", "latch")
        if model.format is not None or model.commands or model.entries:
            reader.error("a call that is latched writes nothing itself", path, "remove one", True)
        if memory in found:
            message = f"'{found[memory].name}' latches into '{memory}' already"
            reader.error(message, path, "one instruction may latch into a memory", True)
        found[memory] = instruction
    return found


@dataclass(frozen=True, slots=True)
class _Builder:
    """One instruction on its way to its bits."""

    instruction: Instruction
    encoding: Encoding
    machine: HardwareModel
    latches: Mapping[str, Instruction]
    instructions: tuple[Instruction, ...]
    reader: Reader

    def build(self) -> Instruction:
        """The instruction with its bits."""
        model = self.machine.instructions[self.instruction.name].emit.bits
        if model is None:
            return self.instruction
        if model.latch:
            names = quantities(self.instruction).free
            return replace(self.instruction, bits=Bits((), latches=True, names=names))
        obeys = self._obeys()
        entries = self._entries(model)
        known = Names(
            (*self._names(), *(f"{e.table}.{part}" for e in entries for part in TABLE_PARTS)),
            self._copies(obeys),
            self._askable(),
        )
        commands = []
        for command, path in self._commands(model):
            built = build_command(command, path, known, self.encoding.formats, self.reader)
            if built is not None:
                self._check_loaded(built, path)
                commands.append(built)
        self._check_copies(obeys, commands)
        own = quantities(self.instruction)
        view = self._view(model)
        chain = self._chain(model)
        bits = Bits(
            tuple(commands), entries, False, self._free(), own.fixed, own.counts, view, chain
        )
        return replace(self.instruction, bits=bits, obeys=obeys)

    def _chain(self, model: BitsModel) -> str:
        """The operand whose sums the unit keeps; they must not depend on when they are added."""
        if model.chain is None:
            return ""
        path = self._path("emit", "bits", "chain")
        names = [operand.name for operand in self.instruction.operands]
        if self.reader.known("operand", model.chain, names, path):
            statements = self.instruction.semantics.statements
            dtype = self.instruction.semantics.buffer(model.chain).dtype
            sums = [s.target.buffer for s in statements if s.update == "+="]
            if sums != [model.chain] or len(statements) > 1 or is_float(dtype):
                message = f"'{model.chain}' is no sum of integers, all that the call computes"
                self.reader.error(message, path, "only such sums may be added later")
            memories = [operand.memory for operand in self.instruction.operands]
            memory = self.instruction.operand(model.chain).memory
            if self.instruction.repeats or memories.count(memory) > 1:
                message = f"a call of a chain has no repeats, and no other operand in '{memory}'"
                self.reader.error(message, path, "describe it as an instruction of its own")
        return model.chain

    def _view(self, model: BitsModel) -> str:
        """The instruction that this one is another view of; it has the same numbers."""
        if model.view_of is None:
            return ""
        path = self._path("emit", "bits", "view_of")
        others = {item.name: item for item in self.instructions}
        if self.reader.known("instruction", model.view_of, others, path):
            missing = set(quantities(others[model.view_of]).free) - set(self._names())
            for name in sorted(missing):
                message = f"'{model.view_of}' has '{name}', '{self.instruction.name}' has not"
                self.reader.error(message, path, "a view has the numbers of what it shows")
        return model.view_of

    def _check_loaded(self, command: Command, path: Path) -> None:
        """Where an operand was loaded from is known only when it is newly loaded."""
        for name, choice in command.values:
            for value in choice if isinstance(choice, tuple) else (choice,):
                for part in value.names:
                    operand, _, rest = part.partition(".")
                    if rest.startswith("loaded.") and command.only != (operand, True):
                        message = f"'{part}' is known only where '{operand}' is newly loaded"
                        hint = f"write 'only: {{{operand}: new}}' at this command"
                        self.reader.error(message, (*path, "set", name), hint)

    def _check_copies(self, obeys: tuple[Obeyed, ...], commands: list[Command]) -> None:
        """Which copy of a state a call obeys is written somewhere."""
        has_list = any(isinstance(v, tuple) for command in commands for _, v in command.values)
        if self._copies(obeys) > 1 and not has_list:
            message = "the bits do not say which copy of its state the call obeys"
            hint = "give a field a list with one value per copy"
            self.reader.error(message, self._path("emit", "bits"), hint, at_key=True)

    def _path(self, *keys: str | int) -> Path:
        return ("instructions", self.instruction.name, *keys)

    def _latched(self) -> dict[str, Instruction]:
        """Operands in memories that are latched into, and by what."""
        return {
            operand.name: self.latches[operand.memory]
            for operand in self.instruction.operands
            if operand.memory in self.latches
        }

    def _askable(self) -> tuple[str, ...]:
        """What a call may find new: latched operands, entries of fifos; its place in a chain."""
        model = self.machine.instructions[self.instruction.name].emit.bits
        chain = (CHAIN,) if model is not None and model.chain else ()
        return (*self._latched(), *self._fifo_operands(), *chain)

    def _fifo_operands(self) -> tuple[str, ...]:
        """Operands whose order of reading is their address."""
        memories = self.machine.memories
        return tuple(o.name for o in self.instruction.operands if memories[o.memory].fifo)

    def _free(self) -> tuple[str, ...]:
        """What a call chooses, with what latched operands were loaded from."""
        hidden = self._askable()
        own = [n for n in quantities(self.instruction).free if n.partition(".")[0] not in hidden]
        for operand, latch in self._latched().items():
            target = latch.semantics.statements[0].target.buffer
            names = (n for n in quantities(latch).free if n.partition(".")[0] != target)
            own += [f"{operand}.loaded.{name}" for name in names]
        return tuple(own)

    def _names(self) -> tuple[str, ...]:
        zeros = tuple(name for name, _ in self.encoding.constants)
        every = [n for n in quantities(self.instruction).names if n not in self._free()]
        every = [n for n in every if n.partition(".")[0] not in self._askable()]
        return (*self._free(), *every, "base", *zeros)

    def _commands(self, model: BitsModel) -> list[tuple[CommandModel, Path]]:
        path = self._path("emit", "bits")
        if model.format is not None and not model.commands:
            return [(CommandModel(format=model.format, set=model.set), path)]
        if not model.commands or model.format is not None or model.set:
            hint = "write 'format' and 'set', or 'commands', or 'latch: true'"
            self.reader.error("bits need one form", path, hint, at_key=True)
        return [(item, (*path, "commands", n)) for n, item in enumerate(model.commands)]

    def _entries(self, model: BitsModel) -> tuple[Entries, ...]:
        found = []
        tables = {table.name: table for table in self.encoding.tables}
        repeats = [repeat.name for repeat in self.instruction.repeats]
        for name, item in model.entries.items():
            path = self._path("emit", "bits", "entries", name)
            if not self.reader.known("table", name, tables, path):
                continue
            if tables[name].unit != self.instruction.unit:
                message = f"unit '{tables[name].unit}' loads table '{name}', not the call's own"
                hint = "one unit loads and uses a table, in order"
                self.reader.error(message, path, hint, at_key=True)
            if item.over is not None:
                self.reader.known("repeat", item.over, repeats, (*path, "over"))
            known = Names(self._names())
            command = CommandModel(format=tables[name].format, set={**item.set})
            built = build_command(command, path, known, self.encoding.formats, self.reader)
            if built is not None:
                values = tuple((n, v) for n, v in built.values if not isinstance(v, tuple))
                found.append(Entries(name, item.over, values))
        return tuple(found)

    def _obeys(self) -> tuple[Obeyed, ...]:
        found = []
        states = {state.name: state for state in self.encoding.states}
        for name, values in self.machine.instructions[self.instruction.name].obeys.items():
            path = self._path("obeys", name)
            if not self.reader.known("state", name, states, path):
                continue
            registers = states[name].registers
            made = []
            for register, text in values.items():
                place = (*path, register)
                if self.reader.known("register", register, registers, place):
                    made.append((register, build_value(text, place, self._names(), self.reader)))
            found.append(Obeyed(name, tuple(made)))
        return tuple(found)

    def _copies(self, obeys: tuple[Obeyed, ...]) -> int:
        copies = [self.encoding.state(item.state).copies for item in obeys]
        several = [count for count in copies if count > 1]
        if len(several) > 1:
            message = "an instruction obeys at most one state that has copies"
            self.reader.error(message, self._path("obeys"), "lists would be ambiguous", True)
        return max(several, default=1)


TABLE_PARTS = ("first", "end", "count")


def _check_distinct(
    instructions: tuple[Instruction, ...], encoding: Encoding, reader: Reader
) -> None:
    """No two calls have the same bits."""
    names = [instruction.name for instruction in instructions]
    for first, second in confusable(instructions, encoding):
        name = second if second in names else first
        path: Path = ("instructions", name, "emit", "bits") if name in names else ("encoding",)
        reader.error(
            f"'{first}' and '{second}' may be written with the same bits",
            path,
            "give one of them a constant that the other has not, in a field or in what it obeys",
            at_key=True,
        )


def _check_determined(instruction: Instruction, reader: Reader) -> None:
    """Every number of a call can be read back from its bits."""
    if instruction.bits is None or instruction.bits.latches:
        return
    for is_new in (True, False):
        missing = undetermined(instruction, is_new)
        if missing:
            reader.error(
                f"the bits of '{instruction.name}' do not determine '{missing[0]}'",
                ("instructions", instruction.name, "emit", "bits"),
                "give it a field, or let the call obey a state that holds it",
                at_key=True,
            )
            return
