"""Numbers of a kernel lie in temporaries, as operands that instructions read.

In: a verified kernel, operations. Out: an equal kernel, bit by bit. Not its job: which operations a
machine has for two elements only (`mapper.number_operations`), computing each apart
(`single_operations`).
"""

from collections.abc import Iterator, Sequence
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
    Loop,
    Role,
    Statement,
    accesses,
    type_of,
    under_casts,
)

from .attempt import attempt
from .edit import fresh_names, pick_loops, rebuild, used_loops
from .fresh_loops import fresh_loops
from .variant import Rewrite

OPERATIONS = ("+", "-", "*", "/", "max", "min")
ROWS = "rows for "
ELEMENTS = "elements for "


def numbers(kernel: Kernel, operations: Sequence[str], *, in_rows: bool = False) -> Kernel:
    """Write `y[i] = x[i] * 0.5` as `number[()] = 0.5; y[i] = x[i] * number[()]`.

    Args:
        kernel: any verified kernel.
        operations: of `OPERATIONS`; wherever one of them takes a number and what moves with
            elements.
        in_rows: repeat the number, `number[i]`, along the innermost loop that the other argument
            moves with, for operands whose elements lie side by side.

    Raises:
        KernelError: none of the operations takes a number.

    Source: derived here.
    """
    found = _Numbers(kernel, frozenset(operations), in_rows)
    statements = [replace(s, value=found.replaced(s.value, s)) for s in kernel.statements]
    if not found.buffers:
        raise KernelError(f"{', '.join(operations)} takes no number in {kernel.name!r}")
    fills = fresh_loops(kernel, found.fills, [buffer.name for buffer in found.buffers])
    return rebuild(kernel, (*fills, *statements), found.buffers)


class _Numbers:
    """Temporaries for numbers, each once, and the statements that fill them."""

    def __init__(self, kernel: Kernel, operations: frozenset[str], in_rows: bool) -> None:
        self.kernel = kernel
        self.operations = operations
        self.in_rows = in_rows
        self.known: dict[tuple[Expr, str, int], Access] = {}
        self.buffers: list[Buffer] = []
        self.fills: list[Statement] = []

    def replaced(self, value: Expr, statement: Statement) -> Expr:
        """The expression with elements for its numbers."""
        if not isinstance(value, Apply):
            return value
        args = [self.replaced(arg, statement) for arg in value.args]
        if value.op in self.operations:
            for place, (number, other) in enumerate((value.args, value.args[::-1])):
                if isinstance(under_casts(number), Literal) and accesses(other):
                    dtype = type_of(value, self.kernel)
                    args[place] = self._element(number, dtype, other, statement)
        return Apply(value.op, tuple(args))

    def _element(self, number: Expr, dtype: str, other: Expr, statement: Statement) -> Access:
        moving = pick_loops(statement.loops, used_loops(other))
        row = moving[-1:] if self.in_rows else ()
        indices = tuple(Affine.var(loop.name) for loop in row)
        extent = row[0].extent if row else 0
        key = (number, dtype, extent)
        if key not in self.known:
            self.known[key] = self._fill(number, dtype, tuple(row))
        return replace(self.known[key], indices=indices)

    def _fill(self, number: Expr, dtype: str, row: tuple[Loop, ...]) -> Access:
        taken = [buffer.name for buffer in self.buffers]
        (name,) = fresh_names(self.kernel, ("number",), taken)
        self.buffers.append(Buffer(name, dtype, tuple(loop.extent for loop in row), Role.TEMP))
        target = Access(name, tuple(Affine.var(loop.name) for loop in row))
        self.fills.append(Statement(row, target, "=", number))
        return target


def numbers_by(operations: Sequence[str]) -> Rewrite:
    """The row that tries these operations, all at once."""
    return Rewrite(
        "numbers",
        "f(x, 2)  =  T = 2; f(x, T)",
        False,
        partial(_sites, tuple(operations)),
        numbers_at,
    )


def _sites(operations: tuple[str, ...], kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """One element of each number, or a row of them, for those of the operations that take any."""
    taken = [op for op in operations if attempt(numbers, kernel, (op,)) is not None]
    if not taken:
        return
    elements = numbers(kernel, taken)
    yield ELEMENTS + " ".join(taken), elements
    rows = numbers(kernel, taken, in_rows=True)
    if rows != elements:
        yield ROWS + " ".join(taken), rows


def numbers_at(kernel: Kernel, site: str) -> Kernel:
    """The application of that name; KernelError as `numbers`, or where it is none."""
    for start, in_rows in ((ELEMENTS, False), (ROWS, True)):
        if site.startswith(start):
            return numbers(kernel, site.removeprefix(start).split(" "), in_rows=in_rows)
    raise KernelError(f"{site!r} does not say which numbers")


NUMBERS = numbers_by(OPERATIONS)
