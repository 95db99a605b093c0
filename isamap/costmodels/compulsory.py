"""Bytes of the external memory that every program touches.

In: a kernel. Out: bytes read and written at least once. Not its job: reading again what the chip
has no room for (`io_bound`).
"""

from itertools import product

from isamap.ir import Access, Kernel, size_bytes


def compulsory_bytes(kernel: Kernel) -> tuple[int, int]:
    """Bytes of the external memory that any program of the kernel reads at least, and writes."""
    read = written = 0
    for buffer in kernel.buffers:
        touched = _touched_elements(kernel, buffer.name) * size_bytes(buffer.dtype)
        if buffer.role.is_given:
            read += touched
        if buffer.role.is_returned:
            written += touched
    return read, written


def _touched_elements(kernel: Kernel, name: str) -> int:
    """A lower bound on the elements of a buffer that the kernel touches: of its best single
    access."""
    most = 0
    shape = kernel.buffer(name).shape
    for statement in kernel.statements:
        extents = statement.extents
        for access in statement.accesses:
            if access.buffer == name:
                most = max(most, _distinct(access, extents, shape))
    return most


def _distinct(access: Access, extents: dict[str, int], shape: tuple[int, ...]) -> int:
    """Distinct in-bounds positions; dimensions that share a loop count once (the largest alone)."""
    names = [set(index.names) for index in access.indices]
    is_shared = any(a & b for i, a in enumerate(names) for b in names[i + 1 :])
    counts = []
    for index, size in zip(access.indices, shape, strict=True):
        loops = [(c, extents[n]) for n, c in index.terms]
        if len(loops) == 1 and loops[0][0] == 1 and index.constant == 0:
            counts.append(min(loops[0][1], size))
            continue
        ranges = [range(0, c * e, c) if c > 0 else range(0, c * e, c) for c, e in loops]
        values = {index.constant + sum(point) for point in product(*ranges)}
        counts.append(sum(0 <= value < size for value in values))
    if is_shared:
        return max(counts, default=1)
    total = 1
    for count in counts:
        total *= count
    return total
