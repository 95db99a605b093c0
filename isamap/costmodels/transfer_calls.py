"""Which calls move an operand once: how many, of which extents.

In: a covering, a transfer of one of its operands. Out: classes of calls, cycles of a block. Not its
job: what the calls take together (`work`).
"""

from collections.abc import Collection

from isamap.hwdesc import ExtentRule, Instruction
from isamap.mapper import CopyDim, Covering, OperandPlan, TileAxis, Transfer, part_size

Classes = list[tuple[float, dict[str, int]]]  # how many calls of a pass have which extents


def full_values(plan: OperandPlan, transfer: Transfer, instruction: Instruction) -> dict[str, int]:
    """Extents of a call that moves a full block, or as much of it as one call can."""
    values = {repeat.name: 1 for repeat in instruction.repeats}
    for loop, dims in transfer.assigned:
        values[loop] = 1
        maximum = instruction.extent(loop).maximum
        for dim in dims:
            values[loop] *= dim.extent or _block_positions(plan, dim)
        values[loop] = min(values[loop], maximum)
    return values


def _block_positions(plan: OperandPlan, dim: CopyDim) -> int:
    """Positions of a window axis that one block takes."""
    axis = plan.axis(str(dim.axis))
    blocks = {block.loop: block.extent for block in plan.blocks}
    return axis.extent({loop: blocks.get(loop, 1) for loop in axis.loops})


def first_block_cycles(plan: OperandPlan, transfer: Transfer, instruction: Instruction) -> float:
    """Cycles until one whole block is there."""
    values = full_values(plan, transfer, instruction)
    cycles = instruction.issue_cycles.evaluate(values)
    for dim in transfer.walked:
        cycles *= dim.extent or 1
    for loop, dims in transfer.assigned:
        count = 1
        for dim in dims:
            count *= dim.extent or _block_positions(plan, dim)
        cycles *= -(-count // instruction.extent(loop).maximum)
    return float(cycles)


def transfer_classes(
    covering: Covering,
    plan: OperandPlan,
    transfer: Transfer,
    instruction: Instruction,
    windows: Collection[str],
) -> Classes:
    """How many calls of one pass have which extents (`windows`: axes that count one position
    each)."""
    classes: Classes = [(1.0, {repeat.name: 1 for repeat in instruction.repeats})]
    blocks = {block.loop for block in plan.blocks}
    assigned_blocks: set[str] = set()
    for loop, dims in transfer.assigned:
        counts = _dim_classes(covering, plan, dims, instruction.extent(loop))
        assigned_blocks.update(plan.blocks[d.block].loop for d in dims if d.block is not None)
        classes = [
            (times * count, {**values, loop: extent})
            for times, values in classes
            for count, extent in counts
        ]
    outside = 1
    for axis in plan.axes:
        if axis.name in windows:
            continue
        tiled = covering.loop(axis.loops[0])
        if tiled.name not in assigned_blocks:  # walked inside the block, or no block at all
            outside *= tiled.extent if tiled.name in blocks else tiled.units
    moving = set(plan.loops)
    for dim in transfer.walked:  # copies of one element side by side
        if dim.block is not None and plan.blocks[dim.block].loop not in moving:
            outside *= dim.extent
    return [(times * outside, values) for times, values in classes]


def short_calls(
    covering: Covering,
    plan: OperandPlan,
    transfer: Transfer,
    instruction: Instruction,
    classes: Classes,
) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Per window axis that fills calls, what the last call of a tile costs beyond its share: at
    place n, of n positions, in positions (none where every call costs its share); as many places
    as a call or a tile has positions."""
    found = []
    for loop, dims in transfer.assigned:
        if not dims or dims[0].axis is None:
            continue
        maximum = instruction.extent(loop).maximum
        most = min(maximum, _all_positions(covering, plan.axis(dims[0].axis)))
        costs = [
            sum(t * instruction.issue_cycles.evaluate({**v, loop: n}) for t, v in classes)
            for n in (*range(1, most + 1), maximum)
        ]
        lost = [0, *(round(maximum * cost / costs[-1]) - n for n, cost in enumerate(costs[:-1], 1))]
        if any(lost):
            found.append((dims[0].axis, tuple(lost[:maximum])))
    return tuple(found)


def _all_positions(covering: Covering, axis: TileAxis) -> int:
    """Positions of a window axis over the whole operand, of all cores together."""
    return axis.extent({loop: covering.loop(loop).total_extent for loop in axis.loops})


def _dim_classes(
    covering: Covering, plan: OperandPlan, dims: tuple[CopyDim, ...], rule: ExtentRule
) -> list[tuple[float, int]]:
    """(number of calls, extent) along one instruction loop, over all units of the loops bound to
    it."""
    if not dims:
        return [(1.0, 1)]
    maximum = rule.maximum
    if dims[0].axis is not None:
        return [(1.0 / maximum, maximum)]
    moving = set(plan.loops)
    units = 1
    count = 1
    for dim in dims:
        assert dim.block is not None
        tiled = covering.loop(plan.blocks[dim.block].loop)
        units *= tiled.units if tiled.name in moving else 1
        count *= dim.extent
    if len(dims) > 1:
        return _chunked(units, count, maximum)
    assert dims[0].block is not None
    tiled = covering.loop(plan.blocks[dims[0].block].loop)
    if tiled.name not in moving:
        return _chunked(1, count, maximum)
    whole, rest = divmod(tiled.extent, tiled.block)
    size = part_size(tiled.block, rule)
    return _chunked(whole, tiled.block, size) + _chunked(1 if rest else 0, rest, size)


def _chunked(times: int, extent: int, maximum: int) -> list[tuple[float, int]]:
    whole, rest = divmod(extent, maximum)
    chunks = [(float(times * whole), maximum)] if times * whole else []
    return chunks + ([(float(times), rest)] if times and rest else [])
