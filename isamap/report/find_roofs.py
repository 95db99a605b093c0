"""Roofs over a program: what its units and its memories' ports allow at most.

In: a Trace, how many operations the kernel has. Out: Roofs. Not its job: drawing them; bounds of
other programs (`costmodels`).
"""

from dataclasses import dataclass
from math import prod

from isamap.emulator import Trace
from isamap.hwdesc import Direction, Hardware, Instruction, count_applied


@dataclass(frozen=True, slots=True)
class UnitRoof:
    """Operations per cycle of a unit's best instruction, on all instances and cores."""

    unit: str
    instruction: str
    operations_per_cycle: float


@dataclass(frozen=True, slots=True)
class MemoryRoof:
    """Bytes per cycle of a memory's ports for the program's reads and writes, and the bytes."""

    memory: str
    bytes_per_cycle: float
    moved_bytes: int


@dataclass(frozen=True, slots=True)
class Roofs:
    """`operations`: of the kernel (casts excepted); `least_bytes`: of external traffic that no
    program goes below, where it is known."""

    operations: int
    cycles: int
    units: tuple[UnitRoof, ...]
    memories: tuple[MemoryRoof, ...]
    least_bytes: int | None


def find_roofs(trace: Trace, operations: int, least_bytes: int | None) -> Roofs:
    """Of the units and memories that the program uses."""
    used = [trace.hardware.instruction(name) for name, _ in trace.timing.calls]
    best: dict[str, UnitRoof] = {}
    for instruction in used:
        rate = _rate(instruction, trace.hardware)
        known = best.get(instruction.unit)
        if rate and (known is None or rate > known.operations_per_cycle):
            best[instruction.unit] = UnitRoof(instruction.unit, instruction.name, rate)
    memories = [
        MemoryRoof(row.memory, rate, row.read_bytes + row.written_bytes)
        for row in trace.timing.traffic
        if (rate := _bandwidth(row.memory, trace.hardware, row.read_bytes, row.written_bytes))
    ]
    units = tuple(sorted(best.values(), key=lambda roof: -roof.operations_per_cycle))
    return Roofs(operations, trace.timing.cycles, units, tuple(memories), least_bytes)


def _rate(instruction: Instruction, hw: Hardware) -> float:
    """Operations per cycle of calls as large as can be; 0 of copies."""
    most = {name: rule.maximum for name, rule in instruction.extents}
    repeats = {rule.name: rule.maximum for rule in instruction.repeats}
    issue = instruction.issue_cycles
    cycles = issue.evaluate({name: (most | repeats)[name] for name in issue.names})
    in_one = count_applied(instruction.semantics) * prod(repeats.values())
    count = hw.num_units(instruction.unit)
    return in_one / max(1, cycles) * count * hw.num_copies(instruction.unit)


def _bandwidth(name: str, hw: Hardware, read_bytes: int, written_bytes: int) -> float:
    """Bytes per cycle if ports were all that limits; 0 without ports or traffic."""
    rates = dict.fromkeys(Direction, 0.0)
    for port in hw.memory(name).ports:
        rates[port.direction] += port.bytes_per_cycle * hw.num_copies(name)
    read, write, both = (rates[d] for d in (Direction.READ, Direction.WRITE, Direction.BOTH))
    moved = [(read_bytes, read + both), (written_bytes, write + both)]
    moved = [(size, rate) for size, rate in moved if size and rate]  # others cost nothing
    total = sum(size for size, _ in moved)
    if not total:
        return 0.0
    cycles = max(*(size / rate for size, rate in moved), total / (read + write + both))
    return total / cycles
