"""A subexpression gets a temporary of its own: the inverse of `inline`.

In: a verified kernel, a statement, a part of its value. Out: an equal kernel, bit by bit. Not its
job: parts of sums (`factor`).
"""

from collections.abc import Iterator
from dataclasses import replace

from isamap.errors import KernelError
from isamap.ir import (
    Apply,
    Expr,
    Kernel,
    LoopKind,
    Statement,
    accesses,
    loop_kinds,
    normalise_update,
    pretty_expr,
    type_of,
    under_casts,
)

from .edit import (
    find_alone,
    fresh_names,
    make_temporary,
    pick_loops,
    rename_loops,
    replace_statement,
    used_loops,
)
from .variant import Rewrite


def outline(kernel: Kernel, position: int, part: Expr) -> Kernel:
    """Compute `part` of a statement's value into a temporary first, wherever it occurs there.

    `D[i] = relu(x[i] + b[i])` becomes `D_part[j] = x[j] + b[j]; D[i] = relu(D_part[i])`.

    Args:
        kernel: any verified kernel.
        position: a statement that shares no loops with neighbours.
        part: a typed operation in its value. The temporary has one dimension for each loop that
            `part` moves with.

    Raises:
        KernelError: no such statement or part; the part has no type of its own; the statement
            changes what the part reads.

    Source: common subexpression elimination; derived here.
    """
    statement = find_alone(kernel, position)
    if not isinstance(part, Apply) or part not in subexpressions(statement.value):
        raise KernelError(f"{pretty_expr(part)} is no operation of statement {position}")
    kinds = loop_kinds(statement).values()
    if any(a.buffer == statement.target.buffer for a in accesses(part)) and any(
        kind is not LoopKind.PARALLEL for kind in kinds
    ):
        raise KernelError(f"statement {position} changes what {pretty_expr(part)} reads")
    dtype = type_of(part, kernel)
    dims = pick_loops(statement.loops, used_loops(part))
    name = fresh_names(kernel, (f"{statement.target.buffer}_part",))[0]
    buffer, read = make_temporary(name, dtype, dims)
    old = tuple(loop.name for loop in dims)
    names = dict(zip(old, fresh_names(kernel, old, (name,)), strict=True))
    first = rename_loops(Statement(dims, read, "=", part, loc=statement.loc), names)
    value = replace_part(statement.value, part, read)
    update, value = normalise_update(statement.target, statement.update, value)
    second = replace(statement, update=update, value=value)
    return replace_statement(kernel, position, (first, second), (buffer,))


def subexpressions(expr: Expr) -> tuple[Expr, ...]:
    """`expr` and everything in it, outermost first."""
    inner = expr.args if isinstance(expr, Apply) else ()
    return (expr, *(found for arg in inner for found in subexpressions(arg)))


def replace_part(expr: Expr, part: Expr, new: Expr) -> Expr:
    """`expr` with `new` in the place of `part`."""
    if expr == part:
        return new
    if not isinstance(expr, Apply):
        return expr
    return Apply(expr.op, tuple(replace_part(arg, part, new) for arg in expr.args))


def is_worth_a_buffer(statement: Statement, part: Expr) -> bool:
    """Is `part` more than a converted element, and smaller than the sum it stands in?"""
    if not isinstance(part, Apply) or not accesses(part):
        return False
    if not isinstance(under_casts(part), Apply):
        return False
    if part == statement.value and statement.update == "=":
        return False
    is_sum = any(not statement.target.moves_with(loop.name) for loop in statement.loops)
    return not is_sum or len(used_loops(part)) < len(statement.loops)


def outline_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every operation on elements: of sums only those that move with fewer loops."""
    for position, statement in enumerate(kernel.statements):
        for part in dict.fromkeys(subexpressions(statement.value)):
            if not is_worth_a_buffer(statement, part):
                continue
            try:
                outlined = outline(kernel, position, part)
            except KernelError:
                continue
            yield f"{statement.target.buffer}: {pretty_expr(part)}", outlined


OUTLINE = Rewrite("outline", "s(e) = T = e; s(T)", False, outline_sites)
