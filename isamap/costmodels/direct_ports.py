"""Port cycles of the compute calls themselves: operands read where they lie.

In: a covering, the machine. Out: cycles per port over all calls. Not its job: copies (`work`).
"""

from collections.abc import Iterable
from math import ceil

from isamap.hwdesc import Direction, Hardware
from isamap.ir import size_bytes
from isamap.mapper import Covering

from .traffic import CallClass

Port = tuple[str, str]  # memory, port


def direct_ports(
    covering: Covering, classes: Iterable[CallClass], hw: Hardware
) -> tuple[tuple[Port, float], ...]:
    """What operands without residences take of the external memory's ports.

    `classes`: of the compute instruction's calls.
    """
    instruction = hw.instruction(covering.instruction)
    direct = [
        plan
        for plan in covering.operands
        if not plan.residences and plan.inlet is not None and plan.inlet.home is None
    ]
    cycles: dict[Port, float] = {}
    ports = [p for p in hw.external.ports if p.direction is not Direction.WRITE]
    for times, values in classes if direct and ports else ():
        moved = 0
        for plan in direct:
            count = size_bytes(plan.dtype)
            for index in instruction.access(plan.name).indices:
                for loop in index.names:
                    count *= values[loop]
            moved += count
        for port in ports:
            key = (hw.external.name, port.name)
            cycles[key] = cycles.get(key, 0.0) + times * ceil(moved / port.bytes_per_cycle)
    return tuple(cycles.items())
