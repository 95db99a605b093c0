"""Name the operations of a statement that a machine lacks altogether.

In: a statement, a machine. Out: texts such as `'*' of i32`. Not its job: why an instruction that
has all of them does not fit (`match`).
"""

from isamap.hwdesc import Hardware
from isamap.ir import OPS, UPDATES, Apply, Expr, Kernel, Notation, Statement, argument_types

from .spelling import plain

Typed = tuple[str, tuple[str, ...]]  # operation, types of its arguments


def find_missing(kernel: Kernel, statement: Statement, hw: Hardware) -> tuple[str, ...]:
    """Operations, with their types, that no instruction of the machine performs; in the order of
    the statement."""
    has: set[Typed] = set()
    for instruction in hw.instructions:
        for part in instruction.semantics.statements:
            has.update(_operations(instruction.semantics, part))
    missing = (typed for typed in _operations(kernel, statement) if typed not in has)
    return tuple(dict.fromkeys(_show(op, types) for op, types in missing))


def _operations(kernel: Kernel, statement: Statement) -> list[Typed]:
    dtype = kernel.buffer(statement.target.buffer).dtype
    update = UPDATES[statement.update]
    own: list[Typed] = [(update, (dtype, dtype))] if update is not None else []
    return own + _inside(kernel, plain(statement.value), dtype)


def _inside(kernel: Kernel, expr: Expr, dtype: str) -> list[Typed]:
    """Operations of an expression that has the type `dtype`."""
    if not isinstance(expr, Apply):
        return []
    types = argument_types(expr, kernel, dtype)
    inner = (_inside(kernel, arg, own) for arg, own in zip(expr.args, types, strict=True))
    own = [(expr.op, types)] if types != (expr.op,) else []  # not a cast to what it is already
    return own + [typed for part in inner for typed in part]


def _show(op: str, types: tuple[str, ...]) -> str:
    if OPS[op].notation is Notation.CALL:
        return f"{op}({', '.join(types)})"
    return f"'{OPS[op].symbol}' of {types[-1]}"
