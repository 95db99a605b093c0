"""Which calls move an operand once: how many, of which extents.

In: a covering, a transfer of one of its operands. Out: classes of calls, cycles of a block. Not its
job: what the calls take together (`work`).
"""

from collections.abc import Collection
from math import prod

from isamap.hwdesc import Instruction
from isamap.mapper import (
    CopyDim,
    Covering,
    OperandPlan,
    TileAxis,
    Transfer,
    call_extents,
    call_limit,
)

Classes = list[tuple[float, dict[str, int]]]  # how many calls of a pass have which extents


def full_values(plan: OperandPlan, transfer: Transfer, instruction: Instruction) -> dict[str, int]:
    """Extents of a call that moves a full block, or as much of it as one call can."""
    values = {repeat.name: 1 for repeat in instruction.repeats}
    for loop, dims in transfer.assigned:
        (_, most), *_ = call_extents(instruction, transfer, loop, _block_count(plan, dims))
        values.update(most)
    return values


def _block_count(plan: OperandPlan, dims: tuple[CopyDim, ...]) -> int:
    """Iterations that a block takes along dimensions that are merged."""
    return prod(dim.extent or _block_positions(plan, dim) for dim in dims)


def _block_positions(plan: OperandPlan, dim: CopyDim) -> int:
    """Positions of a window axis that one block takes."""
    axis = plan.axis(str(dim.axis))
    blocks = {block.loop: block.extent for block in plan.blocks}
    return axis.extent({loop: blocks.get(loop, 1) for loop in axis.loops})


def first_block_cycles(plan: OperandPlan, transfer: Transfer, instruction: Instruction) -> float:
    """Cycles until one whole block is there."""
    values = full_values(plan, transfer, instruction)
    calls = prod(dim.extent or 1 for dim in transfer.walked)
    runs: list[tuple[int, dict[str, int]]] = [(1, {})]
    for loop, dims in transfer.assigned:
        count = _block_count(plan, dims)
        if transfer.rows is not None and loop == transfer.rows[0]:
            runs = call_extents(instruction, transfer, loop, count)
        else:
            calls *= -(-count // instruction.extent(loop).maximum)
    issue = instruction.issue_cycles
    return float(calls * sum(n * issue.evaluate({**values, **extents}) for n, extents in runs))


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
        counts = _dim_classes(covering, plan, dims, instruction, transfer, loop)
        assigned_blocks.update(plan.blocks[d.block].loop for d in dims if d.block is not None)
        classes = [
            (times * count, {**values, **extents})
            for times, values in classes
            for count, extents in counts
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
        maximum = call_limit(instruction, transfer, loop)
        most = min(maximum, _all_positions(covering, plan.axis(dims[0].axis)))
        costs = [
            sum(
                t * number * instruction.issue_cycles.evaluate({**v, **extents})
                for t, v in classes
                for number, extents in call_extents(instruction, transfer, loop, n)
            )
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
    covering: Covering,
    plan: OperandPlan,
    dims: tuple[CopyDim, ...],
    instruction: Instruction,
    transfer: Transfer,
    loop: str,
) -> Classes:
    """(number of calls, extents) along one instruction loop, over all units of the loops bound to
    it."""
    if dims and dims[0].axis is not None:
        limit = call_limit(instruction, transfer, loop)
        return _times(1 / limit, call_extents(instruction, transfer, loop, limit))
    moving = set(plan.loops)
    tiled = [covering.loop(plan.blocks[dim.block].loop) for dim in dims if dim.block is not None]
    calls = call_extents(instruction, transfer, loop, prod(dim.extent for dim in dims))
    if len(dims) > 1:
        return _times(prod(one.units for one in tiled if one.name in moving), calls)
    if not dims or tiled[0].name not in moving:
        return _times(1, calls)
    whole, rest = divmod(tiled[0].extent, tiled[0].block)
    last = call_extents(instruction, transfer, loop, rest) if rest else []
    return (_times(whole, calls) if whole else []) + _times(1, last)


def _times(times: float, calls: list[tuple[int, dict[str, int]]]) -> Classes:
    return [(times * number, extents) for number, extents in calls]
