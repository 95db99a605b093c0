"""Factors that are computed from elements are computed before the sum of their products.

In: a verified kernel and a statement. Out: an equal kernel, bit by bit. Not its job: sums in
factors, which instructions of integers take multiplied out (`expand`).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import Access, Apply, Expr, Kernel, accesses, is_cast, is_float, is_integer

from .attempt import statement_sites
from .edit import replace_statement, used_loops
from .outline import outline, replace_part
from .variant import Rewrite
from .window import find_sum

WIDENED = {"i4": "i8", "u4": "i8"}  # to the narrowest type that machines multiply


def prepare(kernel: Kernel, position: int) -> Kernel:
    """Write `C[i, j] += f(A[i, k]) * B[k, j]` as `F[i, k] = f(A[i, k])` and
    `C[i, j] += F[i, k] * B[k, j]`.

    So is each factor that moves with the loops of one of its elements, fewer than the statement
    has, and is more than that: operations in casts (`i32(relu(A[i, k]))`), casts of integers to
    floats, and of 4 bits, to 8 of them.

    Args:
        kernel: any verified kernel.
        position: of a sum of products that shares no loops with neighbours.

    Returns:
        A kernel equal on all inputs, bit by bit.

    Raises:
        KernelError: the statement is no such sum, or has no such factor.

    Source: loop-invariant code motion of arrays (scalar expansion); derived here.
    """
    statement = find_sum(kernel, position)
    names = frozenset(loop.name for loop in statement.loops)
    found, number = kernel, position
    for factor in dict.fromkeys(_factors(statement.value, names)):
        part = _computed(factor, kernel)
        if part is None or not any(used_loops(a) == used_loops(part) for a in accesses(part)):
            continue
        if isinstance(part, Access):
            own = found.statements[number]
            wider = Apply(WIDENED[kernel.buffer(part.buffer).dtype], (part,))
            changed = replace(own, value=replace_part(own.value, part, wider))
            found, part = replace_statement(found, number, (changed,)), wider
        found, number = outline(found, number, part), number + 1
    if number == position:
        raise KernelError(f"no factor of statement {position} is computed", loc=statement.loc)
    return found


def _factors(value: Expr, names: frozenset[str]) -> Iterator[Expr]:
    """Factors of a product that each move with some of the loops only, products themselves where
    they do; none of anything else."""
    match value:
        case Apply("*", args) if used_loops(value) >= names:
            for arg in args:
                if used_loops(arg) >= names:
                    yield from _factors(arg, names)
                else:
                    yield arg
        case _:
            return


def _computed(factor: Expr, kernel: Kernel) -> Expr | None:
    """The part of a factor that a temporary shall hold: what lies in its casts, or these where they
    make floats of integers; None where it is an element that instructions may read."""
    inner = factor
    while isinstance(inner, Apply) and is_cast(inner.op):
        inner = inner.args[0]
    if isinstance(inner, Apply):
        return inner
    if not isinstance(inner, Access) or not isinstance(factor, Apply):
        return None
    dtype = kernel.buffer(inner.buffer).dtype
    if is_float(factor.op) and is_integer(dtype):
        return factor
    return inner if dtype in WIDENED and is_integer(factor.op) else None


PREPARE = Rewrite(
    "prepare",
    "y += f(a) * b  =  F = f(a); y += F * b",
    False,
    partial(statement_sites, prepare),
)
