"""Take a tile out while the next one is computed.

In: a nest's frame, nodes that take out the tile of the current iteration. Out: which stays want it,
nodes that take out the tile before, and the last one. Not its job: the calls themselves, their
place in the nest.

A queue runs its calls in order. Where the queue that takes a tile out also brings data in, or
computes, a call that waits for its sums would hold up the fills of the next tile, which has a slot
of its own. So the next tile's fills come first.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from isamap.costmodels import may_leave_late
from isamap.hwdesc import Synchronisation
from isamap.ir import Affine
from isamap.program import Address, Edge, For, Issue, Node, Span, When

from .frame import Frame, tile_name
from .place import Slot

Values = Mapping[str, Affine]


def leaves_late(frame: Frame, slot: Slot, held: tuple[str, ...]) -> bool:
    """Does the stay hold tiles in several slots, each of its own elements, that a queue with other
    work takes out?"""
    drain, stay = slot.residence.drain, slot.stay
    if drain is None or not may_leave_late(slot.plan, stay.residence):
        return False
    rests = frame.guards[stay.operand, stay.residence].outer
    return (
        frame.hw.synchronisation is not Synchronisation.TOKENS
        and not frame.hw.memory(slot.residence.memory).never_waits
        and stay.level > 0
        and stay.slots > 1
        and not stay.kept
        and not set(rests) & set(held)
        and bool(_moving(frame, slot, held))
        and frame.hw.instruction(drain.instruction).unit in _other_work(frame)
    )


def tile_before(
    frame: Frame, slot: Slot, held: tuple[str, ...], nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """`nodes` of the tile before the current one, once per tile; nothing at the first."""
    rests = frame.guards[slot.stay.operand, slot.stay.residence].outer
    once = tuple((tile_name(loop), Edge.FIRST) for loop in rests)
    moving = _moving(frame, slot, held)
    found: list[Node] = []
    for number, loop in enumerate(moving):
        begins = tuple((tile_name(name), Edge.FIRST) for name in moving[number + 1 :])
        one_less = {tile_name(loop): Affine.of([(tile_name(loop), 1)], -1)}
        values = one_less | _ends(frame, moving[number + 1 :])
        conditions = ((tile_name(loop), Edge.LATER), *begins, *once)
        found.append(When(conditions, _at(nodes, values)))
    return tuple(found)


def last_tile(
    frame: Frame, slot: Slot, held: tuple[str, ...], nodes: tuple[Node, ...]
) -> tuple[Node, ...]:
    """`nodes` of the last tile, outside the loops over tiles."""
    return _at(nodes, _ends(frame, _moving(frame, slot, held)))


def _moving(frame: Frame, slot: Slot, held: tuple[str, ...]) -> tuple[str, ...]:
    """Loops over tiles that change the stay's tile, or fetch it again; outermost first."""
    rests = frame.guards[slot.stay.operand, slot.stay.residence].outer
    outer = frame.tiling.outer
    return tuple(n for n in outer if frame.trips[n] > 1 and n not in (*rests, *held))


def _other_work(frame: Frame) -> set[str]:
    """Units that compute or bring data in."""
    moves = [s.residence.fill or s.residence.zero for s in frame.places.slots]
    names = [frame.covering.instruction, *(move.instruction for move in moves if move)]
    return {frame.hw.instruction(name).unit for name in names}


def _ends(frame: Frame, loops: tuple[str, ...]) -> dict[str, Affine]:
    return {tile_name(loop): Affine((), frame.trips[loop] - 1) for loop in loops}


def _at(nodes: tuple[Node, ...], values: Values) -> tuple[Node, ...]:
    """The nodes with loops at these values."""
    return tuple(_node_at(node, values) for node in nodes)


def _node_at(node: Node, values: Values) -> Node:
    match node:
        case For():
            return replace(node, span=_span_at(node.span, values), body=_at(node.body, values))
        case When():
            return replace(node, body=_at(node.body, values))
        case Issue():
            return replace(
                node,
                operands=tuple(
                    replace(x, address=_address_at(x.address, values)) for x in node.operands
                ),
                extents=tuple((name, _span_at(span, values)) for name, span in node.extents),
                repeats=tuple(replace(r, span=_span_at(r.span, values)) for r in node.repeats),
            )
        case _:
            assert_never(node)


def _span_at(span: Span, values: Values) -> Span:
    return replace(span, offset=span.offset.substitute(values))


def _address_at(address: Address, values: Values) -> Address:
    offset = address.offset.substitute(values)
    turns = []
    for turn in address.rotations:
        counter = turn.counter.substitute(values)
        if counter.terms:
            turns.append(replace(turn, counter=counter))
        else:
            offset += counter.constant % turn.modulo * turn.stride_bytes
    return Address(offset, tuple(turns))
