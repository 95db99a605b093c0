"""Bytes that calls move, cycles of ports and the energy they take, as the emulator counts them.

In: an instruction, how many calls have which extents. Out: bytes per memory, cycles per port,
picojoules. Not its job: how many calls there are (`work`), how often a flow is repeated (`passes`).

Contract: docs/timing.md, sections 5 and 6. A hardware loop counts once per round, so calls are
priced one round at a time.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import ceil

from isamap.emulator import deal_ports, find_regions
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Affine
from isamap.program import Address, Issue, Operand, Repeat, Span

CallClass = tuple[float, Mapping[str, int]]  # how many calls, their extents by loop and repeat
Port = tuple[str, str]  # memory, port
# a call's extents; loops whose extent changes; per operand, loops over which it stays
CallShape = tuple[
    tuple[tuple[str, int], ...], tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...]
]
KNOWN = 2**14  # calls of which that is remembered
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
        call = _call(instruction, values, hw, partial, still)
        for memory, num_bytes, is_read, is_written in call.touched:
            moved = times * num_bytes
            if is_read:
                read[memory] = read.get(memory, 0.0) + moved
            if is_written:
                written[memory] = written.get(memory, 0.0) + moved
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
        for port, moved, width in _call(instruction, values, hw, partial, still).passing:
            busy = times * moved / width if instruction.repeats else times * ceil(moved / width)
            cycles[port] = cycles.get(port, 0.0) + busy
    return tuple(cycles.items())


@dataclass(frozen=True, slots=True)
class _Call:
    """Of one call: bytes of each region with its memory, whether they are read and written; bytes
    that pass each port, and how many may in a cycle."""

    touched: tuple[tuple[str, int, bool, bool], ...]
    passing: tuple[tuple[Port, int, float], ...]


def _call(
    instruction: Instruction,
    values: Mapping[str, int],
    hw: Hardware,
    partial: Collection[str],
    still: Mapping[str, Collection[str]],
) -> _Call:
    """Of a call of these extents; repeats are taken to run once."""
    lying = tuple([(operand, tuple(loops)) for operand, loops in still.items()])
    shape = tuple(values.items()), tuple(partial), lying
    if hw.has(instruction):
        return _known_call(instruction.name, hw, shape)
    return _look_at_call(instruction, hw, shape)  # one that the host computes


@lru_cache(KNOWN)  # coverings have most of their copies in common
def _known_call(name: str, hw: Hardware, shape: CallShape) -> _Call:
    return _look_at_call(hw.instruction(name), hw, shape)


def _look_at_call(instruction: Instruction, hw: Hardware, shape: CallShape) -> _Call:
    values, partial, still = shape
    issue = _example(instruction, dict(values), partial, dict(still))
    regions = find_regions(instruction, issue)
    once = {**dict(values), **{r.name: 1 for r in issue.repeats}}
    sizes = [region.num_bytes(once) for region in regions]
    touched = [(r.memory, n, r.is_read, r.is_written) for r, n in zip(regions, sizes, strict=True)]
    passing: list[tuple[Port, int, float]] = []
    for (memory, port), dealt in deal_ports(regions, hw).items():
        width = next(p for p in hw.memory(memory).ports if p.name == port).bytes_per_cycle
        passing.append(((memory, port), sum(sizes[number] for number in dealt), width))
    return _Call(tuple(touched), tuple(passing))


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
