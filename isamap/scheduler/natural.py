"""How far a covering's buffers are from lying as they do.

In: a covering, or a kernel. Out: a rank, 0 where all lie as they do. Not its job: ranking one
layout (`layout_rank`), choosing.
"""

from collections.abc import Collection

from isamap.ir import Kernel, Statement
from isamap.mapper import Covering, layout_rank


def rank_of(covering: Covering, ahead: Collection[str] = ()) -> int:
    """How far its buffers are from lying as they do; inputs in `ahead` may lie in any way."""
    plans = (p for p in covering.operands if p.is_output or p.buffer not in ahead)
    return sum(map(layout_rank, plans))


def least_rank(kernel: Kernel, elsewhere: Collection[str] = ()) -> int:
    """What no covering's rank is below: a buffer that is read outside needs a border. Those in
    `elsewhere` lie in any way, or on chip."""
    read = (_read_outside(kernel, statement) for statement in kernel.statements)
    return len(set().union(*read) - set(elsewhere))


def _read_outside(kernel: Kernel, statement: Statement) -> set[str]:
    ranges = {loop.name: (0, loop.extent - 1) for loop in statement.loops}
    found = set()
    for access in statement.accesses:
        shape = kernel.buffer(access.buffer).shape
        spans = (index.interval(ranges) for index in access.indices)
        if any(low < 0 or high >= n for (low, high), n in zip(spans, shape, strict=True)):
            found.add(access.buffer)
    return found
