"""What the emulator hands back.

In: nothing but these values. Out: frozen values. Not its job: computing them, printing them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class RunResult:
    """The outputs of a functional run, one array per output placement, by buffer name."""

    outputs: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class UnitTime:
    """`busy_cycles` summed over the unit's calls; `utilisation` is its share of cycles times unit
    count (and cores). `core_cycles`: the sum of each core's, where each has such units."""

    unit: str
    busy_cycles: int
    utilisation: float
    core_cycles: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PortTime:
    """How long a memory's port was reserved; of memories that each core has, the busiest
    core's."""

    memory: str
    port: str
    busy_cycles: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes that calls read from and wrote to a memory."""

    memory: str
    read_bytes: int
    written_bytes: int


@dataclass(frozen=True, slots=True)
class Timing:
    """A whole program's time (see docs/timing.md): `cycles` is the largest finish of any call.

    `calls`: instruction name and number of calls; `energy_pj`: memories' bytes plus instructions'
    own energy.
    """

    cycles: int
    unit_busy: tuple[UnitTime, ...]
    ports: tuple[PortTime, ...]
    traffic: tuple[Traffic, ...]
    calls: tuple[tuple[str, int], ...]
    energy_pj: float

    def moved(self, memory: str) -> Traffic:
        """Of one memory; each has its row."""
        return next(row for row in self.traffic if row.memory == memory)
