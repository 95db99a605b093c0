"""Cycles before the computation runs at full pace, and after its last call.

In: a covering, its work, a tiling, the machine. Out: startup and finish. Not its job: what lies
around units and ports that are not the computation's (`ends`), all else (`analytical`).
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .ends import first_call_cycles, onward_cycles
from .exchange_waits import fill_paths, path_latency_cycles
from .flow import Flow
from .passes import fetches, moves_blocks, needs_one_slot, stay_of, tile_cycles
from .tiling import Stay, Tiling, last_units, tile_units, trips
from .work import Work


def startup_cycles(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, every: int
) -> float:
    """Cycles until the computation runs at full pace, calls following each other so soon: on each
    unit all first fetches in a row with what lies around them and the edge."""
    late = sum(
        tiling.tile(name) * late_rounds(covering, tiling, name)
        for name in late_sums(covering, tiling)
    )
    longest = max(
        (fill_cycles(covering, work, tiling, hw, unit, every) for unit in work.fill_units),
        default=0.0,
    )
    return longest + (late * slowest_block_cycles(covering, work, hw) if late else 0.0)


def fill_cycles(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, unit: str, every: int
) -> float:
    """Cycles from a fill unit's first fetch until a call may use it, with all first fetches. With
    tokens, tiles come whole from unit to unit."""
    if not hw.has_tokens:
        return first_call_cycles(work, unit) + fetched_cycles(
            covering, work, tiling, hw, unit, every
        )
    return max(
        path_latency_cycles(work, path)
        + sum(fetched_cycles(covering, work, tiling, hw, other, every) for other in path)
        for path in fill_paths(covering, work, hw)
        if path[-1] == unit
    )


def fetched_cycles(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, unit: str, every: int
) -> float:
    """All first fetches of a unit, and the edge."""
    return sum(
        first_fetch_cycles(covering, tiling, f, hw) + edge_cycles(covering, tiling, f, hw, every)
        for f in work.flows
        if f.unit == unit and not f.is_drain
    )


def late_sums(covering: Covering, tiling: Tiling) -> tuple[str, ...]:
    """Unit loops of sums inside other loops: the first round then fetches along the whole sum."""
    late: list[str] = []
    is_inside = False
    for name in tiling.inner:
        if tiling.tile(name) > 1:
            is_sum = covering.loop(name).is_reduction
            late += [name] if is_sum and is_inside else []
            is_inside = is_inside or not is_sum
    return tuple(late)


def late_rounds(covering: Covering, tiling: Tiling, name: str) -> int:
    """How often a late sum is fetched from its beginning: once per set of tiles that an input
    keeps along it; tiles that are not kept are fetched one ahead of the computation."""
    rounds = 1
    for stay in tiling.stays:
        plan = covering.operand(stay.operand)
        if name in stay.kept_tiles and not plan.is_output:
            sets = fetches(covering, tiling, stay)
            rounds = max(rounds, sets // prod(trips(covering, tiling, n) for n in stay.kept))
    return rounds


def slowest_block_cycles(covering: Covering, work: Work, hw: Hardware) -> float:
    """Longest fetch of a single input block into a tile, where blocks move one by one."""
    fetched = [
        flow.first_cycles
        for flow in work.flows
        if flow.residence == len(covering.operand(flow.operand).residences) - 1
        and not covering.operand(flow.operand).is_output
        and moves_blocks(covering, Stay(flow.operand, flow.residence, 1, 1), hw)
    ]
    return max(fetched, default=0.0)


def finish_cycles(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, every: int
) -> float:
    """Cycles from the last call's last issue slot to the last byte written, where calls follow each
    other so soon."""
    last = 0.0
    for flow in work.flows:
        exposed = needs_one_slot(covering.operand(flow.operand), hw)
        if (
            flow.is_drain and not exposed
        ):  # an exposed drain is waited for every time, the last included
            fetch = first_fetch_cycles(covering, tiling, flow, hw)
            edge = edge_cycles(covering, tiling, flow, hw, every)
            onward = onward_cycles(work, flow)
            for further in onward_tiles(work, flow, hw):
                onward = first_fetch_cycles(covering, tiling, further, hw) + further.latency_cycles
            last = max(last, fetch + flow.latency_cycles + edge + onward)
    return last + work.latency_cycles - work.issue_cycles


def onward_tiles(work: Work, flow: Flow, hw: Hardware) -> list[Flow]:
    """What takes the whole tile on from where a drain brought it: with tokens."""
    if not hw.has_tokens or flow.is_onward:
        return []
    return [f for f in work.flows_at(flow.operand, flow.residence) if f.is_onward]


def edge_cycles(covering: Covering, tiling: Tiling, flow: Flow, hw: Hardware, every: int) -> float:
    """What the first (last) tile of an output adds: its blocks all move within one pass over the
    tile.

    A pass computes one call per block, `every` so many cycles; moving a block takes longer than
    that when it is positive.
    Tiles kept side by side all drain during the last round of the loops that sum them up; the last
    block's own way out is counted apart.
    """
    stay = stay_of(tiling, flow)
    plan = covering.operand(flow.operand)
    if stay.level == 0 or not plan.is_output or not moves_blocks(covering, stay, hw):
        return 0.0
    blocks = prod(tiling.tile(loop) for loop in plan.loops)
    edge = (blocks - 1) * max(0.0, flow.first_cycles - every)
    if not flow.is_drain:
        return edge
    kept = prod(tile_units(covering, tiling, stay, loop) for loop in plan.loops)
    sums = prod(last_units(covering, tiling, x) for x in covering.loops if x.name not in plan.loops)
    return max(edge, (kept - 1) * (flow.first_cycles - every * sums))


def first_fetch_cycles(covering: Covering, tiling: Tiling, flow: Flow, hw: Hardware) -> float:
    """Cycles of one fetch: a block where blocks move one by one, else the whole tile."""
    stay = stay_of(tiling, flow)
    if moves_blocks(covering, stay, hw):
        return flow.first_cycles - flow.overlap_cycles
    return tile_cycles(covering, tiling, flow)
