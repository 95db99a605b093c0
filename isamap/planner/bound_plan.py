"""What no program of a plan's coverings goes below.

In: a kernel, how its tasks run, the machine. Out: cycles, and the unit or port that limits. Not its
job: bounds of one task (`costmodels`).
"""

from dataclasses import replace
from math import ceil

from isamap.costmodels import (
    Load,
    busiest,
    compulsory_bytes,
    least_load,
    least_occupancy,
    port_cycles,
)
from isamap.hwdesc import Hardware
from isamap.ir import Buffer, Kernel, Role, Statement

from .held_load import held_load
from .plan import PlannedTask


def bound_plan(kernel: Kernel, planned: tuple[PlannedTask, ...], hw: Hardware) -> tuple[int, str]:
    """The busiest unit or port with the least work of every task, what no memory holds over time
    steps included, the memory through which blocks pass longest, or the compulsory traffic; and
    which."""
    loads = []
    passing: dict[str, float] = {}
    for task in planned:
        if task.on_host:
            assert hw.host is not None, "only a host runs such tasks"
            loads.append(Load(((hw.host.unit, float(task.cycles)),), ()))
        else:
            best = task.best
            loads.append(least_load(best.covering, best.work))
            for memory, cycles in least_occupancy(best.covering, best.work, hw):
                passing[memory] = passing.get(memory, 0.0) + cycles
    loads += held_load(planned, hw)
    ports = port_cycles(hw, *_moved_bytes(kernel, planned))
    rows = [busiest(loads, hw), *((cycles, name) for name, cycles in ports)]
    rows += [(ceil(cycles), f"room of {memory}") for memory, cycles in passing.items()]
    return max(rows, key=lambda pair: pair[0])


def _moved_bytes(kernel: Kernel, planned: tuple[PlannedTask, ...]) -> tuple[int, int]:
    """Bytes that tasks off the host read at least from the external memory, and write.

    A buffer is read where the first of these tasks on it reads it, and written by one of them; the
    host's own accesses are part of its cycles.
    """
    statements = [s for task in planned if not task.on_host for s in task.task.statements]
    read = written = 0
    for buffer in kernel.buffers:
        users = [s for s in statements if buffer.name in s.touched]
        if buffer.role is Role.TEMP or not users:
            continue
        sizes = [_touched_bytes(s, buffer) for s in users if s.target.buffer == buffer.name]
        written += max(sizes, default=0)
        first = users[0]
        is_set = first.target.buffer == buffer.name and first.update == "="
        if buffer.role is not Role.OUT and not is_set:
            read += _touched_bytes(first, buffer)
    return read, written


def _touched_bytes(statement: Statement, buffer: Buffer) -> int:
    """Bytes of a buffer that a statement touches; 0 where it reads one place and writes another."""
    touched = {a for a in statement.accesses if a.buffer == buffer.name}
    if len(touched) > 1 and statement.target in touched:
        return 0
    alone = Kernel("touched", (replace(buffer, role=Role.IN),), (statement,))
    return compulsory_bytes(alone)[0]
