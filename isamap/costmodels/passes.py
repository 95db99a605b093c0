"""How often a tiling moves what, and in what pieces.

In: a covering, a tiling, a flow or stay. Out: counts and claims that every part of the closed form
uses. Not its job: cycles.
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, Residence, TileAxis

from .flow import Flow
from .tiling import Stay, Tiling, axis_extent, guards, trips


def stay_of(tiling: Tiling, flow: Flow) -> Stay:
    """The stay that a flow fills or drains."""
    return tiling.stay(flow.operand, flow.residence)


def flow_passes(covering: Covering, tiling: Tiling, flow: Flow) -> float:
    """How many full passes a flow makes (for windows: passes times positions, overlaps
    included)."""
    passes = guards(covering, tiling, stay_of(tiling, flow)).passes
    plan = covering.operand(flow.operand)
    if flow.is_again:
        return passes - 1
    if plan.residences[flow.residence].again and not flow.is_drain:
        return 1.0  # begun once
    for name in flow.windows:
        axis = plan.axis(name)
        counts = [trips(covering, tiling, loop) for loop in axis.loops]
        passes *= _positions(covering, axis, counts)
    return passes


def packs(covering: Covering, flow: Flow) -> bool:
    """Does the flow copy what a packed stay holds for many rounds (not unfinished sums)?"""
    residence = covering.operand(flow.operand).residences[flow.residence]
    return residence.is_packed and residence.again is None


def flow_cycles(covering: Covering, tiling: Tiling, flow: Flow) -> float:
    """Issue cycles of all calls of a flow."""
    return flow_passes(covering, tiling, flow) * paid_cycles(covering, tiling, flow)


def paid_cycles(covering: Covering, tiling: Tiling, flow: Flow) -> float:
    """Issue cycles of a flow's pass, with what calls cost that a tile does not fill."""
    cycles = flow.pass_cycles
    for name, lost in flow.short:
        axis = covering.operand(flow.operand).axis(name)
        counts = [trips(covering, tiling, loop) for loop in axis.loops]
        tile = axis_extent(covering, tiling, stay_of(tiling, flow), axis)
        more = lost[tile % len(lost)] * prod(counts)
        if axis.is_ribbon:  # the last tile, which may be shorter, is known
            last = covering.loop(axis.loops[0]).extent - (counts[0] - 1) * tile
            more += lost[last % len(lost)] - lost[tile % len(lost)]
        cycles *= 1 + more / _positions(covering, axis, counts)
    return cycles


def _positions(covering: Covering, axis: TileAxis, counts: list[int]) -> int:
    """Positions of a window axis over all tiles, overlaps counted every time."""
    total = prod(counts)
    for number, (loop, span) in enumerate(zip(axis.loops, axis.spans, strict=True)):
        others = prod(counts[:number] + counts[number + 1 :])
        total += span * (covering.loop(loop).extent - counts[number]) * others
    return total


def fetches(covering: Covering, tiling: Tiling, stay: Stay) -> int:
    """How often the stay's tile is replaced."""
    guard = guards(covering, tiling, stay)
    return prod(trips(covering, tiling, n) for n in tiling.outer if n not in guard.outer)


def is_replaced(covering: Covering, tiling: Tiling, stay: Stay) -> bool:
    """Does the stay ever hold different data?"""
    guard = guards(covering, tiling, stay)
    if guard.refetch_outer or guard.refetch_inner:
        return True
    moving = covering.operand(stay.operand).loops
    return any(
        (trips(covering, tiling, n) > 1 and n not in stay.kept)
        or (stay.level == 0 and tiling.tile(n) > 1)
        for n in moving
    )


def moves_blocks(covering: Covering, stay: Stay, hw: Hardware) -> bool:
    """Are blocks moved one by one inside the unit loops (else whole tiles before and after
    them)?"""
    plan = covering.operand(stay.operand)
    return stay.level == 0 or (not hw.has_tokens and not plan.has_window)


def needs_one_slot(plan: OperandPlan, hw: Hardware) -> bool:
    """Byte planes on a machine with tokens: credits and plane hand-overs share one channel."""
    if not hw.has_tokens:
        return False
    return any(map(leaves_in_planes, plan.residences))


def leaves_in_planes(residence: Residence) -> bool:
    """Is what lies there taken out in byte planes, handed to and fro meanwhile?"""
    return residence.drain is not None and residence.drain.planes > 1


def is_renamed(plan: OperandPlan, residence: int, hw: Hardware) -> bool:
    """Do writes into this residence never wait for earlier uses? Then nothing there is ever a
    slot to wait for."""
    return hw.memory(plan.residences[residence].memory).is_renamed


def may_double(plan: OperandPlan, residence: int, hw: Hardware) -> bool:
    """May a stay have two slots, and would they serve anything?"""
    waits = not hw.memory(plan.residences[residence].memory).never_waits
    return waits and not needs_one_slot(plan, hw)


def may_leave_late(plan: OperandPlan, residence: int) -> bool:
    """May a tile in one of several slots be drained behind the next tile's fills? It goes straight
    to where it ends, or as a whole through another memory, and no tile overlaps another one."""
    drain = plan.residences[residence].drain
    is_last = residence == len(plan.residences) - 1
    is_direct = drain is not None and (drain.onward is None or drain.onward.holds_tiles)
    is_direct = is_direct and not leaves_in_planes(plan.residences[residence])
    return is_last and is_direct and all(len(axis.loops) == 1 for axis in plan.axes)


def tile_cycles(covering: Covering, tiling: Tiling, flow: Flow) -> float:
    """Cycles to move a whole tile."""
    stay = stay_of(tiling, flow)
    plan = covering.operand(flow.operand)
    held = Stay(stay.operand, stay.residence, stay.level, 1)
    share = 1.0
    for axis in plan.axes:
        extent = axis_extent(covering, tiling, held, axis)
        share *= extent if axis.is_window else extent / covering.loop(axis.loops[0]).units
    return flow.pass_cycles * share
