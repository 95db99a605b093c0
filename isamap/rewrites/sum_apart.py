"""A sum onto earlier values begins at zero, and they are added afterwards.

In: a verified kernel and a statement. Out: an equal kernel. Not its job: which instruction then
takes the sum, what adds.
"""

from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import Kernel, Statement

from .attempt import statement_sites
from .edit import begins_at_zero, fresh_names, make_temporary, pick_loops, replace_statement
from .fresh_loops import fresh_loops
from .variant import Rewrite
from .window import find_sum


def sum_apart(kernel: Kernel, statement: int) -> Kernel:
    """Write `C[i] += a[i, k]` as `C_sum[i] += a[i, k]; C[i] += C_sum[i]`, for accumulators that can
    only begin at zero.

    `C_sum` is a new TEMP of the target's type, so integers wrap alike, with one dimension for each
    loop that the target moves with.

    Returns:
        A kernel equal on all inputs but for rounding: floats are summed in another order.

    Raises:
        KernelError: the statement is not alone under its loops, is no sum, or reads its target; no
            loop is summed; its target begins at zero anyway.

    Source: associativity; derived here.
    """
    found = find_sum(kernel, statement)
    target = found.target
    moving = {loop.name for loop in found.loops if target.moves_with(loop.name)}
    if len(moving) == len(found.loops):
        raise KernelError(f"statement {statement} sums over no loop", loc=found.loc)
    buffer = kernel.buffer(target.buffer)
    if begins_at_zero(kernel, statement):
        raise KernelError(f"statement {statement} begins at zero", loc=found.loc)
    dims = pick_loops(found.loops, moving)
    name = fresh_names(kernel, (f"{buffer.name}_sum",))[0]
    part, total = make_temporary(name, buffer.dtype, dims)
    added = Statement(dims, target, "+=", total, found.loc)
    (alone,) = fresh_loops(kernel, (added,), (name,))
    return replace_statement(kernel, statement, (replace(found, target=total), alone), (part,))


SUM_APART = Rewrite(
    "sum_apart",
    "C[i] += a[i, k]  =  T[i] += a[i, k]; C[i] += T[i]",
    True,
    partial(statement_sites, sum_apart),
)
