"""What good tilings come near where caches decide.

In: a covering, its work, the machine. Out: cycles. Not its job: a proven bound (`least`).
"""

from math import prod

from isamap.hwdesc import Hardware, Memory
from isamap.ir import size_bytes
from isamap.mapper import Covering, OperandPlan

from .least import least_costs
from .missing_share import missing_share
from .work import Work


def ideal_cycles(covering: Covering, work: Work, hw: Hardware) -> float:
    """Cycles of calls that wait for nothing, beside refills of caches with every array once: once
    per round of the held loops where they cannot keep all that a round reads.

    Arrays overlap in windows and lie in lines, so some tilings take less by a few parts in a
    hundred.
    """
    arrays = sum(_round_bytes(covering, p) for p in covering.operands if p.name not in work.there)
    rounds = prod(covering.loop(name).extent for name in covering.held)
    refills = [rounds * _refill_cycles(arrays, cache) for cache in hw.caches]
    beside = [least_costs(covering, work, hw).cycles, *refills]
    shown = hw.caches[0].refills_shown_share if hw.caches else 0.0
    return max(beside) + shown * (sum(beside) - max(beside))


def _round_bytes(covering: Covering, plan: OperandPlan) -> int:
    """Of the operand's elements that one round of the held loops touches."""
    extents = {x.name: 1 if x.is_held else x.extent for x in covering.loops}
    touched = (
        axis.extent(extents) if axis.is_window else prod(extents[name] for name in axis.loops)
        for axis in plan.axes
    )
    return size_bytes(plan.dtype) * prod(touched)


def _refill_cycles(arrays: int, cache: Memory) -> float:
    crowding = arrays / cache.size_bytes
    if crowding <= 1.0:
        return 0.0
    share = missing_share(crowding) if cache.replaces_at_random else 1.0
    return share * arrays / cache.refill_bytes_per_cycle
