"""Take a tile out, or a block on from its passage, while the next one is computed.

In: a nest's frame, nodes that take out the tile (move on the block) of the current iteration. Out:
which stays want it, nodes for the tile or block before, and the last one. Not its job: the calls
themselves, their place in the nest.

A queue runs its calls in order. Where the queue that takes a tile out also brings data in, or
computes, a call that waits for its sums would hold up the fills of the next tile, which has a slot
of its own. So the next tile's fills come first. A block that passes a second memory on its way out
has a slot there, so the next block's fills come before it goes on.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from isamap.costmodels import drains_late, last_units, may_leave_late
from isamap.ir import Affine
from isamap.program import Edge, For, Issue, Node, When

from .frame import Frame, tile_name, unit_name
from .place import Slot

Values = Mapping[str, Affine]
Loops = tuple[tuple[str, str], ...]  # of the kernel, each with the program's; outermost first


def leaves_late(frame: Frame, slot: Slot, held: tuple[str, ...]) -> bool:
    """Does the stay hold tiles in several slots, each of its own elements, that a queue with other
    work takes out?"""
    drain, stay = slot.residence.drain, slot.stay
    if drain is None or not may_leave_late(slot.plan, stay.residence):
        return False
    place = stay.operand, stay.residence
    rests = frame.guards[place].outer
    if frame.hw.has_tokens:
        is_behind = drains_late(frame.covering, place, frame.hw)
    else:
        is_behind = frame.hw.instruction(drain.instruction).unit in _other_work(frame)
    return (
        is_behind
        and not frame.hw.memory(slot.residence.memory).never_waits
        and stay.level > 0
        and stay.slots > 1
        and not stay.kept
        and not set(rests) & set(held)
        and bool(_moving(frame, slot, held))
    )


def passed_late(frame: Frame, slot: Slot, held: tuple[str, ...]) -> Loops:
    """Loops over blocks, from some loop inwards, in which the stay's blocks, each taken out once,
    go on from their passage one later: by a queue with other work. The last one goes on at once."""
    drain, guard = slot.residence.drain, frame.guards[slot.stay.operand, slot.stay.residence]
    if drain is None or drain.onward is None or drain.planes > 1:
        return ()
    tiling, loops = frame.tiling, slot.plan.loops
    units = tuple(n for n in tiling.inner if tiling.tile(n) > 1 and n in loops)
    others = [plan for plan in frame.covering.operands if plan.name != slot.plan.name]
    may_pass = (
        not frame.hw.has_tokens
        and frame.is_fine(slot)
        and not frame.covering.shares
        and drain.onward.slots > 1
        and frame.hw.instruction(drain.onward.transfer.instruction).unit in _other_work(frame)
        and slot.stay.residence == len(slot.plan.residences) - 1
        and all(len(axis.loops) == 1 for axis in slot.plan.axes)
        and not set(guard.outer) & set(held)
        and not {*guard.refetch_outer, *guard.refetch_inner} - set(held)
        and all(slot.plan.buffer not in (plan.buffer, plan.inlet_buffer) for plan in others)
    )
    found: Loops = ()
    moving = (*_over_tiles(frame, slot, held), *((loop, unit_name(loop)) for loop in units))
    for number, loop in reversed(list(enumerate(moving))) if may_pass else ():
        if not all(_has_end(frame, inside, moving[number:]) for inside in moving[number + 1 :]):
            break
        found = (loop, *found)
    return found


def _has_end(frame: Frame, loop: tuple[str, str], loops: Loops) -> bool:
    """Is a loop's last value known one iteration of the first of `loops` before?"""
    name, tile = loop[0], (loop[0], tile_name(loop[0]))
    is_short = frame.covering.loop(name).units % frame.tiling.tile(name) > 0
    return not is_short or loop == tile or tile in loops


def tile_before(
    frame: Frame, slot: Slot, held: tuple[str, ...], nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """`nodes` of the tile before the current one, once per tile; nothing at the first."""
    rests = _resting_tiles(frame, slot)
    return _before(frame, _over_tiles(frame, slot, held), rests, nodes)


def block_before(
    frame: Frame, slot: Slot, loops: Loops, nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """`nodes` of the block before the current one in the loops, once per block; nothing at the
    first."""
    inner = frame.tiling.inner
    still = [n for n in inner if frame.tiling.tile(n) > 1 and n not in slot.plan.loops]
    rests = (*_resting_tiles(frame, slot), *(unit_name(n) for n in still))
    return _before(frame, loops, rests, nodes)


def _resting_tiles(frame: Frame, slot: Slot) -> tuple[str, ...]:
    """Program loops over tiles over which the stay's data stay the same."""
    return tuple(tile_name(n) for n in frame.guards[slot.stay.operand, slot.stay.residence].outer)


def _before(
    frame: Frame, moving: Loops, rests: tuple[str, ...], nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """`nodes` one step earlier in the loops, once per step: when what rests is over, so that no
    fill of this step waits behind them."""
    found: list[Node] = []
    for number, (_, name) in enumerate(moving):
        once = tuple((rest, Edge.LAST) for rest in rests)
        begins = tuple((inside, Edge.FIRST) for _, inside in moving[number + 1 :])
        one_less = {name: Affine.of([(name, 1)], -1)}
        values = one_less | _ends(frame, moving[number + 1 :])
        conditions = ((name, Edge.LATER), *begins, *once)
        found.append(When(conditions, _at(nodes, values)))
    return tuple(found)


def last_tile(
    frame: Frame, slot: Slot, held: tuple[str, ...], nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """`nodes` of the last tile, outside the loops over tiles."""
    return _at(nodes, _ends(frame, _over_tiles(frame, slot, held)))


def _over_tiles(frame: Frame, slot: Slot, held: tuple[str, ...]) -> Loops:
    """Loops that change the stay's tile."""
    return tuple((loop, tile_name(loop)) for loop in _moving(frame, slot, held))


def _moving(frame: Frame, slot: Slot, held: tuple[str, ...]) -> tuple[str, ...]:
    """Loops over tiles that change the stay's tile, or fetch it again; outermost first."""
    rests = frame.guards[slot.stay.operand, slot.stay.residence].outer
    outer = frame.tiling.outer
    return tuple(n for n in outer if frame.trips[n] > 1 and n not in (*rests, *held))


def _other_work(frame: Frame) -> set[str]:
    """Units that compute or bring data in."""
    fills = [s.residence.fill or s.residence.zero for s in frame.places.slots]
    passing = [move.inward.transfer for move in fills if move and move.inward]
    moves = [move.instruction for move in (*fills, *passing) if move]
    return {frame.hw.instruction(name).unit for name in (frame.covering.instruction, *moves)}


def _ends(frame: Frame, loops: Loops) -> dict[str, Affine]:
    """The last value of every loop; of one over blocks, in its last tile if that is in `loops`."""
    ends = {}
    for loop, name in loops:
        count = frame.trips[loop]
        if name == unit_name(loop):
            tiled, is_last = frame.covering.loop(loop), (loop, tile_name(loop)) in loops
            tile = frame.tiling.tile(loop)
            count = last_units(frame.covering, frame.tiling, tiled) if is_last else tile
        ends[name] = Affine((), count - 1)
    return ends


def _at(nodes: tuple[Node, ...], values: Values) -> tuple[Node, ...]:
    """The nodes with loops at these values."""
    return tuple(_node_at(node, values) for node in nodes)


def _node_at(node: Node, values: Values) -> Node:
    match node:
        case For():
            return replace(node, span=node.span.substitute(values), body=_at(node.body, values))
        case When():
            return replace(node, body=_at(node.body, values))
        case Issue():
            return node.substitute(values)
        case _:
            assert_never(node)
