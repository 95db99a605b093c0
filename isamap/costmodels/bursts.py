"""Fetches that happen only once in several tiles, and take longer than one of them leaves time for.

In: a covering, its work, a tiling, the machine. Out: cycles that are not hidden. Not its job: what
happens with every tile (`waiting`, `rounds`).
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .flow import Flow
from .passes import flow_cycles, stay_of
from .tiling import Tiling, guards, trips
from .work import Work


def burst_cycles(
    covering: Covering, work: Work, tiling: Tiling, flows: list[Flow], hw: Hardware
) -> float:
    """What a fetch that happens only once in several tiles of computing exceeds the slack of one of
    them by, in all."""
    fill = next((f for f in flows if not f.is_drain), None)
    return excess_of_bursts(covering, work, tiling, fill, work.shared_cycles, hw) if fill else 0.0


def excess_of_bursts(
    covering: Covering, work: Work, tiling: Tiling, fill: Flow, cycles: float, hw: Hardware
) -> float:
    """What a flow's fetches, each only once in several tiles, exceed the slack of one of these by,
    in all: all tiles take so many `cycles` without it."""
    rests = guards(covering, tiling, stay_of(tiling, fill)).outer
    kept = prod(trips(covering, tiling, name) for name in rests)
    if kept == 1:
        return 0.0
    count = hw.num_units(fill.unit)
    others = sum(
        flow_cycles(covering, tiling, f) / count
        for f in work.flows
        if f.unit == fill.unit and f != fill
    )
    moved = flow_cycles(covering, tiling, fill) / count
    return max(0.0, moved - max(0.0, cycles - others) / kept)
