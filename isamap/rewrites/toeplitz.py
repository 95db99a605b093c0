"""A convolution along one loop becomes a dense product with a banded matrix.

In: a verified kernel, a statement, the loops of the output's position and of the window. Out: an
equal kernel. Not its job: choosing the loops; whether the zeros are worth their multiplications.
"""

from dataclasses import replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Expr,
    Kernel,
    Loop,
    Role,
    Statement,
    index_range,
    map_accesses,
)

from .copies import drop_pad
from .edit import fresh_names, pick_loops, replace_statement, used_loops
from .fresh_loops import fresh_loops
from .variant import Rewrite
from .window import Window, find_window, window_sites, zero_factors


def toeplitz(kernel: Kernel, statement: int, position: str, window: str) -> Kernel:
    """Write `y[p] += x[s*p + d*u + c] * w[u]` as `y[p] += x[i] * T[i, p]` with T zero off its band.

    `T[s*p + d*u + c, p, ..] = w[u, ..]`, counted from the smallest such index, is a new TEMP
    with the type of w and the loops that move w; d != 0 makes each of its elements the tap of one
    u. Rows of T outside x are padding: they are written and not read. The loop i, in the place of
    u, runs over the part of x that the window meets. A second application to the other
    dimension of an image gives the doubly banded matrix.

    Returns:
        A kernel equal on all integers. Floats: products with the zeros of T are added, so the
        result is the same to the bit (but for the sign of zeros) if d > 0 and all operands are
        finite.

    Raises:
        KernelError: the statement has no such window (see `find_window`); x is padded with a
            value other than 0 or is no factor of the product; the window meets padding only.

    Source: convolution as multiplication by a Toeplitz matrix (Gray, Toeplitz and Circulant
    Matrices, 2006, section 1); derived here for strides, dilations and padding.
    """
    found = find_window(kernel, statement, position, window)
    if found.image.pad not in (None, 0) or found.image not in zero_factors(found.statement.value):
        raise KernelError(
            f"{found.image.buffer!r} must be a factor, and zero outside", loc=found.statement.loc
        )
    extents = found.statement.extents
    low, high = index_range(found.index, extents)
    size = kernel.buffer(found.image.buffer).shape[found.dim]
    first, last = max(low, 0), min(high, size - 1)
    if first > last:
        raise KernelError(
            f"the window meets only padding of {found.image.buffer!r}", loc=found.statement.loc
        )
    moved = used_loops(found.filter) - {position, window}
    kept = (position, *(loop.name for loop in pick_loops(found.statement.loops, moved)))
    dtype = kernel.buffer(found.filter.buffer).dtype
    new_row, new_band = fresh_names(kernel, ("i", f"{found.filter.buffer}_band"))
    shape = (high - low + 1, *(extents[name] for name in kept))
    band = Buffer(new_band, dtype, shape, Role.TEMP)
    columns = tuple(map(Affine.var, kept))
    target = Access(new_band, (found.index + -low, *columns))
    used = pick_loops(found.statement.loops, {*kept, window})
    fill = Statement(used, target, "=", found.filter, found.statement.loc)
    row = Affine.var(new_row)
    product = multiply_band(
        kernel,
        found,
        (window, Loop(new_row, last - first + 1)),
        row + first,
        Access(new_band, (row + (first - low), *columns)),
    )
    return replace_statement(
        kernel, statement, (*fresh_loops(kernel, (fill,), (new_row, new_band)), product), (band,)
    )


def multiply_band(
    kernel: Kernel, found: Window, swap: tuple[str, Loop], row: Affine, band: Access
) -> Statement:
    """The statement with the image at `row`, `band` for its filter, and one loop for another."""
    old, new = swap
    loops = tuple(new if loop.name == old else loop for loop in found.statement.loops)
    indices = list(found.image.indices)
    indices[found.dim] = row
    shape = kernel.buffer(found.image.buffer).shape
    image = drop_pad(replace(found.image, indices=tuple(indices)), loops, shape)

    def change(access: Access) -> Expr:
        return {found.image: image, found.filter: band}.get(access, access)

    return replace(found.statement, loops=loops, value=map_accesses(found.statement.value, change))


TOEPLITZ = Rewrite(
    "toeplitz",
    "y[p] += x[s*p + d*u] * w[u]  =  y[p] += x[i] * T[i, p],  T[s*p + d*u, p] = w[u]",
    True,
    partial(window_sites, toeplitz),
)
