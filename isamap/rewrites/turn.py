"""A temporary's dimensions change places.

In: a verified kernel, a TEMP buffer, an order. Out: an equal kernel, bit by bit. Not its job: which
order suits the instructions on both sides (`turn_handed_on`), other layouts (the mapper's).
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

from isamap.errors import KernelError
from isamap.ir import Access, Kernel, Role, map_accesses

from .variant import Rewrite


def turn(kernel: Kernel, temporary: str, order: tuple[int, ...]) -> Kernel:
    """Store a temporary with its dimensions in another order.

    `T[i, j] = a; D[i] += T[i, j]` becomes `T[j, i] = a; D[i] += T[j, i]` by the order (1, 0).

    Args:
        kernel: any verified kernel.
        temporary: a TEMP buffer.
        order: for each new dimension the old one.

    Raises:
        KernelError: no such temporary or order.

    Source: array permutation (Cierniak and Li, PLDI 1995); derived here.
    """
    buffer = next((b for b in kernel.buffers if b.name == temporary), None)
    if buffer is None or buffer.role is not Role.TEMP:
        raise KernelError(f"kernel {kernel.name!r} has no temporary {temporary!r}")
    if sorted(order) != list(range(len(buffer.shape))):
        raise KernelError(f"{order} does not order the {len(buffer.shape)} dimensions of it")

    def turned(access: Access) -> Access:
        if access.buffer != temporary:
            return access
        return replace(access, indices=tuple(access.indices[d] for d in order))

    shape = tuple(buffer.shape[d] for d in order)
    return replace(
        kernel,
        buffers=tuple(replace(b, shape=shape) if b is buffer else b for b in kernel.buffers),
        statements=tuple(
            replace(s, target=turned(s.target), value=map_accesses(s.value, turned))
            for s in kernel.statements
        ),
    )


def turn_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every temporary in every other order."""
    for buffer in kernel.buffers:
        rank = len(buffer.shape)
        for order in permutations(range(rank)) if buffer.role is Role.TEMP else ():
            if order != tuple(range(rank)):
                yield turn_site(buffer.name, order), turn(kernel, buffer.name, order)


def turn_site(temporary: str, order: tuple[int, ...]) -> str:
    """How the site of an application is called."""
    return f"{temporary} by {', '.join(map(str, order))}"


TURN = Rewrite("turn", "T[i, j] = e; s(T[i, j]) = T[j, i] = e; s(T[j, i])", False, turn_sites)
