"""Which core a call belongs to, and all the cores it acts on.

In: the loops around a call, the machine. Out: a `Site`, or a ProgramError. Not its job: anything
on a machine without cores beyond saying so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

from isamap.errors import ProgramError, closest
from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Affine
from isamap.program import For, Spread

# the loops around a call that are spread over cores: name, largest extent, how
SpreadLoops = tuple[tuple[str, int, Spread], ...]


@dataclass(frozen=True, slots=True)
class Site:
    """The number of a call's core, affine in the loops around it; `reach`: what is added to it for
    every core that the call acts on, 0 alone but for multicasts."""

    core: Affine = Affine()
    reach: tuple[int, ...] = (0,)


def find_site(instruction: Instruction, loops: SpreadLoops, hardware: Hardware) -> Site:
    """The site of a call that passed `check_site`."""
    if hardware.cores is None:
        return Site()
    steps = dict(hardware.cores.steps)
    core = Affine.of((name, spread.step * steps[spread.axis]) for name, _, spread in loops)
    sizes = dict(hardware.cores.axes)
    spans = [range(0, sizes[a] * steps[a], steps[a]) for a in instruction.multicast]
    return Site(core, tuple(sum(offsets) for offsets in product(*spans)))


def check_spread(loop: For, most: int, outside: SpreadLoops, hardware: Hardware) -> None:
    """Is a spread loop's axis one of the machine's, and long enough for all positions?"""
    spread = loop.spread
    if spread is None:
        return
    where = f"loop {loop.loop!r}"
    sizes = dict(hardware.cores.axes) if hardware.cores else {}
    if spread.axis not in sizes:
        what = f"{hardware.name!r} has no axis {spread.axis!r} of cores"
        raise ProgramError(f"{where}: {what}", hint=closest(spread.axis, list(sizes)))
    if spread.step < 1:
        raise ProgramError(f"{where}: cores {spread.step} apart, expected at least 1")
    inner = (*outside, (loop.loop, most, spread))
    last = sum((n - 1) * s.step for _, n, s in inner if s.axis == spread.axis)
    if last >= sizes[spread.axis]:
        raise ProgramError(
            f"{where}: reaches core {last} along {spread.axis!r}, which has {sizes[spread.axis]}"
        )


def check_site(instruction: Instruction, loops: SpreadLoops) -> None:
    """A multicast is outside the loops that are spread over its axes."""
    for name, _, spread in loops:
        if spread.axis in instruction.multicast:
            raise ProgramError(
                f"call of {instruction.name!r}: writes to all cores along {spread.axis!r},"
                f" but is inside loop {name!r}, which is spread over them",
                hint="move the call out of the loop, or use an instruction for one core",
            )


def num_queues(hardware: Hardware, channel: int) -> int:
    """Queues that a channel has: one per core if one of its ends is the core's own."""
    ends = hardware.channels[channel]
    return max(hardware.num_copies(ends.source_unit), hardware.num_copies(ends.target_unit))


def touched_copies(hardware: Hardware, name: str, core: int, reach: tuple[int, ...]) -> list[int]:
    """Numbers of the copies of a memory or unit that a call of `core` acts on."""
    return [core + offset for offset in reach] if hardware.num_copies(name) > 1 else [0]


def used_cores(site: Site, loops: Mapping[str, int]) -> set[int]:
    """Numbers of all cores that the iterations of the loops (largest extents) can reach."""
    found = {site.core.constant}
    for name, step in site.core.terms:
        found = {core + step * value for core in found for value in range(loops[name])}
    return found
