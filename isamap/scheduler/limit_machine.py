"""Give a machine's memories less room, and see whether it says what an aim needs.

In: a machine, bytes per memory, an aim. Out: a machine with smaller memories, or the user's
mistake. Not its job: schedules.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import SupportsIndex

from isamap.costmodels import Aim, Metric
from isamap.errors import IsamapError, MappingError, closest, expect_mapping
from isamap.hwdesc import Hardware, Memory


def limit_machine(hw: Hardware, max_bytes: Mapping[str, int]) -> Hardware:
    """The machine with at most so many bytes in some memories, rounded down to whole granules.

    Raises:
        IsamapError: no such memory, or not even one granule.
    """
    expect_mapping("max_bytes", max_bytes, {hw.memories[-1].name: 65536})
    names = [memory.name for memory in hw.memories]
    for name, most in max_bytes.items():
        if name not in names:
            hint = closest(name, names) or f"memories are {', '.join(names)}"
            raise IsamapError(f"{hw.name} has no memory {name!r}", hint=hint)
        if not isinstance(most, SupportsIndex):
            raise IsamapError(f"max_bytes of {name!r} is {most!r}, expected a number of bytes")
        granule = hw.memory(name).granule_bytes
        if most < granule:
            raise IsamapError(
                f"{most} bytes of {name!r} are less than one granule of {granule} bytes",
                hint=f"give at least {granule} bytes",
            )
    return replace(hw, memories=tuple(_limited(m, max_bytes.get(m.name)) for m in hw.memories))


def _limited(memory: Memory, most: int | None) -> Memory:
    if most is None or most >= memory.size_bytes:
        return memory
    return replace(memory, size_bytes=most // memory.granule_bytes * memory.granule_bytes)


def check_aim(aim: Aim, hw: Hardware) -> None:
    """An aim about energy needs a machine that says what takes energy.

    Raises:
        MappingError: it does not, or it is no aim.
    """
    if not isinstance(aim, Aim):
        raise MappingError(f"aim={aim!r}, expected an Aim", hint="Aim.least(Metric.ENERGY)")
    energies = [m.read_energy_pj_per_byte + m.write_energy_pj_per_byte for m in hw.memories]
    if (aim.uses(Metric.ENERGY) or aim.uses(Metric.EDP)) and not any(energies):
        raise MappingError(
            f"{hw.name} says nothing about energy",
            hint="give its memories read_energy and write_energy, its instructions energy",
        )


def without(hw: Hardware, taken: Mapping[str, int]) -> Hardware:
    """The machine with so many bytes less in some of its memories."""
    memories = tuple(
        replace(m, size_bytes=max(0, m.size_bytes - taken.get(m.name, 0))) for m in hw.memories
    )
    return replace(hw, memories=memories) if taken else hw
