"""Lay inputs out in the order in which a program uses them.

In: a program, inputs that are packed ahead of its calls. Out: the same program on other layouts.
Not its job: deciding which inputs those are, packing.

Where tiles of a matrix are read one after another, every row of a tile lies a whole row apart,
whether it is row-major or calls find their blocks dense; here a tile's elements lie side by side,
in the order of the loops around the calls.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from isamap.hwdesc import Hardware
from isamap.ir import Affine, numpy_dtype

from .layout import Axis, Layout
from .pack import natural_layout
from .program import Address, For, Issue, Node, Operand, Placement, Program, surrounded_issues

ALIGN_BYTES = 64

Digit = tuple[int, int]  # dimension of the array, elements per step


@dataclass(frozen=True, slots=True)
class _Use:
    """An operand on the input: steps of everything that moves it, outermost first.

    `extents`: of each digit, the most that it takes here.
    """

    digits: tuple[Digit, ...]
    extents: tuple[int, ...]


def in_use_order(program: Program, hw: Hardware, buffers: tuple[str, ...]) -> Program:
    """The program with each of these inputs in the order of its use; as it lies where elements have
    several places or none in whole, or where calls cut it in different ways.

    hw: with the program's host calls.
    """
    for buffer in buffers:
        for placement in program.inputs:
            if placement.buffer == buffer and _is_plain(placement.layout):
                program = _reorder(program, placement, hw)
    return program


def _is_plain(layout: Layout) -> bool:
    """Has each element one place, all of its bytes there, and none before the first?"""
    has_holes = layout.plane_bytes is not None or any(layout.border)
    return not has_holes and not layout.is_replicated


def _reorder(program: Program, placement: Placement, hw: Hardware) -> Program:
    if any(p.address == placement.address for p in program.outputs):
        return program
    for layout in _views(placement.layout):
        moved = _moved_as(program, placement, replace(placement, layout=layout), hw)
        if moved is not None:
            return moved
    return program


def _views(layout: Layout) -> Iterator[Layout]:
    """The layout, and where it is row-major, ever more neighbouring dimensions seen as one: loops
    over rows side by side may run over several."""
    yield layout
    if layout.is_natural:
        gaps = range(1, len(layout.shape))
        for count in gaps:
            for closed in combinations(gaps, count):
                shape = [1]
                for dim, size in enumerate(layout.shape):
                    shape = (
                        [*shape[:-1], shape[-1] * size] if dim in (0, *closed) else [*shape, size]
                    )
                yield natural_layout(layout.dtype, tuple(shape))


def _moved_as(
    program: Program, own: Placement, placement: Placement, hw: Hardware
) -> Program | None:
    """The program with one of its inputs, seen as `placement`, in the order of its use; None where
    calls move over it in another way."""
    found = list(_uses(program.body, placement, hw))
    uses = [use for use in found if use is not None]
    if not uses or len(uses) < len(found):
        return None
    layout = _layout(placement.layout, uses)
    if layout is None:
        return None
    address = -(-program.room_bytes // ALIGN_BYTES) * ALIGN_BYTES
    moved = replace(placement, address=address, layout=layout)
    steps = {(axis.dim, axis.step): axis.stride_bytes for axis in layout.axes}
    body = _rewritten(program.body, placement, moved, steps, hw)
    if body is None:
        return None
    inputs = tuple(moved if p is own else p for p in program.inputs)
    return replace(program, inputs=inputs, body=body)


def _uses(body: tuple[Node, ...], placement: Placement, hw: Hardware) -> Iterator[_Use | None]:
    """How each call moves over the input; None for a call that moves in no such way."""
    for issue, around in surrounded_issues(body):
        loops = tuple(node for node in around if isinstance(node, For))
        for number, operand in enumerate(issue.operands):
            if lies_in(operand, placement, hw):
                yield _use(issue, number, placement, hw, loops)


def lies_in(operand: Operand, placement: Placement, hw: Hardware) -> bool:
    """Is the operand part of the array?"""
    start = operand.address.offset.constant - placement.address
    is_external = operand.memory == hw.external.name
    return is_external and 0 <= start < placement.layout.size_bytes


def _use(
    issue: Issue, number: int, placement: Placement, hw: Hardware, loops: tuple[For, ...]
) -> _Use | None:
    operand = issue.operands[number]
    address = operand.address
    if address.rotations or address.offset.constant != placement.address:
        return None
    moves = [(address.offset.coefficient(loop.loop), loop.span.limit) for loop in loops]
    moves += [(repeat.strides_bytes[number], repeat.span.limit) for repeat in issue.repeats]
    moves += list(zip(operand.strides_bytes, _shape(issue, operand, hw), strict=True))
    digits, extents = [], []
    for stride, extent in moves:
        if stride == 0 or extent == 1:
            continue
        digit = _digit(stride, placement.layout)
        if digit is None or digit in digits:
            return None
        digits.append(digit)
        extents.append(extent)
    return _Use(tuple(digits), tuple(extents))


def _shape(issue: Issue, operand: Operand, hw: Hardware) -> tuple[int, ...]:
    return hw.instruction(issue.instruction).semantics.buffer(operand.name).shape


def _digit(stride: int, layout: Layout) -> Digit | None:
    """Which dimension so many bytes move along, and how far; None: along no single one."""
    for axis in sorted(layout.axes, key=lambda axis: -axis.stride_bytes):
        if axis.size > 1 and axis.stride_bytes <= stride:
            count, rest = divmod(stride, axis.stride_bytes)
            return None if rest else (axis.dim, count * axis.step)
    return None


def _layout(before: Layout, uses: list[_Use]) -> Layout | None:
    """A place for every element that the uses reach, neighbours in the order of the longest use;
    None where an element would have two."""
    extents: dict[Digit, int] = {}
    for use in sorted(uses, key=lambda use: -len(use.digits)):
        for digit, extent in zip(use.digits, use.extents, strict=True):
            extents[digit] = max(extent, extents.get(digit, 0))
    for dim, size in enumerate(before.shape):
        steps = sorted((step for d, step in extents if d == dim), reverse=True)
        for step, finer in zip(steps, (*steps[1:], None)):
            reach = 1 if finer is None else finer * extents[dim, finer]
            if reach > step or step * (extents[dim, step] - 1) >= size:
                return None
    axes: list[Axis] = []
    stride = numpy_dtype(before.dtype).itemsize
    for (dim, step), extent in reversed(extents.items()):
        axes.insert(0, Axis(dim, step, extent, stride))
        stride *= extent
    return Layout(
        before.dtype, before.shape, tuple(axes), before.border, stride, padding=before.padding
    )


def _rewritten(
    body: tuple[Node, ...],
    old: Placement,
    new: Placement,
    steps: dict[Digit, int],
    hw: Hardware,
) -> tuple[Node, ...] | None:
    """The nodes with every operand on the input moved; None where an instruction cannot take it."""
    nodes: list[Node] = []
    for node in body:
        if isinstance(node, Issue):
            issue = node
            for number, operand in enumerate(node.operands):
                if lies_in(operand, old, hw):
                    moved = _moved(issue, number, old, new, steps, hw)
                    if moved is None:
                        return None
                    issue = moved
            nodes.append(issue)
            continue
        inner = _rewritten(node.body, old, new, steps, hw)
        if inner is None:
            return None
        nodes.append(replace(node, body=inner))
    return tuple(nodes)


def _moved(
    issue: Issue,
    number: int,
    old: Placement,
    new: Placement,
    steps: dict[Digit, int],
    hw: Hardware,
) -> Issue | None:
    operand, instruction = issue.operands[number], hw.instruction(issue.instruction)

    def step(stride: int) -> int:
        digit = _digit(stride, old.layout)
        return steps.get(digit, stride) if digit is not None and stride else stride

    rule = next(rule for rule in instruction.operands if rule.name == operand.name)
    rules = [*rule.strides, *(repeat.strides[number] for repeat in instruction.repeats)]
    before = [*operand.strides_bytes, *(r.strides_bytes[number] for r in issue.repeats)]
    sizes = [*_shape(issue, operand, hw), *(repeat.span.limit for repeat in issue.repeats)]
    after = [step(s) if size > 1 else s for s, size in zip(before, sizes, strict=True)]
    terms = [(name, step(c)) for name, c in operand.address.offset.terms]
    starts = [stride for _, stride in terms] + after[len(operand.strides_bytes) :]
    is_taken = all(
        new_one == old_one or (one.allows(new_one) and not one.is_dense)
        for one, old_one, new_one in zip(rules, before, after, strict=True)
    )
    if not is_taken or any(start % rule.align_bytes for start in starts):
        return None
    count = len(operand.strides_bytes)
    place = Address(Affine.of(terms, new.address))
    moved = replace(operand, address=place, strides_bytes=tuple(after[:count]))
    repeats = tuple(
        replace(
            repeat,
            strides_bytes=(
                *repeat.strides_bytes[:number], stride, *repeat.strides_bytes[number + 1 :],
            ),
        )
        for repeat, stride in zip(issue.repeats, after[count:], strict=True)
    )  # fmt: skip
    operands = (*issue.operands[:number], moved, *issue.operands[number + 1 :])
    return replace(issue, operands=operands, repeats=repeats)
