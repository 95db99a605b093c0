"""A lower bound that no program of any covering can beat.

In: a kernel, a machine. Out: cycles below which no program that the mapper can lead to finishes the
kernel, and what limits. Not its job: schedules.

Bound: every byte of the external memory that the kernel touches passes its ports once; and, for the
covering that needs least, every unit is busy for its calls and for one pass of each copy it must
run. Nothing is assumed about overlap, order or capacity.
"""

from dataclasses import dataclass
from itertools import product
from math import ceil

from isamap.hwdesc import Direction, Hardware
from isamap.ir import Access, Kernel, Role, accesses, size_bytes
from isamap.mapper import coverings, spread_coverings

from .aim import Costs
from .least import bound_cycles
from .work import count_work

MAX_COVERINGS = 50  # bounded one by one; real machines need a handful


@dataclass(frozen=True, slots=True)
class Roofline:
    """The bound and its parts; `limit` names the part that sets it.

    `unit_cycles`: of the busiest unit or port of the covering that needs least of it.
    """

    cycles: int
    unit_cycles: int
    port_cycles: tuple[tuple[str, int], ...]
    read_bytes: int
    written_bytes: int
    limit: str


def roofline(kernel: Kernel, hw: Hardware, *, may_reassociate: bool = False) -> Roofline:
    """The largest of the least covering's bound and each external port's compulsory traffic."""
    read, written = compulsory_bytes(kernel)
    ports = port_cycles(hw, read, written)
    least, unit = _least_covering(kernel, hw, may_reassociate)
    limit, cycles = max(((unit, least), *ports), key=lambda pair: pair[1])
    return Roofline(cycles, least, ports, read, written, limit)


def compulsory_bytes(kernel: Kernel) -> tuple[int, int]:
    """Bytes of the external memory that any program of the kernel reads at least, and writes."""
    read = written = 0
    for buffer in kernel.buffers:
        touched = _touched_elements(kernel, buffer.name) * size_bytes(buffer.dtype)
        if buffer.role in (Role.IN, Role.INOUT):
            read += touched
        if buffer.role in (Role.OUT, Role.INOUT):
            written += touched
    return read, written


def compulsory_costs(kernel: Kernel, hw: Hardware) -> Costs:
    """What every program costs that reads and writes each byte of the external memory once."""
    read, written = compulsory_bytes(kernel)
    energy = read * hw.external.read_energy_pj_per_byte
    energy += written * hw.external.write_energy_pj_per_byte
    return Costs(0, energy, read + written)


def _least_covering(kernel: Kernel, hw: Hardware, may_reassociate: bool) -> tuple[int, str]:
    """Smallest bound of all coverings, and the unit or port that sets it.

    The stream ascends in compute bounds, so it may stop at the first that is no smaller; after
    `MAX_COVERINGS` the next one's compute bound holds for it and all that follow.
    """
    best: tuple[int, str] | None = None
    stream = coverings(kernel, hw, [], may_reassociate=may_reassociate)
    for number, covering in enumerate(spread_coverings(stream, hw)):
        work = count_work(covering, hw)
        if best is not None and work.compute_cycles >= best[0]:
            break
        if best is not None and number >= MAX_COVERINGS:
            return work.compute_cycles, f"unit {work.compute_unit}"
        found = bound_cycles(covering, work, hw)
        if best is None or found[0] < best[0]:
            best = found
    return best or (0, "")


def port_cycles(hw: Hardware, read: int, written: int) -> tuple[tuple[str, int], ...]:
    """Least cycles per port of the external memory; several ports of one direction share the
    work."""
    rows = []
    ports = hw.external.ports
    both = [port for port in ports if port.direction is Direction.BOTH]
    for direction, moved in ((Direction.READ, read), (Direction.WRITE, written)):
        width = sum(p.bytes_per_cycle for p in ports if p.direction in (direction, Direction.BOTH))
        if width:
            rows.append((f"{hw.external.name} {direction.value}", ceil(moved / width)))
    if both and len(both) == len(ports):
        width = sum(port.bytes_per_cycle for port in both)
        rows.append((f"{hw.external.name} traffic", ceil((read + written) / width)))
    return tuple(rows)


def _touched_elements(kernel: Kernel, name: str) -> int:
    """A lower bound on the elements of a buffer that the kernel touches: of its best single
    access."""
    most = 0
    shape = kernel.buffer(name).shape
    for statement in kernel.statements:
        extents = {loop.name: loop.extent for loop in statement.loops}
        for access in (statement.target, *accesses(statement.value)):
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
