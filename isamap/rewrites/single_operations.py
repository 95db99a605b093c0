"""A statement becomes a row of statements of one operation each.

In: a verified kernel, a statement of several operations. Out: an equal kernel, bit by bit.
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

from .edit import (
    fresh_names,
    make_temporary,
    pick_loops,
    rebuild,
    rename_loops,
    shared_depth,
    used_loops,
)
from .variant import Rewrite


def single_operations(kernel: Kernel, position: int, *, apart: bool = False) -> Kernel:
    """Compute every operation of a statement's value into a temporary of its own.

    `D[i] = relu(x[i] + b[i])` becomes `D_1[i] = x[i] + b[i]; D[i] = relu(D_1[i])`, in one nest. A
    temporary has one dimension for each loop that the operation moves with, but for loops that run
    in order (time steps): it is written anew in each of their iterations. What moves with fewer
    loops than the statement has of its own is computed before them, once: `D[i, j] = x[i, j] *
    exp(s[i])` exponentiates along i only. Casts of elements stay with the operation that reads
    them, and a sum keeps the last operation of its terms, as instructions that multiply and add do.

    Args:
        kernel: any verified kernel.
        position: of a statement.
        apart: compute the terms of a sum apart too, for instructions that do nothing but sum up:
            `s[i] += x[i, j] * y[i, j]` becomes `s_1[i, j] = x[i, j] * y[i, j]; s[i] += s_1[i, j]`.
            Products whose factors move with different loops stay: their terms take too much room.

    Raises:
        KernelError: the statement has one operation only, or is such a product.

    Source: three-address code (Aho et al., Compilers, section 6.2); derived here.
    """
    statement = kernel.statements[position]
    is_apart = apart and _has_terms(statement)
    if not is_apart and not _has_two_operations(statement.value):  # most often so, and soon told
        raise KernelError(f"statement {position} has no two operations")
    row = _Row(kernel, position)
    value = row.element(statement.value) if is_apart else row.reduce(statement.value)
    update, value = normalise_update(statement.target, statement.update, value)
    last = replace(statement, update=update, value=value)
    before, after = kernel.statements[:position], kernel.statements[position + 1 :]
    return rebuild(kernel, (*before, *row.before, *row.statements, last, *after), row.buffers)


class _Row:
    """The statements before the last one, those of fewer loops first, and their temporaries."""

    def __init__(self, kernel: Kernel, position: int) -> None:
        self.kernel = kernel
        self.statement = kernel.statements[position]
        self.depth = shared_depth(kernel, position)
        self.before: list[Statement] = []
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
        return Apply(value.op, tuple(self.element(arg) for arg in value.args))

    def element(self, value: Expr) -> Expr:
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
        self._add(Statement(self.statement.loops, target, "=", reduced, self.statement.loc), value)
        return target

    def _add(self, part: Statement, value: Expr) -> None:
        """The statement in the nest, or before the loops that no other statement shares, if it
        moves with few of them and what it reads stays the same in all."""
        around, own = part.loops[: self.depth], part.loops[self.depth :]
        kept = pick_loops(own, used_loops(value))
        is_fixed = all(a.buffer != self.statement.target.buffer for a in accesses(value))
        if kept == own or not is_fixed or any(loop.name in self.ordered for loop in kept):
            self.statements.append(part)
            return
        taken = [buffer.name for buffer in self.buffers]
        taken += [loop.name for other in self.before for loop in other.loops]
        old = [loop.name for loop in kept]
        names = dict(zip(old, fresh_names(self.kernel, old, taken), strict=True))
        self.before.append(rename_loops(replace(part, loops=(*around, *kept)), names))


def _has_terms(statement: Statement) -> bool:
    """Is it a sum (or a search for the greatest, ..) of what is computed element by element?"""
    value = under_casts(statement.value)
    if statement.update == "=" or not _is_computed(value) or not isinstance(value, Apply):
        return False
    return value.op != "*" or len({used_loops(arg) for arg in value.args if accesses(arg)}) == 1


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
    statement gains nothing while the rest of it has no instruction. Terms of sums with them, or
    not."""
    together = _split_all(kernel, apart=False)
    if together != kernel:
        yield "all statements", together
    apart = _split_all(kernel, apart=True)
    if apart != together:
        yield "all statements, and terms of sums", apart


def _split_all(kernel: Kernel, *, apart: bool) -> Kernel:
    """The kernel with all statements that have several operations as rows of them."""
    found = kernel
    for position in reversed(range(len(kernel.statements))):
        try:
            found = single_operations(found, position, apart=apart)
        except KernelError:
            continue
    return found


SINGLE_OPERATIONS = Rewrite(
    "single_operations", "s(f(e)) = T = e; s(f(T))", False, single_operations_sites
)
