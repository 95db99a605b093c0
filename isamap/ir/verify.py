"""The rules every kernel obeys.

In: a kernel, from text or from a rewrite. Out: nothing, or KernelError at the first broken rule.
Not its job: rules of one machine, deciding what may be reordered (`deps`).
"""

import keyword
import math
from collections.abc import Mapping, Sequence

from isamap.errors import KernelError, Loc, closest

from .affine import Affine
from .depth import TOO_DEEP, TOO_DEEP_HINT, is_too_deep
from .dtypes import DTYPES
from .kernel import (
    Access,
    Apply,
    Buffer,
    Expr,
    Immediate,
    Kernel,
    Literal,
    Loop,
    Role,
    Statement,
)
from .normalise_update import normalise_update
from .ops import RESERVED, UPDATES
from .pretty import pretty_expr, pretty_loops, pretty_statement
from .type_of import check_constant, type_of


def verify(kernel: Kernel) -> None:
    """Check every rule of the IR.

    Names are distinct, not reserved, and a loop's name stands for one loop. Each statement:
    indices are as many as dimensions and use its own loops; accesses without `pad` stay inside;
    the target is writable and not padded; the value has the target's type; updates are in normal
    form (`x += e`, not `x = x + e`); no value nests too deep.

    Raises:
        KernelError: with the position of the buffer or statement and the statement's text.
    """
    verify_buffers(kernel)
    verify_loops(kernel)
    for statement in kernel.statements:
        if is_too_deep(statement.value):  # too deep to be printed too
            raise KernelError(TOO_DEEP, loc=statement.loc, hint=TOO_DEEP_HINT)
        try:
            verify_statement(statement, kernel)
        except KernelError as error:
            raise locate(error, statement) from error


def locate(error: KernelError, statement: Statement) -> KernelError:
    """Add the statement and its loops to an error's message."""
    text = pretty_statement(statement)
    where = f"{pretty_loops(statement.loops)} {text}" if statement.loops else text
    return KernelError(f"{error.message}\n  in {where}", loc=statement.loc, hint=error.hint)


def verify_buffers(kernel: Kernel) -> None:
    """Names, types and shapes of buffers; names of immediates."""
    seen: set[str] = set()
    for name, loc in [(b.name, b.loc) for b in kernel.buffers] + [
        (name, None) for name in kernel.immediates
    ]:
        verify_name(name, loc)
        if name in seen:
            raise KernelError(f"name {name!r} is used twice", loc=loc)
        seen.add(name)
    for buffer in kernel.buffers:
        if buffer.dtype not in DTYPES:
            raise KernelError(
                f"buffer {buffer.name!r} has unknown type {buffer.dtype!r}",
                loc=buffer.loc,
                hint=closest(buffer.dtype, DTYPES),
            )
        if any(extent < 1 for extent in buffer.shape):
            raise KernelError(
                f"buffer {buffer.name!r} has an extent below 1: {list(buffer.shape)}",
                loc=buffer.loc,
            )


def verify_name(name: str, loc: Loc | None) -> None:
    """A name must be a free identifier of the surface language."""
    if not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED or name in DTYPES:
        raise KernelError(f"{name!r} cannot be a name", loc=loc, hint="choose another name")


def verify_loops(kernel: Kernel) -> None:
    """A loop name stands for one loop: the statements under it are neighbours."""
    taken = {buffer.name for buffer in kernel.buffers} | set(kernel.immediates)
    nests: dict[str, tuple[Loop, ...]] = {}  # loop name -> the loops down to it
    previous: tuple[Loop, ...] = ()
    for statement in kernel.statements:
        for depth, loop in enumerate(statement.loops):
            verify_name(loop.name, statement.loc)
            path = statement.loops[: depth + 1]
            if loop.name in taken:
                raise KernelError(f"loop {loop.name!r} has the name of a buffer", loc=statement.loc)
            is_continued = previous[: depth + 1] == path
            if loop.name in nests and not (is_continued and nests[loop.name] == path):
                raise KernelError(
                    f"loop name {loop.name!r} is used for two different loops",
                    loc=statement.loc,
                    hint="give the second loop another name",
                )
            nests[loop.name] = path
        previous = statement.loops


def verify_statement(statement: Statement, kernel: Kernel) -> None:
    """Rules of one statement; errors have no position yet."""
    if statement.update not in UPDATES:
        raise KernelError(
            f"unknown update {statement.update!r}", hint=closest(statement.update, UPDATES)
        )
    verify_names(statement, kernel)
    for access in statement.accesses:
        verify_access(access, statement, kernel)
    target = kernel.buffer(statement.target.buffer)
    verify_target(statement.target, target)
    normal = normalise_update(statement.target, statement.update, statement.value)
    if normal != (statement.update, statement.value):
        raise KernelError(f"the update must be written {normal[0]!r}, not as a read of its target")
    value_type = type_of(statement.value, kernel, expected=target.dtype)
    if value_type != target.dtype:
        raise KernelError(
            f"{pretty_expr(statement.value)} is {value_type}, "
            f"but {target.name!r} holds {target.dtype}",
            hint=f"write {target.dtype}(...), or sat_{target.dtype}(...) to saturate"
            if f"sat_{target.dtype}" in RESERVED
            else f"write {target.dtype}(...)",
        )


def verify_names(statement: Statement, kernel: Kernel) -> None:
    """Buffers and immediates exist, literals are numbers."""
    names = [buffer.name for buffer in kernel.buffers]
    for access in statement.accesses:
        if access.buffer not in names:
            raise KernelError(
                f"unknown buffer {access.buffer!r}", hint=closest(access.buffer, names)
            )
    for leaf in leaves(statement.value):
        if isinstance(leaf, Immediate) and leaf.name not in kernel.immediates:
            raise KernelError(f"unknown immediate {leaf.name!r}")
        if isinstance(leaf, Literal) and math.isnan(leaf.value):
            raise KernelError("a literal cannot be NaN")


def leaves(expr: Expr) -> tuple[Access | Literal | Immediate, ...]:
    """Everything in `expr` that is not an operation, left to right."""
    if isinstance(expr, Apply):
        return tuple(leaf for arg in expr.args for leaf in leaves(arg))
    return (expr,)


def verify_target(target: Access, buffer: Buffer) -> None:
    """Only buffers that are not inputs are written, and never outside."""
    if buffer.role is Role.IN:
        raise KernelError(
            f"{buffer.name!r} is an input and cannot be written",
            hint=f"declare it {buffer.name} = InOut({buffer.dtype}, ...)",
        )
    if target.pad is not None:
        raise KernelError(f"a write to {buffer.name!r} cannot have 'pad'")


def verify_access(access: Access, statement: Statement, kernel: Kernel) -> None:
    """Index count, index names, bounds, type of the padding value."""
    buffer = kernel.buffer(access.buffer)
    if len(access.indices) != len(buffer.shape):
        raise KernelError(
            f"{buffer.name!r} has {len(buffer.shape)} dimension(s), but {len(access.indices)} "
            "index(es) are given"
        )
    if access.pad is not None:
        if math.isnan(access.pad):
            raise KernelError("'pad' cannot be NaN")
        check_constant(access.pad, buffer.dtype)
    extents = statement.extents
    for dim, (index, size) in enumerate(zip(access.indices, buffer.shape, strict=True)):
        for name, _ in index.terms:
            if name not in extents:
                raise KernelError(
                    f"index {index} of {buffer.name!r} uses {name!r}, which is no loop here"
                )
        low, high = index_range(index, extents)
        if access.pad is None and (low < 0 or high >= size):
            raise KernelError(
                f"{pretty_expr(access)} goes outside {buffer.name!r}: dimension {dim} has indices "
                f"0 .. {size - 1}, but {index} takes {low} .. {high}",
                hint="read with .at(..., pad=0) if the outside counts as zeros",
            )


def stays_inside(access: Access, loops: Sequence[Loop], shape: Sequence[int]) -> bool:
    """Do all iterations stay within an array of that shape?"""
    extents = {loop.name: loop.extent for loop in loops}
    spans = (index_range(index, extents) for index in access.indices)
    return all(low >= 0 and high < size for (low, high), size in zip(spans, shape, strict=True))


def index_range(index: Affine, extents: Mapping[str, int]) -> tuple[int, int]:
    """Smallest and largest value of an index over all iterations (exact: loops are a box)."""
    return index.interval({name: (0, extents[name] - 1) for name, _ in index.terms})


def leaving_dims(access: Access, buffer: Buffer, extents: Mapping[str, int]) -> frozenset[int]:
    """Dimensions in which an access with padding may lie outside of its buffer."""
    if access.pad is None:
        return frozenset()
    ranges = [index_range(index, extents) for index in access.indices]
    return frozenset(
        dim
        for dim, ((low, high), size) in enumerate(zip(ranges, buffer.shape, strict=True))
        if low < 0 or high >= size
    )
