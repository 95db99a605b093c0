"""Reading an operand through a copy of another shape.

In: a kernel, a statement, one of its accesses, a copy. Out: an equal kernel if the copy holds what
the access reads. Not its job: which shape (`im2col`, `transpose`, `pad_loops`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Expr,
    Kernel,
    Loop,
    Statement,
    map_accesses,
    pretty_expr,
    stays_inside,
)

from .edit import find_alone, fresh_names, make_temporary, replace_statement, substitute_access


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a copy: the loop that fills it, and the index that the reader uses."""

    loop: Loop
    read: Affine


def find_read(kernel: Kernel, position: int, access: Access) -> Statement:
    """The statement, alone under its loops, that reads `access` and leaves its buffer as it is."""
    statement = find_alone(kernel, position)
    if access not in statement.reads:
        raise KernelError(f"statement {position} does not read {pretty_expr(access)}")
    if access.buffer == statement.target.buffer:
        raise KernelError(f"statement {position} changes {access.buffer!r} while it reads it")
    return statement


def make_copy(
    kernel: Kernel, source: Access, dims: Sequence[Dimension]
) -> tuple[Buffer, Statement, Access]:
    """A temporary, the statement that fills it from `source`, the access that reads it.

    `source` is in terms of the dimensions' loops, which get fresh names. Where it stays inside
    its buffer it loses its `pad`; the read keeps it.
    """
    name = fresh_names(kernel, (f"{source.buffer}_copy",))[0]
    bases = [dimension.loop.name for dimension in dims]
    names = fresh_names(kernel, bases, (name,))
    loops = tuple(replace(d.loop, name=new) for d, new in zip(dims, names, strict=True))
    values = {old: Affine.var(new) for old, new in zip(bases, names, strict=True)}
    moved = substitute_access(source, values)
    value = drop_pad(moved, loops, kernel.buffer(source.buffer).shape)
    buffer, target = make_temporary(name, kernel.buffer(source.buffer).dtype, loops)
    read = Access(name, tuple(dimension.read for dimension in dims), source.pad)
    return buffer, Statement(loops, target, "=", value), read


def drop_pad(access: Access, loops: Sequence[Loop], shape: tuple[int, ...]) -> Access:
    """The access without `pad` if it never leaves its buffer."""
    return replace(access, pad=None) if stays_inside(access, loops, shape) else access


def replace_access(expr: Expr, old: Access, new: Access) -> Expr:
    """The expression with one access replaced, wherever it occurs."""
    return map_accesses(expr, lambda access: new if access == old else access)


def read_copy(
    kernel: Kernel, position: int, access: Access, source: Access, dims: Sequence[Dimension]
) -> Kernel:
    """`kernel` with the copy made right before the statement, and read instead of `access`."""
    statement = find_read(kernel, position, access)
    buffer, fill, read = make_copy(kernel, source, dims)
    read = drop_pad(read, statement.loops, buffer.shape)
    reader = replace(statement, value=replace_access(statement.value, access, read))
    return replace_statement(kernel, position, (fill, reader), (buffer,))


def whole_dimensions(kernel: Kernel, access: Access) -> list[Dimension]:
    """Dimensions of a plain copy of the whole buffer, read as `access` does."""
    shape = kernel.buffer(access.buffer).shape
    names = fresh_names(kernel, [f"{access.buffer}_{dim}" for dim in range(len(shape))])
    return [
        Dimension(Loop(name, size), index)
        for name, size, index in zip(names, shape, access.indices, strict=True)
    ]


def readable(kernel: Kernel) -> Iterator[tuple[int, Access]]:
    """Every access that a copy may stand in for, with its statement's position."""
    for position, statement in enumerate(kernel.statements):
        for access in dict.fromkeys(statement.reads):
            try:
                find_read(kernel, position, access)
            except KernelError:
                continue
            yield position, access
