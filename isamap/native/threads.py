"""A machine of one core as one of several threads.

In: a machine whose programs run on this processor, a number of threads. Out: the machine with so
many cores. Not its job: how work is shared out (the scheduler's), the C of it (`codegen`).
"""

from dataclasses import replace
from typing import SupportsIndex

from isamap.errors import IsamapError
from isamap.hwdesc import Cores, Hardware, MemoryKind

AXIS = "thread"
MOST = 256


def on_threads(hw: Hardware, threads: int) -> Hardware:
    """Each thread has the machine's managed memories and units for itself, but for the host's;
    caches and the external memory are shared.

    Raises:
        IsamapError: the machine says itself what cores it has, or that is no number of threads.
    """
    if not isinstance(threads, SupportsIndex) or not 1 <= threads <= MOST:
        raise IsamapError(f"{threads} threads are wanted, expected 1 to {MOST}")
    if threads == 1:
        return hw
    if hw.cores is not None:
        raise IsamapError(
            f"{hw.name} has {hw.num_cores} cores by its own description",
            hint="threads are for machines of one core",
        )
    memories = tuple(m.name for m in hw.memories if m.kind is MemoryKind.MANAGED)
    host = hw.host.unit if hw.host is not None else ""
    units = tuple(unit.name for unit in hw.units if unit.name != host)
    return replace(hw, cores=Cores(((AXIS, threads),), memories, units))
