"""Forward substitution: a temporary's value goes to where it is read, and the temporary goes.

In: a verified kernel, a TEMP buffer. Out: an equal kernel, bit by bit. Not its job: temporaries
that are summed into, or whose elements are found by a search.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Expr,
    Kernel,
    LoopKind,
    Role,
    Statement,
    accesses,
    index_range,
    loop_kinds,
    map_accesses,
    may_distribute,
    normalise_update,
)

from .attempt import buffer_sites
from .edit import rebuild, substitute_access
from .variant import Rewrite


@dataclass(frozen=True, slots=True)
class Producer:
    """The one statement `T[..] = value` that writes a temporary, at `position`.

    `solved`: per loop, the dimension that it alone moves, its sign there and the constant.
    `around`: loops around it and all readers in whose every iteration it writes anew.
    """

    position: int
    statement: Statement
    solved: Mapping[str, tuple[int, int, int]]
    around: tuple[str, ...]


def inline(kernel: Kernel, temporary: str) -> Kernel:
    """Replace every read of a temporary by the expression that was stored there.

    `T[i] = x[i] + b[i]; D[j] = relu(T[j])` becomes `D[j] = relu(x[j] + b[j])`.

    Args:
        kernel: any verified kernel.
        temporary: a TEMP buffer that one statement writes, by `=`, each of its loops moving one
            dimension of its own by 1 or -1, but for outermost loops that it shares with all
            readers (time steps); reads come later and read only what was written.

    Raises:
        KernelError: the temporary is not of this kind, or what it was computed from may change
            before it is read.

    Source: forward substitution; derived here.
    """
    producer = find_producer(kernel, temporary)
    if not any(a.buffer == temporary for s in kernel.statements for a in s.reads):
        raise KernelError(f"{temporary!r} is never read")
    statements: list[Statement] = []
    for position, statement in enumerate(kernel.statements):
        reads = [a for a in statement.reads if a.buffer == temporary]
        if position == producer.position:
            continue
        if not reads:
            statements.append(statement)
            continue
        if position < producer.position:
            raise KernelError(f"{temporary!r} is read before it is written")
        inlined = substitute(kernel, statement, producer)
        check_order(kernel, producer, position, inlined)
        statements.append(inlined)
    return rebuild(kernel, statements)


def find_producer(kernel: Kernel, temporary: str) -> Producer:
    """The statement that writes `temporary`; KernelError when its elements cannot be told."""
    names = [buffer.name for buffer in kernel.buffers if buffer.role is Role.TEMP]
    if temporary not in names:
        raise KernelError(f"kernel {kernel.name!r} has no temporary {temporary!r}")
    writers = [n for n, s in enumerate(kernel.statements) if s.target.buffer == temporary]
    if len(writers) != 1:
        raise KernelError(f"{temporary!r} is written by {len(writers)} statements, not by one")
    statement = kernel.statements[writers[0]]
    if statement.update != "=":
        raise KernelError(f"{temporary!r} is updated by {statement.update!r}, not by '='")
    if any(a.buffer == temporary for a in statement.reads):
        raise KernelError(f"{temporary!r} is computed from itself")
    solved = solve_loops(statement)
    around = loops_around(kernel, writers[0], solved)
    for loop in statement.loops:
        if loop.extent > 1 and loop.name not in solved and loop.name not in around:
            raise KernelError(f"{temporary!r} is written again along {loop.name!r}")
    return Producer(writers[0], statement, solved, around)


def loops_around(kernel: Kernel, position: int, solved: Collection[str]) -> tuple[str, ...]:
    """Outermost loops of the statement at `position` that are not in `solved`, as far as all
    statements up to the last reader of its target share them."""
    statement = kernel.statements[position]
    name = statement.target.buffer
    readers = [n for n, s in enumerate(kernel.statements) if name in _read_names(s)]
    nests = (s.loops for s in kernel.statements[position : max(readers, default=position) + 1])
    shared = takewhile(lambda row: len(set(row)) == 1, zip(*nests, strict=False))
    return tuple(takewhile(lambda name: name not in solved, (loop.name for loop, *_ in shared)))


def _read_names(statement: Statement) -> set[str]:
    return {access.buffer for access in statement.reads}


def solve_loops(statement: Statement) -> dict[str, tuple[int, int, int]]:
    """Dimension, sign and constant by loop; KernelError when an index does not give its loop."""
    solved: dict[str, tuple[int, int, int]] = {}
    for dim, index in enumerate(statement.target.indices):
        if len(index.terms) > 1 or any(abs(c) != 1 or n in solved for n, c in index.terms):
            raise KernelError(
                f"index {index} of {statement.target.buffer!r} does not give each loop its element"
            )
        for name, sign in index.terms:
            solved[name] = (dim, sign, index.constant)
    return solved


def substitute(kernel: Kernel, statement: Statement, producer: Producer) -> Statement:
    """The statement with the producer's value in the place of reads of its target."""
    update, value = normalise_update(
        statement.target,
        statement.update,
        map_accesses(statement.value, lambda a: find_value(a, kernel, statement, producer)),
    )
    return replace(statement, update=update, value=value)


def find_value(access: Access, kernel: Kernel, reader: Statement, producer: Producer) -> Expr:
    """What the producer stored where `access` reads in `reader`; other buffers' elements stay."""
    written, target = producer.statement, producer.statement.target
    if access.buffer != target.buffer:
        return access
    extents = reader.extents
    bounds = written.extents
    for index, own in zip(access.indices, target.indices, strict=True):
        low, high = index_range(index, extents)
        first, last = index_range(own, bounds)
        if low < first or high > last:
            raise KernelError(f"{target.buffer!r} is read where it was not written")
    values = {loop.name: Affine() for loop in written.loops}  # others in no index have extent 1
    values |= {name: Affine.var(name) for name in producer.around}
    for loop, (dim, sign, constant) in producer.solved.items():
        values[loop] = (access.indices[dim] + -constant).scaled(sign)
    found = map_accesses(written.value, lambda a: substitute_access(a, values))
    # a value made of literals has a type of its own only under a cast
    return found if accesses(found) else Apply(kernel.buffer(target.buffer).dtype, (found,))


def check_order(kernel: Kernel, producer: Producer, position: int, inlined: Statement) -> None:
    """KernelError unless what the producer read is the same when the reader reads it."""
    reader, around = kernel.statements[position], producer.around
    if not runs_before(producer.statement, reader, around):
        raise KernelError(f"{producer.statement.target.buffer!r} is read before it is written")
    sources = {access.buffer for access in accesses(producer.statement.value)}
    for other, statement in enumerate(kernel.statements):
        if statement.target.buffer not in sources or other == producer.position:
            continue
        if other < producer.position:
            is_safe = runs_before(statement, producer.statement, around)
        elif other < position:
            is_safe = False
        elif other == position:
            kinds = loop_kinds(inlined, around).values()
            is_safe = all(kind is LoopKind.PARALLEL for kind in kinds)
        else:
            is_safe = runs_before(inlined, statement, around)
        if not is_safe:
            raise KernelError(
                f"{statement.target.buffer!r} may change before "
                f"{producer.statement.target.buffer!r}, computed from it, is read"
            )


def runs_before(first: Statement, second: Statement, around: tuple[str, ...]) -> bool:
    """May all of `first` run before all of `second`, in every iteration of the loops `around` that
    they share? `first` comes first in the kernel."""
    names = {loop.name for loop in second.loops}
    shared = tuple(loop.name for loop in first.loops if loop.name in names)
    fixed = tuple(name for name in shared if name in around)
    return may_distribute(first, second, shared[len(fixed) :], fixed)


INLINE = Rewrite("inline", "T = e; s(T) = s(e)", False, partial(buffer_sites, inline))
