"""Cycles that traffic takes at the external memory's ports.

In: bytes read and written. Out: cycles per direction. Not its job: which bytes.
"""

from math import ceil

from isamap.hwdesc import Direction, Hardware


def port_cycles(hw: Hardware, read: int, written: int) -> tuple[tuple[str, int], ...]:
    """Least cycles per port of the external memory; several ports of one direction share the
    work."""
    rows = []
    ports = hw.external.ports
    both = [port for port in ports if port.direction is Direction.BOTH]
    for direction, moved in ((Direction.READ, read), (Direction.WRITE, written)):
        width = sum(p.bytes_per_cycle for p in ports if p.direction in (direction, Direction.BOTH))
        if width:
            rows.append((f"{hw.external.name} {direction.value}", ceil(moved / width)))
    if both and len(both) == len(ports):
        width = sum(port.bytes_per_cycle for port in both)
        rows.append((f"{hw.external.name} traffic", ceil((read + written) / width)))
    return tuple(rows)
