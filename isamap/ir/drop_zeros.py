"""Statements that only write the zeros with which a buffer begins.

In: a verified kernel. Out: an equal kernel without them. Not its job: any other dead statement.
"""

from dataclasses import replace
from itertools import takewhile
from math import copysign

from .deps import may_distribute
from .kernel import Expr, Kernel, Literal, Statement


def drop_zeros(kernel: Kernel) -> Kernel:
    """Leave out `T[i] = 0` before `T[i] += ..`: Out and Temp begin at zero.

    A statement goes if it could run before all others that write its target, of which there are
    some; where a loop around both resets the target, as in time steps, it stays.
    """
    numbers = range(len(kernel.statements))
    kept = tuple(kernel.statements[n] for n in numbers if not _may_go(kernel, n))
    return kernel if len(kept) == len(numbers) else replace(kernel, statements=kept)


def _may_go(kernel: Kernel, position: int) -> bool:
    zero = kernel.statements[position]
    buffer = kernel.buffer(zero.target.buffer)
    writers = [
        number
        for number, statement in enumerate(kernel.statements)
        if statement.target.buffer == buffer.name and not _sets_to_zero(statement)
    ]
    return (
        _sets_to_zero(zero)
        and not buffer.role.is_given
        and bool(writers)
        and position < writers[0]
        and all(_may_run_before(zero, kernel.statements[number]) for number in writers)
    )


def is_zero(value: Expr) -> bool:
    """Is it the zero with which a buffer begins? Not -0.0, though the two are equal."""
    return isinstance(value, Literal) and value.value == 0 and copysign(1, value.value) > 0


def _sets_to_zero(statement: Statement) -> bool:
    return statement.update == "=" and is_zero(statement.value)


def _may_run_before(zero: Statement, writer: Statement) -> bool:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(zero.loops, writer.loops, strict=False))
    return may_distribute(zero, writer, tuple(loop.name for loop, _ in pairs))
