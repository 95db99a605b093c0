"""Bytes that calls move, cycles of ports and the energy they take, as the emulator counts them.

In: an instruction, how many calls have which extents. Out: bytes per memory, cycles per port,
picojoules. Not its job: how many calls there are (`work`), how often a flow is repeated (`passes`).

Contract: docs/timing.md, sections 5 and 6. A hardware loop counts once per round, so calls are
priced one round at a time.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from isamap.emulator import deal_ports, find_regions
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Affine
from isamap.program import Address, Issue, Operand, Repeat, Span

CallClass = tuple[float, Mapping[str, int]]  # how many calls, their extents by loop and repeat
Port = tuple[str, str]  # memory, port
ENERGY_STEPS = 10**6  # the emulator rounds a call's own energy up to millionths of a picojoule


@dataclass(frozen=True, slots=True)
class Moved:
    """What calls move: bytes read from and written to each memory, all energy in picojoules."""

    read_bytes: tuple[tuple[str, float], ...] = ()
    written_bytes: tuple[tuple[str, float], ...] = ()
    energy_pj: float = 0.0

    def external_bytes(self, hw: Hardware) -> float:
        """Bytes in either direction at the external memory."""
        name = hw.external.name
        return dict(self.read_bytes).get(name, 0.0) + dict(self.written_bytes).get(name, 0.0)


def count_moved(
    instruction: Instruction,
    classes: Iterable[CallClass],
    hw: Hardware,
    *,
    partial: Collection[str] = (),
    still: Mapping[str, Collection[str]] = {},
) -> Moved:
    """What calls of an instruction move together.

    Args:
        classes: extents of every loop; repeats are taken to run once.
        partial: loops whose extent is not the same in every call of the program.
        still: per operand, loops over which it stays where it is (one element, read once).
    """
    read: dict[str, float] = {}
    written: dict[str, float] = {}
    energy = 0.0
    for times, values in classes:
        issue = _example(instruction, values, partial, still)
        for region in find_regions(instruction, issue):
            moved = times * region.num_bytes({**values, **{r.name: 1 for r in issue.repeats}})
            if region.is_read:
                read[region.memory] = read.get(region.memory, 0.0) + moved
            if region.is_written:
                written[region.memory] = written.get(region.memory, 0.0) + moved
        if instruction.energy_pj is not None:
            steps = instruction.energy_pj.scaled(ENERGY_STEPS).evaluate(values)
            energy += times * steps / ENERGY_STEPS
    for name, moved in read.items():
        energy += moved * hw.memory(name).read_energy_pj_per_byte
    for name, moved in written.items():
        energy += moved * hw.memory(name).write_energy_pj_per_byte
    return Moved(tuple(read.items()), tuple(written.items()), energy)


def count_ports(
    instruction: Instruction,
    classes: Iterable[CallClass],
    hw: Hardware,
    *,
    partial: Collection[str] = (),
    still: Mapping[str, Collection[str]] = {},
) -> tuple[tuple[Port, float], ...]:
    """Cycles in which calls of an instruction keep each port busy; arguments as above.

    The emulator rounds up once a call: what a round of a hardware loop takes is not rounded, else
    it would be a cycle too long as often as there are rounds.
    """
    cycles: dict[Port, float] = {}
    for times, values in classes:
        issue = _example(instruction, values, partial, still)
        regions = find_regions(instruction, issue)
        once = {**values, **{r.name: 1 for r in issue.repeats}}
        for (memory, name), dealt in deal_ports(regions, hw).items():
            moved = sum(regions[number].num_bytes(once) for number in dealt)
            width = next(p for p in hw.memory(memory).ports if p.name == name).bytes_per_cycle
            key = memory, name
            busy = times * moved / width if instruction.repeats else times * ceil(moved / width)
            cycles[key] = cycles.get(key, 0.0) + busy
    return tuple(cycles.items())


def _example(
    instruction: Instruction,
    values: Mapping[str, int],
    partial: Collection[str],
    still: Mapping[str, Collection[str]],
) -> Issue:
    """A call with these extents; of strides only whether they are zero matters."""
    operands = []
    for rule in instruction.operands:
        loops = set(still.get(rule.name, ()))
        indices = instruction.access(rule.name).indices
        strides = tuple(int(not index.names or not set(index.names) <= loops) for index in indices)
        operands.append(Operand(rule.name, rule.memory, Address(Affine()), strides))
    extents = tuple(
        (name, Span(values[name], values[name]) if name in partial else Span(values[name]))
        for name, _ in instruction.extents
    )
    repeats = tuple(
        Repeat(rule.name, Span(1), (0,) * len(operands)) for rule in instruction.repeats
    )
    return Issue(instruction.name, tuple(operands), extents, repeats)


def add_up_moved(parts: Iterable[tuple[float, Moved]]) -> Moved:
    """The sum of parts, each so many times."""
    read: dict[str, float] = {}
    written: dict[str, float] = {}
    energy = 0.0
    for times, part in parts:
        energy += times * part.energy_pj
        for totals, rows in ((read, part.read_bytes), (written, part.written_bytes)):
            for name, moved in rows:
                totals[name] = totals.get(name, 0.0) + times * moved
    return Moved(tuple(read.items()), tuple(written.items()), energy)
