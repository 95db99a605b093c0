"""A loop's extent grows to a multiple, over copies filled up with zeros.

In: a verified kernel, a loop, a multiple. Out: an equal kernel (but for the sign of float zeros).
Not its job: choosing the multiple; partial calls, which cost no copy.
"""

import math
from collections.abc import Iterator
from dataclasses import replace

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Expr,
    Kernel,
    Literal,
    Loop,
    Statement,
    accesses,
    index_range,
    is_float,
    pretty_expr,
    under_casts,
)

from .copies import Dimension, make_copy, read_copy, whole_dimensions
from .edit import all_loops, find_alone, find_loop, fresh_names, rename_loops, replace_statement
from .factors import split_factors
from .outline import subexpressions
from .variant import Rewrite

MULTIPLES = (4, 16)  # what sites try: small vectors and common arrays
BY_COUNT = ("//", "<<", ">>", "rshift_round")  # errors for some values of their second operand


def pad_loops(kernel: Kernel, loop: str, multiple: int) -> Kernel:
    """Let `loop` run to the next multiple; what it adds is computed from zeros and thrown away.

    Operands that move with the loop are read from larger copies, zero where they go on. A target
    that moves with it is computed in a larger temporary, of which the old part is copied back.

    Args:
        kernel: any verified kernel.
        loop: a loop of one statement that shares no loops with neighbours, extent E.
        multiple: at least 1; does not divide E.

    Raises:
        KernelError: no such loop; the added iterations could change a result (a sum whose products
            are not 0 there, a target index of several loops) or be an error (a division).

    Source: zero padding; derived here.
    """
    extent = find_loop(kernel, loop).extent
    if multiple < 1 or extent % multiple == 0:
        raise KernelError(
            f"the extent {extent} of loop {loop!r} is already a multiple of {multiple}"
        )
    grown = -(-extent // multiple) * multiple
    position = next(n for n, s in enumerate(kernel.statements) if s.loops.count(Loop(loop, extent)))
    statement = find_alone(kernel, position)
    check_added(kernel, statement, loop, grown)
    for access in dict.fromkeys(statement.reads):
        if access.moves_with(loop) and access.pad is None:
            kernel = enlarge(kernel, position, access, loop, grown)
            position += 1
    if statement.target.moves_with(loop):
        return grow_target(kernel, position, loop, grown)
    larger = grow_loop(kernel.statements[position], loop, grown)
    return replace_statement(kernel, position, (larger,))


def grow_loop(statement: Statement, loop: str, extent: int) -> Statement:
    """The statement with another extent of one loop."""
    loops = tuple(Loop(loop, extent) if own.name == loop else own for own in statement.loops)
    return replace(statement, loops=loops)


def check_added(kernel: Kernel, statement: Statement, loop: str, grown: int) -> None:
    """KernelError unless the added iterations are harmless."""
    for part in subexpressions(statement.value):
        if isinstance(part, Apply) and part.op in BY_COUNT and accesses(part.args[1]):
            raise KernelError(f"{pretty_expr(part)} may be an error where {loop!r} is padded")
    target = statement.target
    if any(a.buffer == target.buffer for a in statement.reads):
        raise KernelError(f"{target.buffer!r} is read by the statement that writes it")
    moving = [index for index in target.indices if index.coefficient(loop)]
    if moving:
        if len(moving) > 1 or moving[0].terms != ((loop, 1),):
            raise KernelError(f"index {moving[0]} of {target.buffer!r} is not {loop!r} alone")
        return
    if statement.update != "+=":
        raise KernelError(f"{target.buffer!r} is no sum over {loop!r}: zeros could change it")
    dtype = kernel.buffer(target.buffer).dtype
    larger = grow_loop(statement, loop, grown)
    factors = split_factors(statement.value, dtype, kernel)
    zeros = [is_zero_beyond(f, kernel, larger, loop, statement.extent(loop)) for f in factors]
    others = [f for f, is_zero in zip(factors, zeros, strict=True) if not is_zero]
    if len(others) == len(factors):
        raise KernelError(f"no factor of the sum over {loop!r} ends where the loop does")
    if is_float(dtype) and not all(is_finite(f) for f in others):
        raise KernelError(f"a factor of the sum over {loop!r} may be infinite where it is padded")


def is_zero_beyond(factor: Expr, kernel: Kernel, larger: Statement, loop: str, extent: int) -> bool:
    """Does the factor read outside of its buffer, so zeros, wherever `loop` is >= `extent`?"""
    factor = under_casts(factor)
    if not isinstance(factor, Access) or factor.pad not in (None, 0):
        return False
    extents = larger.extents
    for index, size in zip(factor.indices, kernel.buffer(factor.buffer).shape, strict=True):
        rest = index + Affine.of([(loop, -index.coefficient(loop))])
        first = index.coefficient(loop) * extent + index_range(rest, extents)[0]
        if index.coefficient(loop) > 0 and first >= size:
            return True
    return False


def is_finite(factor: Expr) -> bool:
    """Is the factor a finite constant?"""
    return isinstance(factor, Literal) and math.isfinite(factor.value)


def enlarged_dimensions(
    kernel: Kernel, statement: Statement, access: Access, loop: str, grown: int
) -> tuple[Dimension, ...]:
    """Dimensions of a copy large enough for the access when `loop` has grown."""
    larger = grow_loop(statement, loop, grown)
    extents = larger.extents
    dims: list[Dimension] = []
    for dimension in whole_dimensions(kernel, access):
        low, high = index_range(dimension.read, extents)
        if low < 0:
            raise KernelError(f"{pretty_expr(access)} runs backwards along {loop!r}")
        size = max(dimension.loop.extent, high + 1)
        dims.append(replace(dimension, loop=replace(dimension.loop, extent=size)))
    return tuple(dims)


def read_zeros(access: Access, dims: tuple[Dimension, ...]) -> Access:
    """The buffer of an access in terms of a copy's loops, zero outside."""
    return Access(access.buffer, tuple(Affine.var(d.loop.name) for d in dims), 0)


def enlarge(kernel: Kernel, position: int, access: Access, loop: str, grown: int) -> Kernel:
    """Read `access` from a copy that goes on with zeros."""
    dims = enlarged_dimensions(kernel, kernel.statements[position], access, loop, grown)
    return read_copy(kernel, position, access, read_zeros(access, dims), dims)


def grow_target(kernel: Kernel, position: int, loop: str, grown: int) -> Kernel:
    """Compute into a larger temporary and copy back what the statement wrote before."""
    statement = kernel.statements[position]
    target = statement.target
    dims = enlarged_dimensions(kernel, statement, target, loop, grown)
    buffer, fill, read = make_copy(kernel, read_zeros(target, dims), dims)
    temporary = replace(read, pad=None)
    kept = tuple(own for own in statement.loops if target.moves_with(own.name))
    taken = (buffer.name, *(own.name for own in fill.loops))
    old = tuple(own.name for own in kept)
    names = dict(zip(old, fresh_names(kernel, old, taken), strict=True))
    back = rename_loops(Statement(kept, target, "=", temporary, loc=statement.loc), names)
    larger = replace(grow_loop(statement, loop, grown), target=temporary)
    first = () if starts_as_zeros(kernel, position) else (fill,)
    return replace_statement(kernel, position, (*first, larger, back), (buffer,))


def starts_as_zeros(kernel: Kernel, position: int) -> bool:
    """Is the statement's old target value all zeros, or of no matter?"""
    statement = kernel.statements[position]
    target = statement.target.buffer
    if statement.update == "=":
        return True
    is_fresh = not kernel.buffer(target).role.is_given
    return is_fresh and all(s.target.buffer != target for s in kernel.statements[:position])


def pad_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every loop up to the next multiple of some common sizes."""
    for loop in all_loops(kernel):
        grown = dict.fromkeys(-(-loop.extent // multiple) * multiple for multiple in MULTIPLES)
        for extent in grown:
            try:
                padded = pad_loops(kernel, loop.name, extent)
            except KernelError:
                continue
            yield f"{loop.name}: {loop.extent} to {extent}", padded


PAD_LOOPS = Rewrite(
    "pad_loops", "sum_{k<E} a(k)*b(k) = sum_{k<F} a'(k)*b'(k), a' = 0 beyond E", False, pad_sites
)
