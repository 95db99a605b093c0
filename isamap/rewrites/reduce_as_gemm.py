"""A sum becomes a product with ones.

In: a verified kernel and a statement. Out: an equal kernel. Not its job: which instruction then
takes the product.
"""

from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Expr,
    Kernel,
    Literal,
    Role,
    Statement,
    is_cast,
)

from .attempt import statement_sites
from .edit import fresh_names, make_temporary, pick_loops, replace_statement, used_loops
from .fresh_loops import fresh_loops
from .variant import Rewrite
from .window import find_sum


def reduce_as_gemm(kernel: Kernel, statement: int) -> Kernel:
    """Write `y[i] += x[i, k]` as `y[i] += x[i, k] * ones[k]`.

    `ones` is a new TEMP over all summed loops. Where the value is an access in casts, `ones` has
    the type of what is read and the same casts: `i32(x[i, k]) * i32(ones[k])`. Any other value is
    first stored, element by element, in a TEMP of the target's type, and `ones` has that type too:
    so a sum of squares gets a matrix operand. Every cast of the type table keeps 1.

    Returns:
        A kernel equal on all inputs, floats to the bit: x * 1 is x, and the order stays.

    Raises:
        KernelError: the statement is not alone under its loops, or is no sum, or reads its
            target; no loop is summed; the value reads nothing, or is a contraction already.

    Source: reductions on matrix units by products with ones (Dakkak et al., Accelerating
    Reduction and Scan Using Tensor Core Units, ICS 2019, section 4).
    """
    found = find_sum(kernel, statement)
    summed = tuple(loop for loop in found.loops if not found.target.moves_with(loop.name))
    if not summed:
        raise KernelError(f"statement {statement} sums over no loop", loc=found.loc)
    if is_contraction(found.value) or not found.reads:
        raise KernelError(
            f"statement {statement} sums a contraction or a constant, not one operand",
            loc=found.loc,
        )
    names = fresh_names(kernel, ("ones", f"{found.target.buffer}_term"))
    ones = Access(names[0], tuple(Affine.var(loop.name) for loop in summed))
    dtype, factor = wrap_like(found.value, ones, kernel, found)
    buffers = [Buffer(names[0], dtype, tuple(loop.extent for loop in summed), Role.TEMP)]
    fills = [Statement(summed, ones, "=", Literal(1), found.loc)]
    value = found.value
    if not is_cast_access(value):
        loops = pick_loops(found.loops, used_loops(value))
        buffer, term = make_temporary(names[1], dtype, loops)
        buffers.append(buffer)
        fills.append(Statement(loops, term, "=", value, found.loc))
        value = term
    product = replace(found, value=Apply("*", (value, factor)))
    alone = fresh_loops(kernel, fills, names)
    return replace_statement(kernel, statement, (*alone, product), buffers)


def wrap_like(value: Expr, one: Access, kernel: Kernel, statement: Statement) -> tuple[str, Expr]:
    """The type for the buffer of `one`, and `one` in the casts that `value` has around its access.

    Where `value` is more than an access in casts: the type of the statement's target, no casts.
    """
    match value:
        case Access(buffer):
            return kernel.buffer(buffer).dtype, one
        case Apply(op, (arg,)) if is_cast(op) and is_cast_access(arg):
            dtype, inner = wrap_like(arg, one, kernel, statement)
            return dtype, Apply(op, (inner,))
        case _:
            return kernel.buffer(statement.target.buffer).dtype, one


def is_cast_access(value: Expr) -> bool:
    """Is `value` an access, or one in casts?"""
    match value:
        case Access():
            return True
        case Apply(op, (arg,)) if is_cast(op):
            return is_cast_access(arg)
        case _:
            return False


def is_contraction(value: Expr) -> bool:
    """Is `value` a product, perhaps in casts, that already has the form of a matrix product?

    So it is when its factors move with different loops, or both are accesses in casts.
    """
    match value:
        case Apply("*", (left, right)):
            is_plain = is_cast_access(left) and is_cast_access(right)
            return is_plain or used_loops(left) != used_loops(right)
        case Apply(op, (arg,)) if is_cast(op):
            return is_contraction(arg)
        case _:
            return False


REDUCE_AS_GEMM = Rewrite(
    "reduce_as_gemm",
    "y[i] += x[i, k]  =  y[i] += x[i, k] * ones[k]",
    False,
    partial(statement_sites, reduce_as_gemm),
)
