"""How far a covering's buffers are from lying as they do.

In: a covering, or a kernel. Out: a rank, 0 where all lie as they do. Not its job: ranking one
layout (`layout_rank`), choosing.
"""

from collections.abc import Collection

from isamap.ir import Kernel, stays_inside
from isamap.mapper import Covering, layout_rank


def rank_of(covering: Covering, ahead: Collection[str] = ()) -> int:
    """How far its buffers are from lying as they do; inputs in `ahead` may lie in any way."""
    plans = (p for p in covering.operands if p.is_output or p.buffer not in ahead)
    return sum(map(layout_rank, plans))


def least_rank(kernel: Kernel, elsewhere: Collection[str] = ()) -> int:
    """What no covering's rank is below: a buffer that is read outside needs a border. Those in
    `elsewhere` lie in any way, or on chip."""
    outside = {
        access.buffer
        for statement in kernel.statements
        for access in statement.accesses
        if not stays_inside(access, statement.loops, kernel.buffer(access.buffer).shape)
    }
    return len(outside - set(elsewhere))
