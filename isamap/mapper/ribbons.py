"""Let copies take blocks of a loop together: a tile's blocks lie end to end, as one ribbon.

In: an operand under planning. Out: axes under which one loop is a ribbon; which of the plans found
under them copy in fewer cycles. Not its job: plans themselves.

A ribbon is a window axis of a single loop: it counts elements, no two tiles share any, and a copy
takes as many of them as its extents allow, where it would otherwise be called once per block. What
a call costs beside its elements is then paid per call of a tile, not per block; in return a tile is
moved as a whole, before the first call on it.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from isamap.hwdesc import Instruction
from isamap.ir import Affine

from .covering import BlockDim, CopyDim, OperandPlan, Residence, TileAxis, Transfer
from .subject import Subject
from .transfer import call_extents

Choice = tuple[tuple[TileAxis, ...], tuple[TileAxis, ...]]  # all axes; those next to the unit


def ribbon_choices(subject: Subject, plain: tuple[TileAxis, ...]) -> Iterator[Choice]:
    """The axes with one of the loops as a ribbon, in every way, and those of the memory that the
    instruction reads: the same, or, of inputs, plain ones where the ribbon lies further out.

    None of what is used where it lies, nor behind caches, where single registers are on chip, nor
    inside loops that are held: what a task that waits for whole tiles costs is for those around it
    to say, which no task knows while its own tilings are looked for.
    """
    memory = subject.match.instruction.operand(subject.name).memory
    if subject.hw.caches or memory == subject.hw.external.name:
        return
    if any(loop.is_held for loop in subject.loops):
        return
    for number, axis in enumerate(plain):
        (name,) = axis.loops
        places = [d for d, index in enumerate(subject.access.indices) if name in index.names]
        if len(places) != 1 or not _may_be_ribbon(subject, subject.access.indices[places[0]], name):
            continue
        ribbon = TileAxis(f"window{places[0]}", (name,), (1,))
        axes = (*plain[:number], ribbon, *plain[number + 1 :])
        yield axes, axes
        if not subject.is_target:
            yield axes, plain


def _may_be_ribbon(subject: Subject, index: Affine, name: str) -> bool:
    """Does the loop alone walk its dimension, element by element, in more than one block?"""
    loop = subject.loop(name)
    group = next((group for _, group in subject.match.binding if name in group), ())
    is_alone = index.names == (name,) and index.coefficient(name) == 1 and len(group) < 2
    return is_alone and loop.units > 1


def laid_end_to_end(
    here: Residence, axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...], subject: Subject
) -> Iterator[Residence]:
    """A residence of single blocks with its blocks end to end along each ribbon, where nothing lies
    between them and all are aligned."""
    rows = zip(blocks, here.block_strides_bytes, strict=True)
    spans = {block.loop: (stride, stride * block.extent) for block, stride in rows}
    room = max((size for _, size in spans.values()), default=here.block_bytes)
    for ribbon in axes:
        if not ribbon.is_ribbon or here.is_packed:
            continue
        loop = subject.loop(ribbon.loops[0])
        step, size = spans.get(loop.name, (here.block_bytes, room))
        if size >= room and step * loop.block % here.align_bytes == 0:
            yield replace(here, windows=((ribbon.name, step),))


def whole_cycles(subject: Subject, plan: OperandPlan) -> int:
    """Issue cycles of all copies of the operand, each once, as if its tile were all of it."""
    return sum(_moved_cycles(subject, plan, transfer) for transfer in plan.transfers)


def _moved_cycles(subject: Subject, plan: OperandPlan, transfer: Transfer) -> int:
    instruction = subject.hw.instruction(transfer.instruction)
    classes = [(1, {repeat.name: 1 for repeat in instruction.repeats})]
    taken: set[TileAxis] = set()
    for loop, dims in transfer.assigned:
        taken |= _axes(plan, dims)
        parts = _parts(subject, plan, dims, instruction, transfer, loop)
        classes = [(n * m, {**v, **x}) for n, v in classes for m, x in parts]
    walked = prod(_total(subject, plan, dim) for dim in transfer.walked)
    taken |= _axes(plan, transfer.walked)
    units = prod(_units(subject, axis) for axis in plan.axes if axis not in taken)
    cycles = sum(n * instruction.issue_cycles.evaluate(values) for n, values in classes)
    return units * walked * cycles


def _parts(
    subject: Subject,
    plan: OperandPlan,
    dims: tuple[CopyDim, ...],
    instruction: Instruction,
    transfer: Transfer,
    loop: str,
) -> list[tuple[int, dict[str, int]]]:
    """(number, extents) of the calls along one loop of a copy."""
    times, count = 1, 1
    for dim in dims:
        count *= dim.extent or _total(subject, plan, dim)
    pieces = [(1, count)]
    if len(dims) == 1 and dims[0].block is not None:
        whole, rest = divmod(_total(subject, plan, dims[0]), count)
        pieces = [(whole, count), (1, rest)]
    elif len(dims) > 1:
        times = prod(_total(subject, plan, dim) // dim.extent for dim in dims)
    return [
        (times * n * m, extents)
        for n, piece in pieces
        if n and piece
        for m, extents in call_extents(instruction, transfer, loop, piece)
    ]


def _total(subject: Subject, plan: OperandPlan, dim: CopyDim) -> int:
    """Iterations (positions of a window) along a dimension of the whole operand."""
    if dim.block is not None:
        loop = plan.blocks[dim.block].loop
        return subject.loop(loop).extent if loop in plan.loops else dim.extent
    return _positions(subject, plan.axis(str(dim.axis)))


def _axes(plan: OperandPlan, dims: tuple[CopyDim, ...]) -> set[TileAxis]:
    """The axes that the dimensions run through."""
    loops = {plan.blocks[dim.block].loop for dim in dims if dim.block is not None}
    names = {dim.axis for dim in dims}
    return {axis for axis in plan.axes if axis.name in names or loops & set(axis.loops)}


def _units(subject: Subject, axis: TileAxis) -> int:
    """How often a program loop walks the axis."""
    if len(axis.spans) > 1:
        return _positions(subject, axis)
    return subject.loop(axis.loops[0]).units


def _positions(subject: Subject, axis: TileAxis) -> int:
    return axis.extent({loop.name: loop.extent for loop in subject.loops})
