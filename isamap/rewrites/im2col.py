"""A window becomes an operand with one loop per dimension, by a copy.

In: a verified kernel, a statement, an access, dimensions. Out: an equal kernel, bit by bit. Not its
job: fusing the copy's dimensions into a matrix (`fuse`; the copy's layout is free).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.ir import Access, Affine, Kernel, pretty_expr

from .copies import Dimension, read_copy, readable, whole_dimensions
from .edit import pick_loops
from .variant import Rewrite


def im2col(kernel: Kernel, position: int, access: Access, dims: tuple[int, ...]) -> Kernel:
    """Copy what `access` reads so that each loop in its windows has a dimension of its own.

    `y[p] += x.at(2*p + u - 1, pad=0) * w[u]` becomes `x_copy[p, u] = x.at(2*p + u - 1, pad=0)` and
    `y[p] += x_copy[p, u] * w[u]`.

    Args:
        kernel: any verified kernel.
        position: a statement that shares no loops with neighbours.
        access: one of its reads, of a buffer that it does not write.
        dims: which dimensions of the buffer to open; at the others the copy is whole.

    Raises:
        KernelError: no such statement or access, or a dimension without loops.

    Source: lowering (Chellapilla, Puri, Simard, 2006), with any set of windows; derived here.
    """
    if not dims or any(dim >= len(access.indices) for dim in dims):
        raise KernelError(f"{pretty_expr(access)} has no such dimensions: {dims}")
    whole = whole_dimensions(kernel, access)
    opened: dict[str, Dimension] = {}
    source: list[Affine] = []
    statement = kernel.statements[position]
    for dim, dimension in enumerate(whole):
        if dim not in dims:
            opened[dimension.loop.name] = dimension
            source.append(Affine.var(dimension.loop.name))
            continue
        index = access.indices[dim]
        source.append(index)
        for loop in pick_loops(statement.loops, index.names):
            opened.setdefault(loop.name, Dimension(loop, Affine.var(loop.name)))
    copied = Access(access.buffer, tuple(source), access.pad)
    return read_copy(kernel, position, access, copied, tuple(opened.values()))


def windows(access: Access) -> tuple[int, ...]:
    """Dimensions whose index is more than one loop by itself."""
    return tuple(
        dim
        for dim, index in enumerate(access.indices)
        if index.terms and (len(index.terms) > 1 or index.terms[0][1] != 1 or index.constant)
    )


def im2col_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """All windows of an access, then each alone."""
    for position, access in readable(kernel):
        found = windows(access)
        single = [(dim,) for dim in found] if len(found) > 1 else []
        for dims in ([found] if found else []) + single:
            texts = ", ".join(str(access.indices[dim]) for dim in dims)
            yield f"{access.buffer}: {texts}", im2col(kernel, position, access, dims)


IM2COL = Rewrite("im2col", "s(x[p + u]) = X[p, u] = x[p + u]; s(X[p, u])", False, im2col_sites)
