"""Write one transfer or one compute step as program nodes.

In: a transfer or an instruction, and for each dimension its count and strides. Out: nodes (loops
that the instruction cannot run itself around one Issue). Not its job: where in the nest they stand,
tokens, addresses.
"""

from dataclasses import dataclass, replace
from itertools import combinations

from isamap.hwdesc import Instruction, RepeatRule
from isamap.ir import Affine, size_bytes
from isamap.mapper import cut_run, part_size
from isamap.program import Edge, For, Issue, Node, Operand, Repeat, Span, When


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
        operands = _walked(operands, walk)
    node = Issue(
        call.instruction.name,
        operands,
        call.extents,
        _repeats(call, dict(zip(chosen, inside, strict=True))),
        call.immediates,
    )
    return _around(tuple(outside), (node,))


def _walked(operands: tuple[Operand, ...], walk: Walk) -> tuple[Operand, ...]:
    """The operands where the walk's loop has brought them."""
    pairs = zip(operands, walk.steps, strict=True)
    return tuple(_advanced(operand, Affine.of([(walk.name, step)])) for operand, step in pairs)


def _around(walks: tuple[Walk, ...], nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """The nodes in program loops that run the walks, outermost first."""
    for walk in reversed(walks):
        nodes = (For(walk.name, walk.span, nodes),) if walk.span != Span(1) else nodes
    return nodes


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


def _advanced(operand: Operand, by_bytes: Affine) -> Operand:
    address = replace(operand.address, offset=operand.address.offset + by_bytes)
    return replace(operand, address=address)


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
class Cut:
    """A dimension to be moved in one call after another: loop of the instruction, count, per
    operand the bytes from iteration to iteration.

    `rows`: the loop that runs over whole parts of it, and over how many in a call; the operands'
    strides along that loop are those of a part.
    """

    loop: str
    span: Span
    steps: tuple[int, ...]
    rows: tuple[str, int] | None = None


def emit_cut(call: Call, walks: tuple[Walk, ...], cuts: tuple[Cut, ...]) -> tuple[Node, ...]:
    """The call under `walks`, along each cut dimension in parts that the instruction can take.

    Where a tile may end early and its parts are not all of one length, the last one stands apart,
    so that every call can tell its count from one end alone: that of the kernel's loop, not the
    tile's.
    """
    if not cuts:
        return emit_walks(call, walks)
    cut, others = cuts[0], cuts[1:]
    span, rule = cut.span, call.instruction.extent(cut.loop)
    size = part_size(span.limit, rule)
    if size == span.limit:
        return emit_cut(_with_extent(call, cut.loop, span), walks, others)
    assert span.unit == 1, "only counts of single iterations are cut"
    if cut.rows is not None:
        return _emit_rows(call, walks, cuts, size)
    number, rest = divmod(span.limit, size)
    if span.total is not None and rest:
        return _emit_with_rest(call, walks, cuts, size)
    name = f"{cut.loop}_part"
    inside = span.offset + Affine.of([(name, size)])
    calls = Span(number + (rest > 0), span.total, span.offset, size)
    steps = tuple(size * step for step in cut.steps)
    is_whole = span.total is None and not rest
    extent = Span(size) if is_whole else Span(size, span.total or span.limit, inside)
    part = _with_extent(call, cut.loop, extent)
    return emit_cut(part, (*walks, Walk(name, calls, steps)), others)


def _emit_rows(
    call: Call, walks: tuple[Walk, ...], cuts: tuple[Cut, ...], size: int
) -> tuple[Node, ...]:
    """By rows of `size` along the first cut; where its count may be less, in one way for all of it
    and in another for less, which is row by row unless it is always the same."""
    cut, others = cuts[0], cuts[1:]
    span = cut.span
    if span.total is None:
        return _emit_run(call, walks, cuts, size)
    outside, inside, call = _split_walks(call, walks, span)
    less = span.total % span.limit
    ends = (*(by for _, by in span.offset.terms), span.offset.constant)
    if any(end % span.limit for end in ends):
        short = emit_cut(call, inside, (replace(cut, rows=None), *others))
    elif less:
        short = emit_cut(call, inside, (replace(cut, span=Span(less)), *others))
    else:
        return _emit_run(call, walks, (replace(cut, span=Span(span.limit)), *others), size)
    whole = _emit_run(call, inside, (replace(cut, span=Span(span.limit)), *others), size)
    name = f"{cut.loop}_rows"
    is_short = When(((name, Edge.FIRST), (name, Edge.LAST)), short)
    is_whole = When(((name, Edge.LATER),), whole)
    # once for less than all of it, twice for all
    times = Span(2, span.total, span.offset, span.limit - 1)
    return _around(outside, (For(name, times, (is_short, is_whole)),))


def _emit_run(
    call: Call, walks: tuple[Walk, ...], cuts: tuple[Cut, ...], size: int
) -> tuple[Node, ...]:
    """Calls of as many rows of `size` as they take, one of what is left of them, one of what is
    left of a row; the count of the first cut is known."""
    cut, others = cuts[0], cuts[1:]
    assert cut.rows is not None
    loop, most = cut.rows
    nodes: tuple[Node, ...] = ()
    begin = 0
    for number, rows, extent in cut_run(cut.span.limit, size, most):
        length = rows * extent
        part = _with_extent(_with_extent(call, cut.loop, Span(extent)), loop, Span(rows))
        part = _moved_on(part, cut.steps, begin)
        steps = tuple(length * step for step in cut.steps)
        walk = Walk(f"{cut.loop}_part", Span(number), steps)
        nodes += emit_cut(part, (*walks, walk), others)
        begin += number * length
    return nodes


def _split_walks(
    call: Call, walks: tuple[Walk, ...], span: Span
) -> tuple[tuple[Walk, ...], tuple[Walk, ...], Call]:
    """The walks that the count depends on with those around them, the others, and the call where
    program loops over the former have brought it."""
    walks = tuple(walk for walk in walks if walk.span != Span(1))
    ends = [n for n, walk in enumerate(walks, 1) if walk.name in span.offset.names]
    outside, inside = walks[: max(ends, default=0)], walks[max(ends, default=0) :]
    for walk in outside:
        call = replace(call, operands=_walked(call.operands, walk))
    return outside, inside, call


def _moved_on(call: Call, steps: tuple[int, ...], count: int) -> Call:
    """The call so many iterations further on."""
    pairs = zip(call.operands, steps, strict=True)
    moved = tuple(_advanced(operand, Affine((), count * step)) for operand, step in pairs)
    return replace(call, operands=moved)


def _emit_with_rest(
    call: Call, walks: tuple[Walk, ...], cuts: tuple[Cut, ...], size: int
) -> tuple[Node, ...]:
    """As many parts of `size` along the first cut as the count has, where it gets so far what is
    left of it; program loops run the walks that the count depends on."""
    cut, others = cuts[0], cuts[1:]
    span = cut.span
    outside, inside, call = _split_walks(call, walks, span)
    whole = span.limit - span.limit % size
    whole_cut = replace(cut, span=replace(span, limit=whole))
    nodes = emit_cut(call, inside, (whole_cut, *others))
    left = Span(span.limit - whole, span.total, span.offset + Affine((), whole))
    last = _moved_on(_with_extent(call, cut.loop, left), cut.steps, whole)
    name = f"{cut.loop}_rest"
    both = at_first_and_later((name,), nodes, emit_cut(last, inside, others))
    sides = Span(2, span.total, span.offset, whole)
    return _around(outside, (For(name, sides, both),))


def _with_extent(call: Call, loop: str, span: Span) -> Call:
    extents = tuple((name, span if name == loop else old) for name, old in call.extents)
    return replace(call, extents=extents)
