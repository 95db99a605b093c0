"""The space of tilings: tile sizes worth trying, levels, slots.

In: a covering, the machine. Out: options. Not its job: choosing among them, what else makes a
tiling legal (`legality`).
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import product

from isamap.costmodels import (
    Stay,
    Work,
    enough_slots,
    has_one_credit,
    is_renamed,
    may_double,
    moves_blocks,
    why_mixed_up,
    why_no_channel,
    why_no_ring,
)
from isamap.hwdesc import Hardware
from isamap.mapper import Covering, OperandPlan, TiledLoop, meets_itself

KNOWN = 1 << 10  # answers that are remembered: every tiling of a covering asks again
MAX_SLOTS = 16  # of single blocks


def tile_options(covering: Covering, loop: TiledLoop, hw: Hardware) -> tuple[tuple[int, int], ...]:
    """(tile, trips) pairs: for every possible number of trips the smallest tile that gives it.

    A larger tile with the same trips takes more room and saves nothing. Inside a sliding window
    whose other loop may end in a partial tile, only tiles that divide are offered, so that the
    window's end stays affine.
    """
    if loop.is_held or why_alone(covering, loop):
        return ((1, loop.units),)
    pairs = tuple(_distinct_trips(loop.units))
    if must_fill_shares(covering, loop, hw):
        pairs = tuple((tile, count) for tile, count in pairs if loop.units % tile == 0)
    if must_divide(covering, loop):
        is_even = not loop.is_partial
        pairs = tuple(
            (tile, count)
            for tile, count in pairs
            if count == 1 or (is_even and loop.units % tile == 0)
        )
    return pairs


def _distinct_trips(units: int) -> Iterator[tuple[int, int]]:
    """(least tile, trips) of every number of trips that tiles of so many units make, ascending:
    about twice the root of `units`, without a look at every tile."""
    tile = units
    while tile > 0:
        count = -(-units // tile)
        least = -(-units // count)
        yield least, count
        tile = least - 1


def may_keep_over(covering: Covering, plan: OperandPlan, loop: TiledLoop) -> bool:
    """May a stay hold the tiles of several iterations of a loop side by side? Of a held one only
    what other tasks do not write, for the next iteration of a held loop further out."""
    if not loop.is_held:
        return True
    further = covering.held[: covering.held.index(loop.name)]
    return not plan.is_output and any(name not in plan.loops for name in further)


def may_keep_units(plan: OperandPlan, residence: int, hw: Hardware) -> bool:
    """May a stay hold the single blocks of several units side by side? Of an input, where each has
    a register of its own and no fetch waits for one."""
    is_nearest = residence == 0 and not plan.residences[residence].is_packed
    return is_nearest and not plan.is_output and is_renamed(plan, residence, hw)


def must_fill_shares(covering: Covering, loop: TiledLoop, hw: Hardware) -> bool:
    """Must a core's share be whole tiles, because some core's last tile ends early?

    Where whole tiles are moved, the end of a tile is one bound, its share's or the loop's.
    """
    if not (loop.is_ragged or loop.is_uneven):
        return False
    for plan in covering.operands:
        slides = any(axis.is_window and loop.name in axis.loops for axis in plan.axes)
        stay = Stay(plan.name, 0, 1, 1)
        if slides and loop.is_ragged:
            return True
        if loop.name in plan.loops and loop.is_uneven and not moves_blocks(covering, stay, hw):
            return True
    return False


def must_divide(covering: Covering, loop: TiledLoop) -> bool:
    """Must tiles of this loop be all equal?"""
    for plan in covering.operands:
        for axis in plan.axes:
            if axis.is_window and loop.name in axis.loops:
                longest = max(axis.loops, key=lambda name: covering.loop(name).extent)
                if loop.name != longest:
                    return True
    return False


@lru_cache(KNOWN)
def why_alone(covering: Covering, loop: TiledLoop) -> str:
    """Why a tile, and whatever a stay keeps, may hold only one unit of the loop; empty if it may
    hold more."""
    for plan in covering.operands:
        for residence in plan.residences:
            if residence.is_boxed and any(
                loop.name in plan.axis(name).loops for name, _ in residence.windows
            ):
                return f"loop {loop.name} moves a window inside the block of {plan.name}"
        sliding = {name for axis in plan.axes if axis.is_window for name in axis.loops}
        if plan.is_output and loop.name not in sliding and meets_itself(covering, loop.name):
            return f"units of loop {loop.name} have elements of {plan.name} in common"
    return ""


def level_options(
    covering: Covering, plan: OperandPlan, hw: Hardware
) -> tuple[tuple[int, ...], ...]:
    """Possible levels of an operand's residences, from the unit outwards; none: not placeable
    (`why_unordered`).

    Single blocks (level 0) are moved one by one, which tokens and sliding windows do not allow. A
    fifo memory holds single blocks, each read until the next one is. A single block of an output
    would hold up everything that its fill unit has queued until it is drained; a tile of one block
    takes no more room.
    """
    if not plan.residences:
        return ((),)
    if why_unordered(covering, plan, hw):
        return ()
    if hw.has_tokens:
        return ((1,) * len(plan.residences),)
    may_be_low = _may_be_low(plan, hw)
    if hw.memory(plan.residences[0].memory).fifo is not None:
        return {1: ((0,),), 2: ((0, 1),)}[len(plan.residences)]
    if len(plan.residences) == 1:
        return ((1,), (0,)) if may_be_low and not plan.is_output else ((1,),)
    roomy = 0  # memories inside the outermost one that hold tiles as well
    while _may_hold_tile(covering, plan, len(plan.residences) - 2 - roomy, hw):
        roomy += 1
    inside = len(plan.residences) - 1
    return tuple((0,) * (inside - tiles) + (1,) * (tiles + 1) for tiles in range(roomy, -1, -1))


def _may_hold_tile(covering: Covering, plan: OperandPlan, residence: int, hw: Hardware) -> bool:
    """May an inner memory hold tiles of an input, copied from those in the next one? Where two
    slots of two blocks find room beside the blocks of all others in flight, two of each: smaller
    tiles are blocks in flight. Not where what lies outside is packed in the order of use or lies
    end to end, nor where no fetch waits for a slot."""
    if residence < 0 or plan.is_output or plan.has_window:
        return False
    if plan.residences[residence + 1].is_packed or is_renamed(plan, residence, hw):
        return False
    memory = plan.residences[residence].memory
    flying = sum(
        2 * other.position_bytes
        for one in covering.operands
        for other in one.residences
        if other.memory == memory
    )
    more = 2 * plan.residences[residence].position_bytes
    return flying + more <= hw.memory(memory).size_bytes


def why_unordered(covering: Covering, plan: OperandPlan, hw: Hardware) -> str:
    """Why the copies of an operand cannot be put in order; empty if they can."""
    if reason := why_no_ring(covering, plan, hw):
        return reason
    is_token = hw.has_tokens
    ways = [t for r in plan.residences for t in (r.fill, r.drain) if t is not None]
    passes = any(way.onward is not None or way.inward is not None for way in ways)
    if is_token and passes and plan.has_window:
        return f"{plan.buffer} passes through another memory in a sliding window"
    if is_token and passes and any(meets_itself(covering, name) for name in plan.loops):
        return f"{plan.buffer} passes through another memory in tiles with elements in common"
    fifos = [hw.memory(r.memory).fifo is not None for r in plan.residences]
    if any(fifos[1:]):
        return f"{plan.buffer} goes on from a fifo to another memory"
    is_staged = len(fifos) > 1 or any(fifos)
    if is_token and (any(fifos) or (is_staged and plan.has_window)):
        return f"{plan.buffer} would be moved block by block, which no token orders"
    if is_staged and plan.slides:
        why = "its sliding window does not allow"
        return f"{plan.buffer} would be moved block by block, which {why}"
    if any(fifos) and (plan.is_output or len(fifos) > 2):
        return f"{plan.buffer} is an output in a fifo, or takes more than two copies to get there"
    return why_mixed_up(covering, hw) or why_no_channel(covering, hw)


def _may_be_low(plan: OperandPlan, hw: Hardware) -> bool:
    """May single blocks be moved one by one?"""
    return not hw.has_tokens and not plan.slides


def slot_options(
    covering: Covering, work: Work, plan: OperandPlan, number: int, hw: Hardware
) -> tuple[int, ...]:
    """Numbers of slots worth trying, ascending.

    Two hide a fetch behind one use. Where blocks come one by one from another memory on chip, and a
    block's fetch takes longer than the calls on another one, as many as hide it behind one call on
    each.
    """
    if not may_double(plan, number, hw) or has_one_credit(covering, (plan.name, number), hw):
        return (1,)
    choices = level_options(covering, plan, hw)
    if len(plan.residences) == 1 or all(levels[number] for levels in choices):
        return (1, 2)
    residence = plan.residences[number]
    flows = [f for f in work.flows_at(plan.name, number) if f.unit != work.compute_unit]
    if not flows or is_renamed(plan, number, hw):
        return (1, 2)
    room = hw.memory(residence.memory).size_bytes // residence.position_bytes
    deep = enough_slots(work, flows, min(room, MAX_SLOTS))
    return tuple(sorted({1, 2, deep}))


def stay_choices(covering: Covering, hw: Hardware) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """All combinations of levels, one tuple of levels per operand, tiles before single blocks."""
    per_operand = [level_options(covering, plan, hw) for plan in covering.operands]
    return tuple(sorted(product(*per_operand), key=lambda c: -sum(map(sum, c))))


def must_stay_whole(plan: OperandPlan) -> bool:
    """Must the output be finished in one stay, because it cannot be read back as it was written, or
    no token says that what passes another memory on its way out has arrived?"""
    if not plan.is_output or any(residence.again for residence in plan.residences):
        return False
    moves = [t for r in plan.residences for t in (r.fill, r.drain) if t is not None]
    passed = (way for move in moves for way in (move.inward, move.onward) if way is not None)
    if any(way.holds_tiles for way in passed):
        return True
    if plan.inlet is None or plan.outlet is None:
        return True
    return plan.inlet_buffer != plan.buffer or plan.inlet.layout != plan.outlet.layout


def is_uneven(loop: TiledLoop, tile: int, slots: int = 2) -> bool:
    """Does the last tile lack a number of units that is no multiple of the slots?"""
    return -loop.units % tile % slots != 0


def stays_of(
    covering: Covering, levels: tuple[tuple[int, ...], ...], slots: dict[tuple[str, int], int]
) -> tuple[Stay, ...]:
    """Stays from levels and slots (per operand and residence)."""
    return tuple(
        Stay(plan.name, number, level, slots.get((plan.name, number), 1))
        for plan, choice in zip(covering.operands, levels, strict=True)
        for number, level in enumerate(choice)
    )
