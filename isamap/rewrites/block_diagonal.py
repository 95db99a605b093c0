"""A product per group becomes one dense product with a block-diagonal operand.

In: a verified kernel, a statement, the loop of the groups, the operand to embed. Out: an equal
kernel. Not its job: choosing them; whether the zeros are worth their multiplications.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from isamap.errors import KernelError
from isamap.ir import Access, Affine, Buffer, Expr, Kernel, Loop, Role, Statement, map_accesses

from .attempt import attempt
from .edit import fresh_names, pick_loops, replace_statement, substitute_access, used_loops
from .fresh_loops import fresh_loops
from .variant import Rewrite
from .window import find_sum, zero_factors


def block_diagonal(kernel: Kernel, statement: int, loop: str, operand: str) -> Kernel:
    """Write `y[g] += x[g] * w[g]` as `y[g] += x[h] * W[h, g]` with W zero but for `W[g, g] = w[g]`.

    All operands may move with more loops. W is a new TEMP with the type of w (the buffer
    `operand`) and the dimensions h, the summed loops of w, g, the other loops of w: so (h, c) and
    (g, o) of a grouped convolution are adjacent. The new summed loop h has the extent of g and
    stands before the first summed loop. Every other operand that moves with g is read at h.

    Returns:
        A kernel equal on all integers. Floats: products with the zeros of W are added, so the
        result is the same to the bit (but for the sign of zeros) if all operands are finite.

    Raises:
        KernelError: the statement is not alone under its loops, or is no sum, or reads its
            target; g does not move the target, or moves nothing but w; w is not one factor of
            the product.

    Source: grouped convolution as convolution with block-diagonal weights; derived here.
    """
    found = find_sum(kernel, statement)
    if not found.target.moves_with(loop):
        raise KernelError(f"loop {loop!r} does not move the target", loc=found.loc)
    moving = tuple(dict.fromkeys(a for a in found.reads if a.moves_with(loop)))
    mine = [access for access in moving if access.buffer == operand]
    if len(mine) != 1 or mine[0] not in zero_factors(found.value):
        raise KernelError(
            f"{operand!r} must be read once along loop {loop!r}, as a factor", loc=found.loc
        )
    if len(moving) == 1:
        raise KernelError(
            f"loop {loop!r} moves no operand but {operand!r}: the product is dense already",
            loc=found.loc,
        )
    new_loop, new_buffer = fresh_names(kernel, (f"{loop}_in", f"{operand}_diagonal"))
    extents = found.extents
    used = pick_loops(found.loops, used_loops(mine[0]) - {loop})
    summed = tuple(own.name for own in used if not found.target.moves_with(own.name))
    kept = tuple(own.name for own in used if found.target.moves_with(own.name))
    dims = (loop, *summed, loop, *kept)
    shape = tuple(extents[name] for name in dims)
    buffer = Buffer(new_buffer, kernel.buffer(operand).dtype, shape, Role.TEMP)
    diagonal = Access(new_buffer, tuple(map(Affine.var, dims)))
    fill = Statement(pick_loops(found.loops, set(dims)), diagonal, "=", mine[0], found.loc)
    product = multiply_diagonal(found, mine[0], loop, Loop(new_loop, extents[loop]), diagonal)
    fills = fresh_loops(kernel, (fill,), (new_loop, new_buffer))
    return replace_statement(kernel, statement, (*fills, product), (buffer,))


def multiply_diagonal(
    found: Statement, operand: Access, loop: str, new: Loop, diagonal: Access
) -> Statement:
    """The statement with `diagonal` for `operand`, and the others at the new loop."""
    at_new = {loop: Affine.var(new.name)}
    dense = replace(diagonal, indices=(Affine.var(new.name), *diagonal.indices[1:]))

    def change(access: Access) -> Expr:
        return dense if access == operand else substitute_access(access, at_new)

    kinds = [found.target.moves_with(own.name) for own in found.loops]
    place = kinds.index(False) if False in kinds else len(kinds)
    loops = (*found.loops[:place], new, *found.loops[place:])
    return replace(found, loops=loops, value=map_accesses(found.value, change))


def block_diagonal_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every loop over groups, with the operand that has the fewest elements."""
    for number, statement in enumerate(kernel.statements):
        for loop in statement.loops:
            moving = [a for a in zero_factors(statement.value) if a.moves_with(loop.name)]
            if loop.extent == 1 or len(moving) < 2:
                continue
            sizes = {a.buffer: math.prod(kernel.buffer(a.buffer).shape) for a in moving}
            operand = min(sizes, key=lambda name: sizes[name])
            result = attempt(block_diagonal, kernel, number, loop.name, operand)
            if result is not None:
                yield f"statement {number}: {operand} along {loop.name}", result


BLOCK_DIAGONAL = Rewrite(
    "block_diagonal",
    "y[g] += x[g] * w[g]  =  y[g] += x[h] * W[h, g],  W[g, g] = w[g]",
    True,
    block_diagonal_sites,
)
