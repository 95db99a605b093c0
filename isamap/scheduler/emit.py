"""Write one transfer or one compute step as program nodes.

In: a transfer or an instruction, and for each dimension its count and strides. Out: nodes (loops
that the instruction cannot run itself around one Issue). Not its job: where in the nest they stand,
tokens, addresses.
"""

from dataclasses import dataclass
from itertools import combinations

from isamap.hwdesc import ExtentKind, Instruction, RepeatRule
from isamap.ir import Affine, size_bytes
from isamap.mapper import part_size
from isamap.program import Address, Edge, For, Issue, Node, Operand, Repeat, Span, When


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
    immediates: tuple[tuple[str, int | float], ...] = ()


def emit_walks(call: Call, walks: tuple[Walk, ...]) -> tuple[Node, ...]:
    """The call under `walks` (outermost first).

    Hardware loops take as many of the innermost ones as they can, program loops the rest.
    """
    kept = [walk for walk in walks if walk.span != Span(1)]
    repeats = call.instruction.repeats
    chosen: tuple[int, ...] = ()
    for count in range(min(len(kept), len(repeats)), 0, -1):
        inside = kept[len(kept) - count :]
        fitting = (c for c in combinations(range(len(repeats)), count) if _fits(call, c, inside))
        chosen = next(fitting, ())
        if chosen:
            break
    outside, inside = kept[: len(kept) - len(chosen)], kept[len(kept) - len(chosen) :]
    operands = call.operands
    for walk in outside:
        operands = tuple(
            _advanced(operand, walk.name, step)
            for operand, step in zip(operands, walk.steps, strict=True)
        )
    node: Node = Issue(
        call.instruction.name,
        operands,
        call.extents,
        _repeats(call, dict(zip(chosen, inside, strict=True))),
        call.immediates,
    )
    for walk in reversed(outside):
        node = For(walk.name, walk.span, (node,))
    return (node,)


def _fits(call: Call, chosen: tuple[int, ...], walks: list[Walk]) -> bool:
    """May the chosen repeats run `walks`, the others running once?"""
    for position, (number, walk) in enumerate(zip(chosen, walks, strict=True)):
        rule = call.instruction.repeats[number]
        is_edge = any(walk.name in span.offset.names for _, span in call.extents)
        if walk.span.limit > rule.maximum or is_edge:
            return False
        inner = walks[position + 1] if position + 1 < len(walks) else None
        for operand, (stride, step) in enumerate(zip(rule.strides, walk.steps, strict=True)):
            if not stride.is_dense and not stride.allows(step):
                return False
            if stride.is_dense and step != _gapless(call, operand, inner):
                return False
    return True


def _gapless(call: Call, operand: int, inner: Walk | None) -> int | None:
    """The step that leaves no gap after the next inner walk or the block; None if it varies."""
    if inner is None:
        return block_span_bytes(call, operand)
    return None if inner.span.total is not None else inner.steps[operand] * inner.span.limit


def block_span_bytes(call: Call, operand: int) -> int:
    """Bytes between the first and past the last element of one call's operand, at its largest."""
    name = call.operands[operand].name
    semantics = call.instruction.semantics
    extents = {loop: span.limit for loop, span in call.extents}
    access = call.instruction.access(name)
    last = sum(
        coefficient * (extents[loop] - 1) * stride
        for index, stride in zip(access.indices, call.operands[operand].strides_bytes, strict=True)
        for loop, coefficient in index.terms
    )
    return last + size_bytes(semantics.buffer(name).dtype)


def _repeats(call: Call, walks: dict[int, Walk]) -> tuple[Repeat, ...]:
    """One repeat per rule: the walk it was given, or a single round."""
    result: list[Repeat] = []
    for number, rule in reversed(list(enumerate(call.instruction.repeats))):
        walk = walks.get(number)
        if walk is not None:
            result.insert(0, Repeat(rule.name, walk.span, walk.steps))
            continue
        inner = result[0] if result else None
        steps = tuple(
            _idle_step(call, rule, operand, inner) for operand in range(len(call.operands))
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


def at_first_and_later(
    loops: tuple[str, ...], first: tuple[Node, ...], later: tuple[Node, ...]
) -> tuple[Node, ...]:
    """`first` in the first iteration of all the loops together, else `later`."""
    nodes = [When(tuple((loop, Edge.FIRST) for loop in loops), first)]
    for number, loop in enumerate(loops):
        before = tuple((name, Edge.FIRST) for name in loops[:number])
        nodes.append(When((*before, (loop, Edge.LATER)), later))
    return tuple(nodes)


@dataclass(frozen=True, slots=True)
class Parts:
    """A count cut into calls: extent of one call, how many (None: one), how far each moves on."""

    extent: Span
    calls: Span | None
    size: int


def cut(span: Span, instruction: Instruction, loop: str, name: str) -> Parts:
    """Cut a count into calls that the instruction can take; `name` is the loop over the calls."""
    rule = instruction.extent(loop)
    size = part_size(span.limit, rule, span.total is not None)
    if size == span.limit:
        return Parts(span, None, size)
    if rule.kind is ExtentKind.EXACTLY:
        return Parts(Span(size), Span(span.limit // size), size)
    assert span.unit == 1, "only counts of single iterations are cut"
    total = span.total if span.total is not None else span.limit
    offset = span.offset + Affine.of([(name, size)])
    calls = Span(-(-span.limit // size), span.total, span.offset, size)
    return Parts(Span(size, total, offset), calls, size)
