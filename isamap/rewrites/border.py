"""A buffer that is read outside of itself gets the padding around it as elements.

In: a verified kernel, a buffer. Out: an equal kernel. Not its job: padding that no order of
iterations depends on, which copies and instructions put in.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import copysign

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Buffer,
    Kernel,
    Literal,
    Loop,
    LoopKind,
    Role,
    Statement,
    index_range,
    kernel_loop_kinds,
    leaving_dims,
    map_accesses,
)

from .attempt import attempt
from .edit import fresh_names, rebuild
from .fresh_loops import fresh_loops
from .variant import Rewrite


def border(kernel: Kernel, buffer: str) -> Kernel:
    """Write `y[i] = x[i] + y.at(i - 1, pad=0)` as `Y[i + 1] = x[i] + Y[i]` and `y[i] = Y[i + 1]`.

    Y is a new TEMP, larger than `buffer` by what is read around it. Where the padding is not 0, Y
    is filled with it first; where `buffer` is an input, its elements are copied then.

    Returns:
        A kernel equal on all inputs, bit by bit.

    Raises:
        KernelError: no read leaves the buffer along a loop whose iterations depend on each other,
            or reads of it have different padding.

    Source: a halo, as stencil codes have it; derived here.
    """
    old = kernel.buffer(buffer)
    ranges = _reached(kernel, old)
    reads = (a.pad for s in kernel.statements for a in s.reads if a.buffer == buffer)
    pads = {(copysign(1, pad), pad) for pad in reads if pad is not None}
    if not _is_held(kernel, old) or len(pads) != 1:
        raise KernelError(f"{buffer!r} is not read outside of itself along a loop in order")
    before = tuple(-low for low, _ in ranges)
    name, *loops = fresh_names(
        kernel, (f"{buffer}_bordered", *(f"d{n}" for n in range(len(ranges))))
    )
    new = Buffer(name, old.dtype, tuple(1 + high - low for low, high in ranges), Role.TEMP)

    def moved(access: Access) -> Access:
        if access.buffer != buffer:
            return access
        places = zip(access.indices, before, strict=True)
        return Access(name, tuple(index + first for index, first in places))

    own = Access(buffer, tuple(map(Affine.var, loops)))
    inside = tuple(map(Loop, loops, old.shape))
    statements = [
        replace(s, target=moved(s.target), value=map_accesses(s.value, moved))
        for s in kernel.statements
    ]
    begin = []
    sign, pad = pads.pop()
    differs = pad != 0 or sign < 0  # from the zeros that a TEMP begins with, which are not -0.0
    if differs:
        whole = Access(name, own.indices)
        begin.append(Statement(tuple(map(Loop, loops, new.shape)), whole, "=", Literal(pad)))
    if old.role.is_given:
        begin.append(Statement(inside, moved(own), "=", own))
    elif differs:
        begin.append(Statement(inside, moved(own), "=", Literal(0)))
    end = [Statement(inside, own, "=", moved(own))] if old.role.is_returned else []
    around = fresh_loops(kernel, (*begin, *end), (name,))
    count = len(begin)
    return rebuild(kernel, (*around[:count], *statements, *around[count:]), (new,))


def _reached(kernel: Kernel, buffer: Buffer) -> tuple[tuple[int, int], ...]:
    """First and last index of each dimension, with what is read around the buffer."""
    ranges = [(0, size - 1) for size in buffer.shape]
    for statement in kernel.statements:
        for access in statement.reads:
            if access.buffer == buffer.name:
                read = (index_range(index, statement.extents) for index in access.indices)
                pairs = zip(ranges, read, strict=True)
                ranges = [(min(a, c), max(b, d)) for (a, b), (c, d) in pairs]
    return tuple(ranges)


def _is_held(kernel: Kernel, buffer: Buffer) -> bool:
    """Does a read leave the buffer by an index that moves with a loop whose order matters?"""
    kinds = kernel_loop_kinds(kernel)
    return any(
        kinds[name] is LoopKind.SEQUENTIAL
        for statement in kernel.statements
        for access in statement.reads
        if access.buffer == buffer.name
        for dim in leaving_dims(access, buffer, statement.extents)
        for name in access.indices[dim].names
    )


def border_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """All buffers at once, where there are several, then each by its name: a machine that takes no
    such padding takes none of them."""
    found = {}
    whole = kernel
    for buffer in kernel.buffers:
        bordered = attempt(border, kernel, buffer.name)
        if bordered is not None:
            found[buffer.name] = bordered
            whole = attempt(border, whole, buffer.name) or whole
    if len(found) > 1:
        yield "all buffers", whole
    yield from found.items()


BORDER = Rewrite(
    "border",
    "y[i] = f(y.at(i - 1, pad))  =  Y[i + 1] = f(Y[i]); y[i] = Y[i + 1]",
    False,
    border_sites,
)
