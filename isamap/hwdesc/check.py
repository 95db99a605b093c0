"""Rules that hold between the parts of a machine.

In: built parts without mistakes of their own. Out: recorded problems.
Not its job: rules inside one part (`build_parts`, `build_instruction`).
"""

import re
from collections.abc import Iterable, Mapping
from itertools import product

from isamap.ir import accesses, size_bytes
from isamap.shortest_paths import shortest_paths

from .document import Path
from .hardware import Channel, HostRule, Instruction, OperandRule, StrideRule, Unit
from .memory import Memory, MemoryKind
from .reader import Reader
from .schema import HardwareModel
from .schema_memory import OF_NEAREST

OUTSIDE = "constants"  # an instruction without inputs fills its target from here
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
MAX_CORNERS = 8  # names beyond which cycle expressions are tried at two points only


def check_names(model: HardwareModel, reader: Reader) -> None:
    """Names that listings and generated code can carry."""
    groups: dict[str, Iterable[str]] = {
        "memories": model.memories,
        "units": model.units,
        "channels": model.channels,
        "instructions": model.instructions,
    }
    for group, names in groups.items():
        for name in names:
            if not NAME.fullmatch(name):
                hint = "begin with a letter; letters, digits and _ . - may follow"
                reader.error(f"'{name}' is not a name", (group, name), hint, at_key=True)


def check_memories(memories: Mapping[str, Memory], reader: Reader) -> None:
    """Exactly one external memory; sizes and ports that fit the granule."""
    external = [memory for memory in memories.values() if memory.kind is MemoryKind.EXTERNAL]
    hint = "inputs and outputs live in the one memory of kind 'external'"
    if not external:
        reader.error("no memory has kind 'external'", ("memories",), hint, at_key=True)
    for memory in external[1:]:
        message = f"second external memory '{memory.name}', the first is '{external[0].name}'"
        reader.error(message, ("memories", memory.name, "kind"), hint)
    for memory in memories.values():
        is_part = memory.kind is MemoryKind.MANAGED and memory.within in [m.name for m in external]
        if external and memory.within is not None and not is_part:
            message = f"'{memory.name}' is no managed memory within the external one"
            hint = f"write 'kind: managed' and 'within: {external[0].name}'"
            reader.error(message, ("memories", memory.name, "within"), hint)
        if memory.size_bytes % memory.granule_bytes:
            message = (
                f"the size of '{memory.name}', {memory.size_bytes} bytes, is no multiple of its "
                f"granule, {memory.granule_bytes} bytes"
            )
            reader.error(message, ("memories", memory.name, "size"), "change one of the two")


def check_nearest(model: HardwareModel, memories: Mapping[str, Memory], reader: Reader) -> None:
    """What happens where calls are served is said of the smallest cache alone."""
    caches = [memory for memory in memories.values() if memory.kind is MemoryKind.CACHE]
    by_size = sorted(caches, key=lambda memory: memory.size_bytes)
    for cache in by_size[1:]:
        for key in OF_NEAREST:
            if getattr(model.memories[cache.name], key) is not None:
                hint = f"the smallest one serves the calls: say it of '{by_size[0].name}'"
                message = f"only the nearest cache has '{key}'"
                reader.error(message, ("memories", cache.name, key), hint, at_key=True)


def check_instruction(
    instruction: Instruction, memories: Mapping[str, Memory], reader: Reader
) -> None:
    """Operands fit their memories and granules; times are possible."""
    for operand in instruction.operands:
        memory = memories.get(operand.memory)
        if memory is not None:
            _check_operand(instruction, operand, memory, reader)
    _check_times(instruction, reader)
    if instruction.accumulate_cycles is not None and not _may_accumulate(instruction):
        message = f"'accumulate' of '{instruction.name}' counts for nothing: it updates nothing"
        hint = "take it away; it is when the next call may update the same elements again"
        reader.error(message, ("instructions", instruction.name, "accumulate"), hint, at_key=True)


def _may_accumulate(instruction: Instruction) -> bool:
    """Does it update what it writes, or begin with a number what another one updates?"""
    statements = instruction.semantics.statements
    written = {statement.target.buffer for statement in statements}
    return any(
        statement.update != "="
        or not accesses(statement.value)
        or any(access.buffer in written for access in statement.reads)
        for statement in statements
    )


def _check_operand(
    instruction: Instruction, operand: OperandRule, memory: Memory, reader: Reader
) -> None:
    path: Path = ("instructions", instruction.name, "operands", operand.name)
    if operand.align_bytes % memory.granule_bytes:
        message = (
            f"alignment of '{operand.name}', {operand.align_bytes} bytes, is no multiple of the "
            f"granule of '{memory.name}', {memory.granule_bytes} bytes"
        )
        hint = f"write for example 'align: {memory.granule_bytes} bytes'"
        reader.error(message, (*path, "align"), hint)
    needed = footprint_bytes(instruction, operand)
    if needed > memory.size_bytes:
        message = (
            f"'{operand.name}' needs {needed} bytes, '{memory.name}' has {memory.size_bytes} bytes"
        )
        hint = "lower the extents in the semantics or the strides, or correct the memory's size"
        reader.error(message, path, hint, at_key=True)


def footprint_bytes(instruction: Instruction, operand: OperandRule) -> int:
    """Least bytes from the first to the last byte of the operand at its full shape."""
    buffer = instruction.semantics.buffer(operand.name)
    element = size_bytes(buffer.dtype)
    last = 0
    dense = element
    for size, rule in reversed(list(zip(buffer.shape, operand.strides, strict=True))):
        stride = _least_stride(rule, dense)
        last += (size - 1) * stride
        dense = stride * size
    return last + element


def _least_stride(rule: StrideRule, dense: int) -> int:
    if rule.is_dense:
        return dense
    if rule.fixed_bytes is not None:
        return rule.fixed_bytes
    return 0 if rule.may_be_zero else rule.multiple_bytes


def _check_times(instruction: Instruction, reader: Reader) -> None:
    """At the smallest and largest extents: issue >= 1, latency >= issue, accumulate >= 0."""
    spans = {
        name: (least_extent(instruction, name), rule.maximum) for name, rule in instruction.extents
    }
    spans |= {repeat.name: (1, repeat.maximum) for repeat in instruction.repeats}
    corners = (
        product(*spans.values()) if len(spans) <= MAX_CORNERS else zip(*spans.values(), strict=True)
    )
    reported: set[str] = set()
    for corner in corners:
        values = dict(zip(spans, corner, strict=True))
        for key, message in _time_mistakes(instruction, values):
            if key not in reported:
                at = ", ".join(f"{name} = {value}" for name, value in values.items())
                place = f" when {at}" if at else ""
                path = ("instructions", instruction.name, key)
                reader.error(message + place, path, "correct the expression")
            reported.add(key)


def least_extent(instruction: Instruction, loop: str) -> int:
    """The smallest that a call may have."""
    rule = instruction.extent(loop)
    return next(extent for extent in range(1, rule.maximum + 1) if rule.allows(extent))


def _time_mistakes(instruction: Instruction, values: Mapping[str, int]) -> list[tuple[str, str]]:
    issue = instruction.issue_cycles.evaluate(values)
    latency = instruction.latency_cycles.evaluate(values)
    mistakes = []
    if issue < 1:
        mistakes.append(("issue", f"issue is {issue} cycles, expected at least 1,"))
    elif latency < issue and instruction.stream is None:
        message = f"latency is {latency} cycles, less than issue, {issue} cycles,"
        mistakes.append(("latency", message))
    if instruction.accumulate_cycles is not None:
        accumulate = instruction.accumulate_cycles.evaluate(values)
        if accumulate < 0:
            mistakes.append(("accumulate", f"accumulate is {accumulate} cycles, below 0,"))
    return mistakes


def check_routes(
    memories: Mapping[str, Memory], instructions: tuple[Instruction, ...], reader: Reader
) -> None:
    """Data gets from the external memory (or a constant) into every managed memory, and back."""
    moves = [move for instruction in instructions for move in _moves(instruction)]
    external = next(m.name for m in memories.values() if m.kind is MemoryKind.EXTERNAL)
    filled = shortest_paths([*moves, (OUTSIDE, external)], OUTSIDE)
    drained = shortest_paths([(target, source) for source, target in moves], external)
    for memory in memories.values():
        path = ("memories", memory.name)
        if memory.kind is not MemoryKind.MANAGED:
            continue
        if memory.name not in filled:
            message = f"no instructions bring data from '{external}' into memory '{memory.name}'"
            hint = f"add an instruction that writes '{memory.name}', or remove the memory"
            reader.error(message, path, hint, at_key=True)
        if memory.name not in drained:
            message = f"no instructions bring data from memory '{memory.name}' to '{external}'"
            hint = f"add an instruction that reads '{memory.name}', or remove the memory"
            reader.error(message, path, hint, at_key=True)


def _moves(instruction: Instruction) -> list[tuple[str, str]]:
    """Memory pairs (read, written) of an instruction, through copying or computing."""
    reads: dict[str, None] = {}
    writes: dict[str, None] = {}
    for statement in instruction.semantics.statements:
        writes[statement.target.buffer] = None
        reads |= dict.fromkeys(access.buffer for access in statement.reads)
    memory = {operand.name: operand.memory for operand in instruction.operands}
    sources = [memory[name] for name in reads if name in memory] or [OUTSIDE]
    targets = [memory[name] for name in writes if name in memory]
    return [(source, target) for source in sources for target in targets]


def check_carriers(
    channels: tuple[Channel, ...], instructions: tuple[Instruction, ...], reader: Reader
) -> None:
    """Every unit at an end of a channel has a call that carries tokens where no other one can."""
    carriers = {instruction.unit for instruction in instructions if instruction.is_sync}
    for channel in channels:
        for end in (channel.source_unit, channel.target_unit):
            if end not in carriers:
                carriers.add(end)  # said once
                message = f"no instruction on unit '{end}' only carries tokens"
                hint = f"add wait_{end}: {{is_sync: true, unit: {end}, issue: 1 cycle, source: ..}}"
                reader.error(message, ("channels", channel.name), hint, at_key=True)


def check_host_tokens(
    host: HostRule, units: tuple[Unit, ...], channels: tuple[Channel, ...], reader: Reader
) -> None:
    """Tokens can reach every unit from the host's, and that one from every unit: what runs there
    comes before and after what the others do."""
    core = host.unit
    forth = [(channel.source_unit, channel.target_unit) for channel in channels]
    back = [(target, source) for source, target in forth]
    for edges, way in (
        (forth, "from the host's unit '{}' to {}"),
        (back, "to the host's unit '{}' from {}"),
    ):
        reached = shortest_paths(edges, core)
        others = [unit.name for unit in units if unit.name not in reached]
        if others:
            message = f"no channels lead {way.format(core, ', '.join(map(repr, others)))}"
            ends = (core, others[0]) if edges is forth else (others[0], core)
            hint = "add {0}_to_{1}: {{from: {0}, to: {1}, depth: 1}}; others may pass on".format(
                *ends
            )
            reader.error(message, ("host", "unit"), hint)
