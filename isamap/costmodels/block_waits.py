"""Cycles that calls wait for single blocks, which are fetched while others are used.

In: a covering, its work, a tiling, the machine. Out: waiting per stay, or least waiting of all. Not
its job: tiles (`waiting`).
"""

from math import prod

from isamap.hwdesc import Hardware
from isamap.mapper import Covering, TiledLoop

from .flow import Flow
from .passes import is_renamed, is_replaced
from .tiling import Stay, Tiling, guards
from .work import Work


def shared_cycles(covering: Covering, work: Work, tiling: Tiling, hw: Hardware) -> float:
    """Least waiting where several units share the calls: a single block's place is taken until the
    last call that uses it is over, and so many calls as there are places run at a time."""
    waiting = 0.0
    for stay in tiling.stays if work.shares_calls else ():
        mine = work.flows_at(stay.operand, stay.residence)
        flows = [f for f in mine if f.unit != work.compute_unit]
        if not flows or stay.level:
            continue
        renamed = is_renamed(covering.operand(stay.operand), stay.residence, hw)
        if not renamed and is_replaced(covering, tiling, stay):
            stall = block_stall_cycles(covering, work, tiling, stay, flows, work.issue_cycles)
            waiting = max(waiting, stall)
    return waiting


def block_stall_cycles(
    covering: Covering, work: Work, tiling: Tiling, stay: Stay, flows: list[Flow], last: int
) -> float:
    """Waiting for single blocks (see `block_wait`), summed over all fetches; their `last` uses take
    so long.

    With one loop that reuses blocks, its last tile is counted as it is, shorter and with a partial
    last unit; with several, all tiles count as full.
    """
    plan = covering.operand(stay.operand)
    resting = [x for x in covering.loops if x.units > 1 and x.name not in plan.loops]
    kept = guards(covering, tiling, stay).inner
    if len(resting) == 1:
        name = resting[0].name
        tile = tiling.tile(name) if name in kept else 1
        waiting = sweep_wait(work, flows, stay.slots, resting[0], tile, last)
        return work.calls // resting[0].units * waiting
    uses = prod(tiling.tile(n) for n in kept)
    lasting = last - work.call_cycles
    return work.calls / uses * block_wait(flows, stay.slots, uses * work.call_cycles, lasting)


def block_wait(flows: list[Flow], slots: int, use_cycles: float, lasting: float = 0.0) -> float:
    """Waiting per fetch of a block that is then used for `use_cycles`, and beside the next block's
    uses for so many `lasting` ones.

    With s slots, s fetches take at least one latency and one use; no fetch is faster than its unit,
    and no new entry of a fifo memory may follow the one before it sooner than its distance.
    """
    latency, pace, turns = block_limits(flows, slots)
    waiting = (latency + lasting - (turns - 1) * use_cycles) / turns
    return max(0.0, waiting, pace - use_cycles)


def enough_slots(work: Work, flows: list[Flow], most: int) -> int:
    """Least number of slots, two or up to `most`, with which more of them save no waiting of calls
    that use a block each."""
    use, lasting = work.call_cycles, work.issue_cycles - work.call_cycles
    least = block_wait(flows, most, use, lasting)
    few = (s for s in range(2, most) if block_wait(flows, s, use, lasting) <= least)
    return next(few, max(2, most))


def block_limits(flows: list[Flow], slots: int) -> tuple[float, float, int]:
    """Latency of a single block's fetch, least cycles between two fetches, blocks in turn."""
    latency = sum(f.lead_cycles for f in flows)
    turns = max(slots, *(f.entries for f in flows))
    pace = max(f.first_cycles for f in flows) if turns > 1 else 0.0
    return latency, max(pace, *(f.entry_cycles for f in flows)), turns


def sweep_wait(
    work: Work, flows: list[Flow], slots: int, loop: TiledLoop, tile: int, last_use: int
) -> float:
    """Waiting during one sweep over `loop`, whose units reuse a block `tile` at a time, its last
    use taking so long."""
    call = work.call_cycles
    count = -(-loop.units // tile)
    last = loop.units - (count - 1) * tile
    rest = work.shared_out(dict(work.last_issues)[loop.name])
    full_wait = block_wait(flows, slots, tile * call, last_use - call) if count > 1 else 0.0
    lasting = (last_use - call) * rest / max(1, call)  # of a partial unit, as much less
    return (count - 1) * full_wait + block_wait(flows, slots, (last - 1) * call + rest, lasting)
