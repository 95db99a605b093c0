"""Cycles that traffic takes at the external memory's ports.

In: bytes read and written. Out: cycles per direction. Not its job: which bytes.
"""

from collections.abc import Sequence
from math import ceil

from isamap.hwdesc import Direction, Hardware, Port

from .outlast import outlasting_cycles


def port_cycles(hw: Hardware, read: int, written: int) -> tuple[tuple[str, int], ...]:
    """Least cycles of programs with so much traffic, per direction of the external memory; several
    ports of one direction share the work."""
    rows = []
    ports = hw.external.ports
    both = [port for port in ports if port.direction is Direction.BOTH]
    for direction, moved in ((Direction.READ, read), (Direction.WRITE, written)):
        fitting = [port for port in ports if port.direction in (direction, Direction.BOTH)]
        if fitting:
            rows.append((f"{hw.external.name} {direction.value}", _least(hw, fitting, moved)))
    if both and len(both) == len(ports):
        rows.append((f"{hw.external.name} traffic", _least(hw, both, read + written)))
    return tuple(rows)


def _least(hw: Hardware, ports: Sequence[Port], moved: int) -> int:
    """Until ports have moved so many bytes, less what they move when the last calls are over."""
    late = outlasting_cycles(hw)
    name = hw.external.name
    after = sum(late.get((name, port.name), 0.0) * port.bytes_per_cycle for port in ports)
    return max(0, ceil((moved - after) / sum(port.bytes_per_cycle for port in ports)))
