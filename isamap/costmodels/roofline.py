"""A lower bound that no program of any covering can beat.

In: a kernel, a machine. Out: cycles below which no program that the mapper can lead to finishes the
kernel, and what limits. Not its job: schedules.

Bound: every byte of the external memory that the kernel touches passes its ports once, and again as
often as the chip's room makes necessary (`io_bound`); and, for the covering that needs least, every
unit is busy for its calls and for one pass of each copy it must run, and calls that wait for each
other take their latencies. Nothing is assumed about overlap or order.
"""

from dataclasses import dataclass

from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import coverings, drop_exchanged, spread_coverings

from .aim import Costs
from .bounds import CRITICAL_PATH, critical_path
from .io_bound import least_traffic
from .least import bound_cycles
from .ports import port_cycles
from .repeats import least_shares
from .work import count_work

MAX_COVERINGS = 50  # bounded one by one; real machines need a handful


@dataclass(frozen=True, slots=True)
class Roofline:
    """The bound and its parts; `limit` names the part that sets it.

    `unit_cycles`: of the busiest unit or port, or the longest chain of calls, of the covering that
    needs least of it.
    """

    cycles: int
    unit_cycles: int
    port_cycles: tuple[tuple[str, int], ...]
    read_bytes: int
    written_bytes: int
    limit: str


def roofline(kernel: Kernel, hw: Hardware, *, may_reassociate: bool = False) -> Roofline:
    """The largest of the least covering's bound and each external port's least traffic."""
    read, written = least_traffic(kernel, hw)
    ports = port_cycles(hw, read, written)
    least, unit = _least_covering(kernel, hw, may_reassociate)
    limit, cycles = max(((unit, least), *ports), key=lambda pair: pair[1])
    return Roofline(cycles, least, ports, read, written, limit)


def floor_costs(kernel: Kernel, hw: Hardware) -> Costs:
    """What the external memory's traffic costs every program at least."""
    read, written = least_traffic(kernel, hw)
    energy = read * hw.external.read_energy_pj_per_byte
    energy += written * hw.external.write_energy_pj_per_byte
    return Costs(0, energy, read + written)


def _least_covering(kernel: Kernel, hw: Hardware, may_reassociate: bool) -> tuple[int, str]:
    """Smallest bound of all coverings, and the unit or port that sets it.

    The stream ascends in compute bounds, so it may stop at the first that is no smaller; after
    `MAX_COVERINGS` the next one's compute bound holds for it and all that follow.
    """
    best: tuple[int, str] | None = None
    floor_share = min(least_shares(hw).values())
    stream = coverings(kernel, hw, [], may_reassociate=may_reassociate)
    for number, covering in enumerate(spread_coverings(drop_exchanged(stream, hw), hw)):
        work = count_work(covering, hw)
        floor = floor_share * work.shared_cycles
        if best is not None and floor >= best[0]:
            break
        if best is not None and number >= MAX_COVERINGS:
            return int(floor), f"unit {work.compute_unit}"
        found = max(bound_cycles(covering, work, hw), (critical_path(covering, hw), CRITICAL_PATH))
        if best is None or found[0] < best[0]:
            best = found
    return best or (0, "")
