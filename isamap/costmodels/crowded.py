"""What tiles in inner memories cost: the room, and waiting where their queue cannot run ahead.

In: a covering, its work, a tiling, the machine. Out: cycles that are charged, cycles that the
compute unit waits. Not its job: what a stay waits for by itself (`waiting`).

A tile in an inner memory is fetched block by block in the first sweep over it, where each call
needs one. A queue that also brings single blocks has no more of these ahead than there are slots,
and so nothing of the tile: while later sweeps leave it time, it waits for slots. What a block takes
longer than a call is waited for every time. (What little is ahead is not taken off.) Derived here.
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .flow import Flow
from .passes import flow_passes, is_renamed, stay_of
from .tiling import Tiling
from .work import Work

# Of computing, for every tile that an inner memory holds: what else could have lain there is worth
# nothing here. Without it such tiles won ties on nvidia_hopper_mma, where the emulator then counted
# up to 30 % more, as sums in the same memory had one slot instead of two: estimate.
INNER_LOSS = 2**8


def inner_tile_cycles(work: Work, hw: Hardware) -> float:
    """Cycles that are charged for each tile in an inner memory; none where nothing else may lie
    there, as tokens order whole tiles."""
    return 0.0 if hw.has_tokens else work.shared_cycles / INNER_LOSS


def count_inner_tiles(covering: Covering, tiling: Tiling) -> int:
    """Stays that hold tiles of what another memory on chip holds tiles of as well."""
    return sum(
        stay.level > 0 and stay.residence < len(covering.operand(stay.operand).residences) - 1
        for stay in tiling.stays
    )


def crowded_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Waiting for all tiles in inner memories."""
    waiting = 0.0
    for flow in work.flows:
        if not is_inner_fill(covering, work, flow) or not stay_of(tiling, flow).level:
            continue
        crowd = fills_beside(covering, work, flow, hw)
        if any(not stay_of(tiling, other).level for other in crowd):
            excess = excess_cycles(covering, work, flow, hw)
            waiting += excess * flow_passes(covering, tiling, flow)
    return waiting


def is_inner_fill(covering: Covering, work: Work, flow: Flow) -> bool:
    """Does it bring an input to a memory inside another one on chip?"""
    plan = covering.operand(flow.operand)
    is_inner = flow.residence < len(plan.residences) - 1
    return is_inner and not plan.is_output and flow.unit != work.compute_unit


def fills_beside(covering: Covering, work: Work, flow: Flow, hw: Hardware) -> tuple[Flow, ...]:
    """What the same queue brings to other stays whose slots it waits for."""
    return tuple(
        other
        for other in work.flows
        if other.unit == flow.unit and not other.is_drain
        if (other.operand, other.residence) != (flow.operand, flow.residence)
        if not is_renamed(covering.operand(other.operand), other.residence, hw)
    )


def excess_cycles(covering: Covering, work: Work, flow: Flow, hw: Hardware) -> float:
    """What a pass over the operand takes longer than one call per block."""
    count = hw.num_units(flow.unit)
    blocks = prod(covering.loop(name).units for name in covering.operand(flow.operand).loops)
    return max(0.0, flow.pass_cycles / count - blocks * work.call_cycles)
