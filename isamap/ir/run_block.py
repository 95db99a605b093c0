"""One statement over a box of iterations, as NumPy array operations.

In: a planned block, the box, the arrays. Out: the target's array, changed in place.
Not its job: legality (`plan_blocks`), sums of products by matrix multiplication
(`multiply_factors`).
"""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from .array_ops import Array, wrap_array
from .dtypes import is_integer
from .evaluate import Box, Machine, Range, count_points, evaluate, view_access
from .multiply_factors import multiply_factors
from .plan_blocks import Block, Node, Repeat

NOTHING: Mapping[str, int] = {}
MAX_POINTS = 1 << 21  # values held at once
MIN_MATRIX_POINTS = 1 << 12

REDUCE: dict[str, np.ufunc] = {
    "+=": np.add, "*=": np.multiply, "max=": np.maximum, "min=": np.minimum,
}  # fmt: skip


def steps(
    nodes: Iterable[Node], values: Mapping[str, int] = NOTHING
) -> Iterator[tuple[Block, Box]]:
    """Blocks as they run, one after the other, each with its iterations; `values`: of the loops
    stepped outside."""
    for node in nodes:
        match node:
            case Repeat(loop, body):
                for value in range(loop.extent):
                    yield from steps(body, {**values, loop.name: value})
            case Block(statement):
                yield (
                    node,
                    tuple(
                        Range(loop.name, values[loop.name], 1)
                        if loop.name in values
                        else Range(loop.name, 0, loop.extent)
                        for loop in statement.loops
                    ),
                )


def run_block(block: Block, machine: Machine, box: Box) -> None:
    """Execute the block's statement for every iteration of `box`."""
    statement = block.statement
    dtype = machine.kernel.buffer(statement.target.buffer).dtype
    is_sum = statement.update == "+=" and is_integer(dtype) and block.reduced
    if is_sum and count_points(box) >= MIN_MATRIX_POINTS:
        product = multiply_factors(statement, block.reduced, dtype, machine, box)
        if isinstance(product, str):
            for half in halve(box, product):
                run_block(block, machine, half)
            return
        if product is not None:
            store(block, machine, box, product, dtype)
            return
    if count_points(box) > MAX_POINTS:
        for half in halve(box, longest(block, box, is_ordered=not is_integer(dtype))):
            run_block(block, machine, half)
        return
    value = evaluate(statement.value, dtype, machine, box)
    axes = tuple(i for i, r in enumerate(box) if r.name in block.reduced)
    if axes:
        full = np.broadcast_to(value, [r.size for r in box])
        if not is_integer(dtype):
            accumulate(block, machine, box, full, axes)
            return
        value = REDUCE[statement.update].reduce(full, axis=axes, keepdims=True)
    store(block, machine, box, value, dtype)


def longest(block: Block, box: Box, *, is_ordered: bool) -> str:
    """The loop to halve: the longest; ordered sums come last, the outermost first."""
    if is_ordered:
        free = [r for r in box if r.name not in block.reduced and r.size > 1]
        rest = free or [r for r in box if r.size > 1][:1]
        return max(rest, key=lambda r: r.size).name
    return max(box, key=lambda r: r.size).name


def halve(box: Box, name: str) -> tuple[Box, Box]:
    """The box cut in two along one loop."""

    def cut(r: Range, is_second: bool) -> Range:
        half = r.size // 2
        if r.name != name:
            return r
        return (
            Range(name, r.start + half, r.size - half) if is_second else Range(name, r.start, half)
        )

    return tuple(cut(r, False) for r in box), tuple(cut(r, True) for r in box)


def store(block: Block, machine: Machine, box: Box, value: Array, dtype: str) -> None:
    """Join `value` (already reduced) into the target."""
    statement = block.statement
    target = view_access(statement.target, machine.arrays[statement.target.buffer], box)
    if statement.update == "=":
        target[...] = value
        return
    join = REDUCE[statement.update]
    if is_integer(dtype):
        target[...] = wrap_array(join(target.astype(np.int64), value), dtype)
    else:
        target[...] = join(target, value)


def accumulate(
    block: Block, machine: Machine, box: Box, full: Array, axes: tuple[int, ...]
) -> None:
    """Float reduction in iteration order: `accumulate` goes step by step, `reduce` may not."""
    statement = block.statement
    target = view_access(statement.target, machine.arrays[statement.target.buffer], box)
    kept = [i for i in range(len(box)) if i not in axes]
    steps = full.transpose([*axes, *kept]).reshape(-1, *[box[i].size for i in kept])
    start = target.transpose([*axes, *kept]).reshape(1, *[box[i].size for i in kept])
    running = REDUCE[statement.update].accumulate(np.concatenate([start, steps]), axis=0)
    target[...] = running[-1].reshape(target.shape)
