"""A statement becomes a row of statements of one operation each.

In: a verified kernel, a statement that works element by element. Out: an equal kernel, bit by bit.
Not its job: which of them an instruction could compute together (`outline` takes out single parts).
"""

from collections.abc import Iterator
from dataclasses import replace

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Apply,
    Buffer,
    Expr,
    Kernel,
    LoopKind,
    Statement,
    accesses,
    is_cast,
    kernel_loop_kinds,
    normalise_update,
    type_of,
    under_casts,
)

from .edit import fresh_names, make_temporary, pick_loops, rebuild, used_loops
from .variant import Rewrite


def single_operations(kernel: Kernel, position: int) -> Kernel:
    """Compute every operation of a statement's value into a temporary of its own, in its loops.

    `D[i] = relu(x[i] + b[i])` becomes `D_1[i] = x[i] + b[i]; D[i] = relu(D_1[i])`, in one nest. A
    temporary has one dimension for each loop that the operation moves with, but for loops that run
    in order (time steps): it is written anew in each of their iterations. Casts of elements stay
    with the operation that reads them.

    Raises:
        KernelError: the statement sums up, or has one operation only.

    Source: three-address code (Aho et al., Compilers, section 6.2); derived here.
    """
    statement = kernel.statements[position]
    if not _has_two_operations(statement.value):  # most often so, and soon told
        raise KernelError(f"statement {position} has no two operations")
    row = _Row(kernel, statement)
    free = [loop.name for loop in statement.loops if loop.name not in row.ordered]
    if not all(statement.target.moves_with(name) for name in free):
        raise KernelError(f"statement {position} does not work element by element")
    value = row.reduce(statement.value)
    update, value = normalise_update(statement.target, statement.update, value)
    last = replace(statement, update=update, value=value)
    before, after = kernel.statements[:position], kernel.statements[position + 1 :]
    return rebuild(kernel, (*before, *row.statements, last, *after), row.buffers)


class _Row:
    """The statements before the last one, and their temporaries."""

    def __init__(self, kernel: Kernel, statement: Statement) -> None:
        self.kernel = kernel
        self.statement = statement
        self.statements: list[Statement] = []
        self.buffers: list[Buffer] = []
        kinds = kernel_loop_kinds(kernel)
        self.ordered = {name for name, kind in kinds.items() if kind is LoopKind.SEQUENTIAL}
        self.known: dict[Expr, Access] = {}

    def reduce(self, value: Expr) -> Expr:
        """The outermost operation on elements, everything in it computed before."""
        if not isinstance(value, Apply):
            return value
        if is_cast(value.op):
            return Apply(value.op, tuple(self.reduce(arg) for arg in value.args))
        return Apply(value.op, tuple(self._element(arg) for arg in value.args))

    def _element(self, value: Expr) -> Expr:
        """The value as an element, a cast one, or a number."""
        if not _is_computed(value):
            return value
        if value not in self.known:
            self.known[value] = self._compute(value)
        return self.known[value]

    def _compute(self, value: Expr) -> Access:
        reduced = self.reduce(value)
        loops = pick_loops(self.statement.loops, used_loops(value))
        dims = tuple(loop for loop in loops if loop.name not in self.ordered)
        taken = [buffer.name for buffer in self.buffers]
        base = f"{self.statement.target.buffer}_{len(taken) + 1}"
        name = fresh_names(self.kernel, (base,), taken)[0]
        whole = Kernel("", (*self.kernel.buffers, *self.buffers), ())
        buffer, target = make_temporary(name, type_of(reduced, whole), dims)
        self.buffers.append(buffer)
        loc = self.statement.loc
        self.statements.append(Statement(self.statement.loops, target, "=", reduced, loc=loc))
        return target


def _has_two_operations(value: Expr) -> bool:
    """Is an argument of the outermost operation itself the result of one?"""
    if not isinstance(value, Apply):
        return False
    return any((_has_two_operations if is_cast(value.op) else _is_computed)(a) for a in value.args)


def _is_computed(value: Expr) -> bool:
    """Is it neither an element, cast or not, nor a number?"""
    inner = under_casts(value)
    return isinstance(inner, Apply) and bool(accesses(inner))


def single_operations_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """All statements at once: on a machine with instructions for single operations, a part of a
    statement gains nothing while the rest of it has no instruction."""
    found = kernel
    for position in reversed(range(len(kernel.statements))):
        try:
            found = single_operations(found, position)
        except KernelError:
            continue
    if found != kernel:
        yield "all statements", found


SINGLE_OPERATIONS = Rewrite(
    "single_operations", "s(f(e)) = T = e; s(f(T))", False, single_operations_sites
)
