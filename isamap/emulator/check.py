"""Static legality: what can be said about a program without running it.

In: a Program and a Hardware. Out: nothing, or a ProgramError naming the call and the rule.
Not its job: what depends on loop values (edge extents, addresses) or on order (hazards, tokens);
the executions
check those.
"""

from isamap.errors import ProgramError, closest
from isamap.hwdesc import (
    Hardware,
    Instruction,
    OperandRule,
    StrideRule,
    immediate_value,
)
from isamap.ir import Affine, Kernel, index_range
from isamap.program import Address, For, Issue, Node, Operand, Placement, Program, Span, When

from .cores import SpreadLoops, check_site, check_spread
from .ranges import fixed_count, span_interval


def check_program(program: Program, hardware: Hardware) -> None:
    """Raise ProgramError at the first static rule that `program` breaks on `hardware`."""
    if program.hardware != hardware.name:
        raise ProgramError(f"program is for {program.hardware!r}, not for {hardware.name!r}")
    for placement in program.inputs + program.outputs + program.scratch:
        _check_placement(placement, hardware)
    _check_body(program.body, {}, (), hardware)


def _check_placement(placement: Placement, hardware: Hardware) -> None:
    memory, end = hardware.external, placement.end
    if placement.address < 0 or end > memory.size_bytes:
        raise ProgramError(
            f"placement of {placement.buffer!r}: bytes {placement.address} to {end}"
            f" do not fit {memory.name!r} of {memory.size_bytes} bytes"
        )


def _check_body(
    body: tuple[Node, ...], loops: dict[str, int], spread: SpreadLoops, hardware: Hardware
) -> None:
    for node in body:
        match node:
            case Issue():
                _check_issue(node, loops, hardware)
                check_site(hardware.instruction(node.instruction), spread)
            case When(conditions, inner):
                for loop, _ in conditions:
                    _check_names(Affine.var(loop), loops, "condition")
                _check_body(inner, loops, spread, hardware)
            case For(loop, span, inner):
                if loop in loops:
                    raise ProgramError(f"loop {loop!r} inside a loop of the same name")
                _check_span(span, loops, f"loop {loop!r}")
                most = max(1, span_interval(span, loops)[1])
                check_spread(node, most, spread, hardware)
                over = (*spread, (loop, most, node.spread)) if node.spread else spread
                _check_body(inner, loops | {loop: most}, over, hardware)


def _check_names(affine: Affine, loops: dict[str, int], where: str) -> None:
    for name in affine.names:
        if name not in loops:
            hint = closest(name, loops) or f"enclosing loops: {', '.join(loops) or 'none'}"
            raise ProgramError(f"{where}: {name!r} is not an enclosing loop", hint=hint)


def _check_span(span: Span, loops: dict[str, int], where: str) -> None:
    _check_names(span.offset, loops, where)
    if span.unit < 1 or span_interval(span, loops)[1] < 1:
        raise ProgramError(f"{where}: the count is {span_interval(span, loops)[1]}, below 1")


def _check_issue(issue: Issue, loops: dict[str, int], hardware: Hardware) -> None:
    where = f"call of {issue.instruction!r}"
    names = [instruction.name for instruction in hardware.instructions]
    if issue.instruction not in names:
        hint = closest(issue.instruction, names)
        raise ProgramError(f"{where}: {hardware.name!r} has no such instruction", hint=hint)
    instruction = hardware.instruction(issue.instruction)
    _check_operand_names([o.name for o in issue.operands], instruction.operands, where)
    _check_extents(issue, instruction, loops, where)
    _check_repeats(issue, instruction, loops, where)
    for operand, rule in zip(issue.operands, instruction.operands):
        _check_operand(operand, rule, hardware, loops, where)
        _check_strides(issue, operand, rule, instruction.semantics, where)
    _check_immediates(issue, instruction, where)
    _check_channels(issue, instruction, hardware, where)
    if issue.starts and not hardware.is_exposed:
        raise ProgramError(f"{where}: has start cycles, but {hardware.name!r} waits by itself")
    for run in issue.starts:
        first, last = run.first, run.first + run.step * (run.count - 1)
        if run.count < 1 or min(first, last) < 0:
            raise ProgramError(
                f"{where}: {run.count} starts from cycle {first} to {last}",
                hint="at least one, none before cycle 0",
            )


def _check_operand_names(found: list[str], rules: tuple[OperandRule, ...], where: str) -> None:
    expected = [rule.name for rule in rules]
    if found != expected:
        raise ProgramError(f"{where}: operands {found}, the instruction has {expected}")


def semantic_loops(kernel: Kernel) -> tuple[str, ...]:
    """Names of all loops of `kernel`, in order of appearance."""
    names = [loop.name for statement in kernel.statements for loop in statement.loops]
    return tuple(dict.fromkeys(names))


def _check_extents(
    issue: Issue, instruction: Instruction, loops: dict[str, int], where: str
) -> None:
    expected = semantic_loops(instruction.semantics)
    found = [loop for loop, _ in issue.extents]
    if sorted(found) != sorted(expected):
        raise ProgramError(f"{where}: extents for {found}, the instruction has {list(expected)}")
    for loop, span in issue.extents:
        _check_span(span, loops, f"{where}, extent of {loop!r}")
        rule = instruction.extent(loop)
        count = fixed_count(span)
        if count is not None and not rule.allows(count):
            raise ProgramError(
                f"{where}: extent {count} of {loop!r} is not allowed",
                hint=f"allowed is {rule.kind.value} {rule.maximum}, multiple {rule.multiple}",
            )


def _check_repeats(
    issue: Issue, instruction: Instruction, loops: dict[str, int], where: str
) -> None:
    expected = [rule.name for rule in instruction.repeats]
    found = [repeat.name for repeat in issue.repeats]
    if found != expected:
        raise ProgramError(f"{where}: repeats {found}, the instruction has {expected}")
    for repeat, rule in zip(issue.repeats, instruction.repeats):
        _check_span(repeat.span, loops, f"{where}, repeat {repeat.name!r}")
        most = fixed_count(repeat.span) or 1
        if most > rule.maximum:
            raise ProgramError(
                f"{where}: repeat {repeat.name!r} runs {most} times, at most {rule.maximum}"
            )
        if len(repeat.strides_bytes) != len(issue.operands):
            raise ProgramError(f"{where}: repeat {repeat.name!r} needs one stride per operand")
    for position in range(len(issue.repeats)):
        _check_repeat_strides(issue, instruction, position, where)


def _check_repeat_strides(
    issue: Issue, instruction: Instruction, position: int, where: str
) -> None:
    repeat = issue.repeats[position]
    if fixed_count(repeat.span) == 1:
        return  # an unused repeat's step is never taken
    rules = instruction.repeats[position].strides
    for number, (stride, rule) in enumerate(zip(repeat.strides_bytes, rules)):
        name = issue.operands[number].name
        what = f"{where}: step {stride} of {name!r} over repeat {repeat.name!r}"
        dense = _dense_repeat_strides(issue, instruction, position, number)
        _check_stride(stride, rule, dense, what)


def _dense_repeat_strides(
    issue: Issue, instruction: Instruction, position: int, number: int
) -> set[int]:
    """Steps without a gap: past the next inner repeat in use, or past the operand's own block."""
    for offset, inner in enumerate(issue.repeats[position + 1 :], position + 1):
        if fixed_count(inner.span) != 1:
            stride = inner.strides_bytes[number]
            return {stride * inner.span.limit, stride * instruction.repeats[offset].maximum}
    operand = issue.operands[number]
    shape = instruction.semantics.buffer(operand.name).shape
    used = _used_shape(issue, instruction.semantics, operand.name)
    if not shape:
        return set()
    return {operand.strides_bytes[0] * shape[0], operand.strides_bytes[0] * used[0]}


def _check_operand(
    operand: Operand, rule: OperandRule, hardware: Hardware, loops: dict[str, int], where: str
) -> None:
    what = f"{where}, operand {operand.name!r}"
    if operand.memory != rule.memory:
        raise ProgramError(f"{what}: is in {operand.memory!r}, must be in {rule.memory!r}")
    assert operand.memory in [memory.name for memory in hardware.memories], "checked on loading"
    _check_address(operand.address, loops, what)


def _check_address(address: Address, loops: dict[str, int], what: str) -> None:
    _check_names(address.offset, loops, what)
    for rotation in address.rotations:
        _check_names(rotation.counter, loops, what)
        if rotation.modulo < 1 or index_range(rotation.counter, loops)[1] < 0:
            raise ProgramError(f"{what}: rotation counter below 0 or modulo below 1")


def _check_strides(
    issue: Issue, operand: Operand, rule: OperandRule, kernel: Kernel, where: str
) -> None:
    what = f"{where}, operand {operand.name!r}"
    shape = kernel.buffer(operand.name).shape
    if len(operand.strides_bytes) != len(shape):
        raise ProgramError(
            f"{what}: {len(operand.strides_bytes)} strides for {len(shape)} dimensions"
        )
    used = _used_shape(issue, kernel, operand.name)
    for axis, stride_rule in enumerate(rule.strides):
        if used[axis] == 1:
            continue  # a stride that is never taken may be anything
        dense: set[int] = set()
        if axis + 1 < len(shape):
            inner = operand.strides_bytes[axis + 1]
            dense = {inner * shape[axis + 1], inner * used[axis + 1]}
        stride = operand.strides_bytes[axis]
        _check_stride(stride, stride_rule, dense, f"{what}: stride {stride} of dimension {axis}")


def _check_stride(stride: int, rule: StrideRule, dense: set[int], what: str) -> None:
    if stride < 0:
        raise ProgramError(f"{what}: the emulator runs only strides of 0 or more")
    is_allowed = stride in dense if rule.is_dense and dense else rule.allows(stride)
    if not is_allowed:
        wanted = f"one of {sorted(dense)} (dense)" if rule.is_dense and dense else _show_rule(rule)
        raise ProgramError(f"{what} bytes is not allowed", hint=f"allowed is {wanted}")


def _show_rule(rule: StrideRule) -> str:
    if rule.fixed_bytes is not None:
        return f"exactly {rule.fixed_bytes}"
    least = 0 if rule.may_be_zero else rule.multiple_bytes
    most = "" if rule.maximum_bytes is None else f" to {rule.maximum_bytes}"
    return f"multiples of {rule.multiple_bytes} from {least}{most}"


def _used_shape(issue: Issue, kernel: Kernel, buffer: str) -> tuple[int, ...]:
    """Largest number of indices along each dimension of an operand that the call's extents
    reach."""
    limits = {name: span.limit for name, span in issue.extents}
    shape = kernel.buffer(buffer).shape
    reach = [0] * len(shape)
    for statement in kernel.statements:
        for access in statement.accesses:
            if access.buffer == buffer:
                ends = [index_range(index, limits)[1] for index in access.indices]
                reach = [max(pair) for pair in zip(reach, ends)]
    return tuple(min(size, last + 1) for size, last in zip(shape, reach))


def _check_immediates(issue: Issue, instruction: Instruction, where: str) -> None:
    found = [name for name, _ in issue.immediates]
    expected = [rule.name for rule in instruction.immediates]
    if found != expected:
        raise ProgramError(f"{where}: immediates {found}, the instruction has {expected}")
    for (name, value), rule in zip(issue.immediates, instruction.immediates):
        if not rule.minimum <= value <= rule.maximum:
            limits = f"{rule.minimum} .. {rule.maximum}"
            raise ProgramError(f"{where}: immediate {name!r} is {value}, not in {limits}")
        if immediate_value(rule, value) != value:
            kind = rule.dtype or "integer"
            raise ProgramError(f"{where}: immediate {name!r} is {value}, which is no {kind}")


def _check_channels(issue: Issue, instruction: Instruction, hardware: Hardware, where: str) -> None:
    channels = {channel.name: channel for channel in hardware.channels}
    for verb, names in (("pop", issue.pops), ("push", issue.pushes)):
        for name in names:
            if name not in channels:
                hint = closest(name, channels)
                raise ProgramError(f"{where}: {verb} of unknown channel {name!r}", hint=hint)
            channel = channels[name]
            unit = channel.target_unit if verb == "pop" else channel.source_unit
            if unit != instruction.unit:
                raise ProgramError(
                    f"{where}: {verb} of {name!r} belongs to unit {unit!r},"
                    f" the call runs on {instruction.unit!r}"
                )
