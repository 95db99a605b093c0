"""Room on chip for tasks that keep data over the iterations of held loops around several tasks.

In: the tree of tasks, how each of them runs. Out: where each task's stays begin in each memory. Not
its job: addresses of single stays (`place`), what happens when there is too little room (`plan`).

A memory in which a task keeps something from one iteration to the next is apart from what all
others under the same held loop use of it; a fifo, whose entries pass in order, no other may use.
Everything else lies apart too as far as there is room, of tasks outside held loops memory by
memory, so that none waits for another one to be done with it; with tokens, where tasks wait for
each other anyway, it begins at one place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isamap.costmodels import guards
from isamap.hwdesc import Hardware, Memory
from isamap.mapper import Task, TaskNode, flatten
from isamap.scheduler import room_ends

from .chip_homes import home_ends, place_homes
from .piece import Piece


@dataclass(frozen=True, slots=True)
class Room:
    """`starts`: task number -> memory -> first byte, for tasks that do not begin at 0. `crowded`:
    numbers of tasks that keep data where there is too little room, or out of a fifo's turn;
    `others`: of those beside them that keep nothing."""

    starts: Mapping[int, Mapping[str, int]]
    crowded: tuple[int, ...] = ()
    others: tuple[int, ...] = ()


def share_chip(nodes: tuple[TaskNode, ...], pieces: Mapping[int, Piece], hw: Hardware) -> Room:
    """Lay out the tasks under every held loop side by side as far as they must, all of them behind
    the buffers that stay on chip between tasks.

    Raises:
        MappingError: as `place_homes`.
    """
    starts: dict[int, Mapping[str, int]] = {}
    every = tuple(pieces[task.number] for task in flatten(nodes))
    taken = home_ends(place_homes(every, hw), hw)
    if taken:
        starts = {task.number: taken for task in flatten(nodes)}
        for piece in every:
            if piece.schedule is not None and ends_of(piece, taken, hw) is None:
                return Room({}, (piece.task.number,))
    if not hw.has_tokens:
        starts |= _in_turn(nodes, pieces, taken, hw)
    for node in nodes:
        if isinstance(node, Task):
            continue
        group = [pieces[task.number] for task in flatten((node,))]
        group = [piece for piece in group if piece.schedule is not None]
        keepers = [piece for piece in group if kept_in(piece)]
        if len(group) < 2 or (not keepers and hw.has_tokens):
            continue
        others = [piece for piece in group if not any(piece is one for one in keepers)]
        found = None
        if not _keeps_out_of_turn(keepers, group, hw):
            found = _side_by_side(keepers, others, taken, hw)
        if found is None:
            numbers = (tuple(p.task.number for p in some) for some in (keepers, others))
            return Room({}, *numbers)
        starts |= found
    return Room(starts)


def _in_turn(
    nodes: tuple[TaskNode, ...],
    pieces: Mapping[int, Piece],
    taken: Mapping[str, int],
    hw: Hardware,
) -> dict[int, Mapping[str, int]]:
    """Where tasks outside held loops begin: each behind the one before."""
    starts: dict[int, Mapping[str, int]] = {}
    used = dict(taken)
    for node in nodes:
        if not isinstance(node, Task):
            used = dict(taken)
            continue
        piece = pieces[node.number]
        if piece.schedule is None:
            continue
        starts[node.number], used = lay_behind(piece, used, taken, hw)
    return starts


def lay_behind(
    piece: Piece, used: Mapping[str, int], taken: Mapping[str, int], hw: Hardware
) -> tuple[dict[str, int], dict[str, int]]:
    """Where a task begins whose memories are used up to there by the one before: in each behind
    it, if there is room, else where the first one began, `taken`; and what is used then."""
    starts = {
        name: taken.get(name, 0) if ends_of(piece, {**taken, name: end}, hw) is None else end
        for name, end in used.items()
    }
    ends = ends_of(piece, starts, hw) or {}
    held_up = {name: end for name, end in ends.items() if _holds_up(hw.memory(name))}
    return starts, starts | held_up


def _holds_up(memory: Memory) -> bool:
    """Does what comes next wait for room there? What lies in a cache better takes the lines that
    the one before has left there."""
    return not memory.never_waits and memory.within is None


def _keeps_out_of_turn(keepers: Sequence[Piece], group: Sequence[Piece], hw: Hardware) -> bool:
    """Does a task keep an entry of a fifo through which another one of the group passes? Entries
    are read in the order in which they were written: what is read later is no longer there."""
    return any(
        hw.memory(name).fifo is not None and name in (ends_of(other, {}, hw) or {})
        for keeper in keepers
        for name in kept_in(keeper)
        for other in group
        if other is not keeper
    )


def _side_by_side(
    keepers: Sequence[Piece], others: Sequence[Piece], taken: Mapping[str, int], hw: Hardware
) -> dict[int, Mapping[str, int]] | None:
    """Where each begins: memories in which some keep data hold these first, one after the other;
    behind them everybody is apart as long as there is room, then begins again where the first
    did."""
    kept: dict[int, dict[str, int]] = {}
    free = dict(taken)
    for piece in keepers:
        end = ends_of(piece, free, hw)
        if end is None:
            return None
        kept[piece.task.number] = {name: free.get(name, 0) for name in kept_in(piece)}
        free |= {name: end[name] for name in kept_in(piece)}
    starts: dict[int, Mapping[str, int]] = {}
    used = dict(free)
    for piece in (*keepers, *others):
        own = kept.get(piece.task.number, {})
        end = ends_of(piece, used | own, hw)
        if end is None:
            used = dict(free)
            end = ends_of(piece, used | own, hw)
        if end is None:
            return None
        starts[piece.task.number] = used | own
        if not hw.has_tokens:
            used |= {name: last for name, last in end.items() if name not in own}
    return starts


def kept_in(piece: Piece) -> set[str]:
    """Memories in which the task holds data over an iteration of a held loop."""
    assert piece.schedule is not None, "only scheduled tasks are on chip"
    covering, tiling = piece.schedule.covering, piece.schedule.tiling
    held = set(piece.task.held)
    return {
        covering.operand(stay.operand).residences[stay.residence].memory
        for stay in tiling.stays
        if set(guards(covering, tiling, stay).outer) & held
    }


def ends_of(piece: Piece, starts: Mapping[str, int], hw: Hardware) -> dict[str, int] | None:
    """First free byte of every memory that the task uses; None when it does not fit."""
    assert piece.schedule is not None, "only scheduled tasks are on chip"
    return room_ends(piece.schedule.covering, piece.schedule.tiling, hw, starts)
