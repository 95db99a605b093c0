"""Write one transfer or one compute step as program nodes.

In: a transfer or an instruction, and for each dimension its count and strides. Out: nodes (loops
that the instruction cannot run itself around one Issue). Not its job: where in the nest they stand,
tokens, addresses.
"""

from dataclasses import dataclass

from isamap.hwdesc import ExtentKind, Instruction, RepeatRule
from isamap.ir import Affine, accesses, size_bytes
from isamap.program import Address, For, Issue, Node, Operand, Repeat, Span


@dataclass(frozen=True, slots=True)
class Walk:
    """A dimension to be run through: count, and per operand of the instruction its byte step."""

    name: str
    span: Span
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call without the dimensions around it: extents, immediates, operands at their first
    element."""

    instruction: Instruction
    extents: tuple[tuple[str, Span], ...]
    operands: tuple[Operand, ...]
    immediates: tuple[tuple[str, int], ...] = ()


def emit_walks(call: Call, walks: tuple[Walk, ...]) -> tuple[Node, ...]:
    """The call under `walks` (outermost first): hardware loops take the innermost ones they can,
    program loops the rest."""
    kept = [walk for walk in walks if walk.span != Span(1)]
    repeats = call.instruction.repeats
    taken = 0
    while taken < len(kept) and taken < len(repeats):
        if not _absorbs(call, repeats, kept[len(kept) - taken - 1 :]):
            break
        taken += 1
    inside = kept[len(kept) - taken :]
    operands = call.operands
    for walk in kept[: len(kept) - taken]:
        operands = tuple(
            _advanced(operand, walk.name, step)
            for operand, step in zip(operands, walk.steps, strict=True)
        )
    node: Node = Issue(
        call.instruction.name,
        operands,
        call.extents,
        _repeats(call, repeats, inside),
        call.immediates,
    )
    for walk in reversed(kept[: len(kept) - taken]):
        node = For(walk.name, walk.span, (node,))
    return (node,)


def _absorbs(call: Call, repeats: tuple[RepeatRule, ...], walks: list[Walk]) -> bool:
    """May the innermost repeats run `walks`?"""
    used = repeats[len(repeats) - len(walks) :]
    for number, (rule, walk) in enumerate(zip(used, walks, strict=True)):
        is_edge = any(walk.name in span.offset.names for _, span in call.extents)
        if walk.span.limit > rule.maximum or is_edge:
            return False
        for operand, (stride, step) in enumerate(zip(rule.strides, walk.steps, strict=True)):
            if stride.is_dense:
                inner = walks[number + 1] if number + 1 < len(walks) else None
                if inner is not None and inner.span.total is not None:
                    return False
                gapless = (
                    inner.steps[operand] * inner.span.limit
                    if inner
                    else block_span_bytes(call, operand)
                )
                if step != gapless:
                    return False
            elif not stride.allows(step):
                return False
    return True


def block_span_bytes(call: Call, operand: int) -> int:
    """Bytes between the first and past the last element of one call's operand, at its largest."""
    name = call.operands[operand].name
    semantics = call.instruction.semantics
    extents = {loop: span.limit for loop, span in call.extents}
    statement = semantics.statements[0]
    access = next(a for a in (statement.target, *accesses(statement.value)) if a.buffer == name)
    last = sum(
        (extents[index.names[0]] - 1) * stride if index.names else 0
        for index, stride in zip(access.indices, call.operands[operand].strides_bytes, strict=True)
    )
    return last + size_bytes(semantics.buffer(name).dtype)


def _repeats(call: Call, rules: tuple[RepeatRule, ...], walks: list[Walk]) -> tuple[Repeat, ...]:
    unused = len(rules) - len(walks)
    result: list[Repeat] = []
    for number, rule in reversed(list(enumerate(rules))):
        if number >= unused:
            walk = walks[number - unused]
            result.insert(0, Repeat(rule.name, walk.span, walk.steps))
            continue
        steps = tuple(
            _idle_step(call, rule, operand, result[0] if result else None)
            for operand in range(len(call.operands))
        )
        result.insert(0, Repeat(rule.name, Span(1), steps))
    return tuple(result)


def _idle_step(call: Call, rule: RepeatRule, operand: int, inner: Repeat | None) -> int:
    """A legal step for a repeat that runs once."""
    stride = rule.strides[operand]
    if stride.is_dense:
        if inner is not None:
            return inner.strides_bytes[operand] * inner.span.limit
        return block_span_bytes(call, operand)
    if stride.fixed_bytes is not None:
        return stride.fixed_bytes
    return 0 if stride.may_be_zero else stride.multiple_bytes


def _advanced(operand: Operand, loop: str, step: int) -> Operand:
    offset = operand.address.offset + Affine.of([(loop, step)])
    address = Address(offset, operand.address.rotations)
    return Operand(operand.name, operand.memory, address, operand.strides_bytes)


def chunk(span: Span, instruction: Instruction, loop: str, name: str) -> tuple[Span, Span | None]:
    """Cut a count into calls of at most the instruction's maximum: (extent of a call, number of
    calls or None)."""
    rule = instruction.extent(loop)
    if span.limit <= rule.maximum:
        return span, None
    total = span.total if span.total is not None else span.limit
    size = rule.maximum
    if rule.kind is ExtentKind.EXACTLY:
        return Span(size), Span(span.limit // size)
    offset = span.offset + Affine.of([(name, size)])
    calls = Span(-(-span.limit // size), span.total, span.offset, size)
    assert span.unit == 1, "only counts of single iterations are cut"
    return Span(size, total, offset), calls
