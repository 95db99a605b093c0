"""Buffers on chip that a task cannot take away, because a copy put there what it would take.

In: tasks in program order and how they run. Out: names of buffers. Not its job: what else tasks ask
of a home (`chip_homes`).
"""

from isamap.hwdesc import Hardware
from isamap.ir import covers

from .piece import Piece


def copied_homes(pieces: tuple[Piece, ...], hw: Hardware) -> frozenset[str]:
    """Homes that are read by what takes only what was computed, and may hold something else then.

    They hold nothing else where every task that writes them computes, or the last one before under
    the same held loops, if it writes all of the buffer each time.
    """
    return frozenset(
        name
        for position, piece in enumerate(pieces)
        for name in _taken(piece, hw)
        if not all(_computes(other, name, hw) for other in _writers(pieces, name))
        and not _is_renewed(pieces[:position], piece, name, hw)
    )


def _taken(piece: Piece, hw: Hardware) -> list[str]:
    """Homes that the task's instruction reads where they lie, if it takes only what was computed;
    others pass through what computes."""
    if piece.schedule is None:
        return []
    if not hw.instruction(piece.schedule.covering.instruction).only_computed:
        return []
    written = {statement.target.buffer for statement in piece.task.statements}
    return [name for name in piece.homes if name not in written]


def _writers(pieces: tuple[Piece, ...], name: str) -> list[Piece]:
    return [
        piece for piece in pieces if any(s.target.buffer == name for s in piece.task.statements)
    ]


def _is_renewed(before: tuple[Piece, ...], reader: Piece, name: str, hw: Hardware) -> bool:
    """Has the last task that writes the buffer computed all of it in the same iteration?"""
    writers = _writers(before, name)
    if not writers or writers[-1].task.held != reader.task.held:
        return False
    statement = writers[-1].task.statement
    is_whole = covers(statement, writers[-1].task.kernel.buffer(name))
    is_whole = is_whole and not any(map(statement.target.moves_with, reader.task.held))
    return is_whole and _computes(writers[-1], name, hw)


def _computes(piece: Piece, name: str, hw: Hardware) -> bool:
    """Does an instruction that is no copy leave the buffer there?"""
    if piece.schedule is None:
        return False
    covering = piece.schedule.covering
    for plan in covering.operands:
        if any(is_outlet and end == name for is_outlet, end, _ in plan.ends):
            drains = [r.drain for r in plan.residences if r.drain is not None]
            ways = [*drains, *(drain.onward.transfer for drain in drains if drain.onward)]
            steps = [way.instruction for way in ways] or [covering.instruction]
            return not any(hw.instruction(step).is_copy for step in steps)
    return False
