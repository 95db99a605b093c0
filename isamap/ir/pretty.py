"""Kernels as text of the surface language.

In: any kernel. Out: text that `parse_semantics` reads back to an equal kernel.
Not its job: checking, colours, wrapping long lines.
"""

from typing import assert_never

from .kernel import Access, Apply, Expr, Immediate, Kernel, Literal, Loop, Statement
from .ops import OPS, UPDATES, Notation

INDENT = "    "
COMPARE_PRECEDENCE = 1


def pretty(kernel: Kernel) -> str:
    """Declarations, then loops around statements; neighbours share loops as in meaning."""
    lines = [
        f"{b.name} = {b.role.value}({', '.join([b.dtype, *map(str, b.shape)])})"
        for b in kernel.buffers
    ]
    return "\n".join([*lines, *nest_lines(kernel.statements, 0, "")]) + "\n"


def pretty_statement(statement: Statement) -> str:
    """One statement without its loops: `C[i, j] += i32(A[i, k])`."""
    target, value = pretty_expr(statement.target), pretty_expr(statement.value)
    if statement.update in ("max=", "min="):
        return f"{target} = {UPDATES[statement.update]}({target}, {value})"
    return f"{target} {statement.update} {value}"


def pretty_loops(loops: tuple[Loop, ...]) -> str:
    """The head of a perfect nest: `for i, j in grid(2, 3):`."""
    names = ", ".join(loop.name for loop in loops)
    extents = ", ".join(str(loop.extent) for loop in loops)
    return f"for {names} in {'range' if len(loops) == 1 else 'grid'}({extents}):"


def nest_lines(statements: tuple[Statement, ...], depth: int, indent: str) -> list[str]:
    """Lines of neighbours that share their first `depth` loops."""
    lines: list[str] = []
    start = 0
    while start < len(statements):
        first = statements[start]
        if len(first.loops) == depth:
            lines.append(indent + pretty_statement(first))
            start += 1
            continue
        stop = start + 1
        while stop < len(statements) and shares(first, statements[stop], depth + 1):
            stop += 1
        group = statements[start:stop]
        inner = depth + 1
        while len(first.loops) > inner and all(shares(first, s, inner + 1) for s in group):
            inner += 1
        lines.append(indent + pretty_loops(first.loops[depth:inner]))
        lines.extend(nest_lines(group, inner, indent + INDENT))
        start = stop
    return lines


def shares(first: Statement, second: Statement, depth: int) -> bool:
    """Do both statements have at least `depth` loops, the first `depth` being equal?"""
    return len(second.loops) >= depth and first.loops[:depth] == second.loops[:depth]


def pretty_expr(expr: Expr) -> str:
    """An expression with as few parentheses as reading it back allows."""
    match expr:
        case Access(buffer, indices, None):
            return f"{buffer}[{', '.join(map(str, indices)) or '()'}]"
        case Access(buffer, indices, pad):
            return f"{buffer}.at({', '.join([*map(str, indices), f'pad={pad}'])})"
        case Literal(value):
            return str(value)
        case Immediate(name):
            return name
        case Apply():
            return pretty_apply(expr)
        case _:
            assert_never(expr)


def pretty_apply(expr: Apply) -> str:
    """An operation in its own notation; `neg(3)` for a literal, as `-3` is a literal."""
    operation = OPS.get(expr.op)
    if operation is None or operation.notation is Notation.CALL or len(expr.args) > 2:
        return f"{expr.op}({', '.join(map(pretty_expr, expr.args))})"
    if operation.notation is Notation.PREFIX:
        if isinstance(expr.args[0], Literal):
            return f"{expr.op}({pretty_expr(expr.args[0])})"
        return operation.symbol + parenthesise(expr.args[0], operation.precedence)
    strength = operation.precedence
    left = strength + 1 if strength == COMPARE_PRECEDENCE else strength  # a < b < c is no nesting
    return (
        f"{parenthesise(expr.args[0], left)} {operation.symbol} "
        f"{parenthesise(expr.args[1], strength + 1)}"
    )


def parenthesise(expr: Expr, strength: int) -> str:
    """Text of `expr`, in parentheses when it binds weaker than `strength`."""
    text = pretty_expr(expr)
    if isinstance(expr, Apply) and expr.op in OPS and OPS[expr.op].precedence < strength:
        return f"({text})"
    return text
