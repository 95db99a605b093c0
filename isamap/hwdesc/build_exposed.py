"""What a program must know where the hardware does not wait: streams, fifo memories, distances.

In: checked models and a reader. Out: parts of `Hardware`; mistakes are recorded.
Not its job: everything that machines with interlocks have too (`build_parts`, `build_instruction`).
"""

from collections.abc import Mapping
from itertools import product

from isamap.ir import Kernel

from .check import footprint_bytes, least_extent
from .document import Path
from .expression import Expression
from .hardware import Hardware, Instruction, Synchronisation
from .memory import Memory
from .reader import Reader
from .schema import DistanceModel, HardwareModel, StreamModel
from .schema_memory import FifoModel
from .timing import Distance, Fifo, Stream, Which
from .units import Quantity

EXPOSED = Synchronisation.EXPOSED.value
ONLY_EXPOSED = f"write 'synchronisation: {EXPOSED}', or remove it"


def whole_cycles(text: str, path: Path, reader: Reader) -> int:
    """A whole number of cycles, at least 1."""
    value = reader.amount(text, Quantity.TIME, path)
    if value.denominator != 1:
        reader.error(f"'{text}' must be a whole number of cycles", path)
    return max(1, int(value))


def build_fifo(model: FifoModel | None, path: Path, reader: Reader) -> Fifo | None:
    """The order in which a memory is read, if it has one."""
    if model is None:
        return None
    if model.within is None:
        return Fifo()
    return Fifo(whole_cycles(model.within, (*path, "within"), reader))


def build_stream(
    model: StreamModel | None, semantics: Kernel, path: Path, reader: Reader
) -> Stream | None:
    """The loop whose iterations follow each other, if there is one."""
    if model is None:
        return None
    loops = [loop.name for statement in semantics.statements for loop in statement.loops]
    reader.known("loop", model.loop, dict.fromkeys(loops), path)
    return Stream(model.loop, whole_cycles(model.every, (*path, "every"), reader))


def build_issue_width(model: HardwareModel, reader: Reader) -> int | None:
    """Calls that may start in one cycle."""
    if model.issue_width is None:
        return None
    _check_exposed(model, "issue_width", reader)
    return reader.integer(model.issue_width, ("issue_width",), 1)


def check_single_core(model: HardwareModel, reader: Reader) -> None:
    """Start cycles and entries are those of one core."""
    is_exposed = model.synchronisation == EXPOSED
    has_fifo = any(memory.fifo is not None for memory in model.memories.values())
    if model.cores is not None and (is_exposed or has_fifo):
        what = "exposed timing" if is_exposed else "a fifo memory"
        message = f"a machine with {what} has one core so far"
        reader.error(message, ("cores",), "describe one of the cores", at_key=True)


def _check_exposed(model: HardwareModel, key: str, reader: Reader) -> None:
    if model.synchronisation != EXPOSED:
        message = f"'{key}' needs exposed timing: elsewhere the hardware waits"
        reader.error(message, (key,), ONLY_EXPOSED, at_key=True)


def build_distances(
    model: HardwareModel, instructions: tuple[Instruction, ...], reader: Reader
) -> tuple[Distance, ...]:
    """All distances; `instructions` are those without mistakes."""
    if model.distances:
        _check_exposed(model, "distances", reader)
    built = {instruction.name: instruction for instruction in instructions}
    return tuple(
        _build_distance(entry, ("distances", number), model, built, reader)
        for number, entry in enumerate(model.distances)
    )


def _build_distance(
    entry: DistanceModel,
    path: Path,
    model: HardwareModel,
    built: Mapping[str, Instruction],
    reader: Reader,
) -> Distance:
    for key, name in (("from", entry.from_), ("to", entry.to)):
        reader.known("instruction", name, model.instructions, (*path, key))
    first = built.get(entry.from_)
    names = [name for name, _ in first.extents] if first else None
    before = reader.problems.count
    cycles = reader.expression(entry.cycles, Quantity.TIME, (*path, "cycles"), names)
    if first is not None and reader.problems.count == before:
        _check_distance(first, cycles, (*path, "cycles"), reader)
    return Distance(entry.from_, entry.to, Which(entry.when), cycles, entry.source)


def _check_distance(first: Instruction, cycles: Expression, path: Path, reader: Reader) -> None:
    """At the smallest and largest extents, the later call may not start before the first."""
    names = cycles.names
    ends = ((least_extent(first, name), first.extent(name).maximum) for name in names)
    for corner in product(*ends):
        values = dict(zip(names, corner, strict=True))
        least = cycles.evaluate(values)
        if least < 0:
            at = ", ".join(f"{name} = {value}" for name, value in values.items())
            message = f"the distance is {least} cycles, below 0"
            message += f", when {at}" if at else ""
            reader.error(message, path, "correct the expression")
            return


def check_fifos(hw: Hardware, reader: Reader) -> None:
    """An operand in a fifo memory is one entry; `new_entry` concerns instructions that read one."""
    for instruction in hw.instructions:
        touched = [o.name for o in instruction.operands if hw.memory(o.memory).fifo is not None]
        path: Path = ("instructions", instruction.name)
        if len(touched) > 1:
            message = f"'{instruction.name}' touches two entries, '{touched[0]}' and '{touched[1]}'"
            reader.error(message, (*path, "operands"), "a call may touch one", at_key=True)
        if touched and any(rule.maximum > 1 for rule in instruction.repeats):
            message = f"'{touched[0]}' is an entry, which a repeat would move"
            reader.error(message, (*path, "repeat"), "remove the repeat", at_key=True)
        for operand in instruction.operands:
            _check_entry(instruction, operand.name, hw.memory(operand.memory), reader)
    for number, distance in enumerate(hw.distances):
        for key, name in (("from", distance.first), ("to", distance.then)):
            reads = hw.entry_operand(hw.instruction(name)) is not None
            if distance.which is Which.NEW_ENTRY and not reads:
                message = f"'{name}' reads no entry of a fifo memory"
                reader.error(message, ("distances", number, key), "write 'when: always'")


def _check_entry(instruction: Instruction, name: str, memory: Memory, reader: Reader) -> None:
    operand = instruction.operand(name)
    if memory.fifo is None:
        return
    is_free = any(rule.fixed_bytes is None and not rule.is_dense for rule in operand.strides)
    if is_free or footprint_bytes(instruction, operand) > memory.granule_bytes:
        message = f"'{name}' must lie within one entry of '{memory.name}'"
        hint = f"fixed strides that reach {memory.granule_bytes} bytes at most"
        reader.error(message, ("instructions", instruction.name, "operands", name), hint, True)


def check_stream(instruction: Instruction, reader: Reader) -> None:
    """At the smallest and largest extents that it allows, the last iteration begins before the call
    ends."""
    stream = instruction.stream
    if stream is None:
        return
    extents = instruction.extents
    spans = {name: (least_extent(instruction, name), rule.maximum) for name, rule in extents}
    spans |= {repeat.name: (1, repeat.maximum) for repeat in instruction.repeats}
    for corner in product(*spans.values()):
        values = dict(zip(spans, corner, strict=True))
        last = (values[stream.loop] - 1) * stream.every_cycles
        for key, cycles in (
            ("issue", instruction.issue_cycles.evaluate(values)),
            ("latency", instruction.latency_cycles.evaluate(values)),
        ):
            if cycles <= last:
                message = (
                    f"{key} is {cycles} cycles when {stream.loop} = {values[stream.loop]}, and its"
                    f" last iteration begins after {last} cycles"
                )
                path = ("instructions", instruction.name, "stream")
                reader.error(message, path, f"lengthen '{key}' or shorten 'every'", at_key=True)
                return
