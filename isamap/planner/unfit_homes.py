"""Buffers that cannot stay on chip as tasks use them: one would read what nobody wrote around their
elements, or take away what a copy put there and it cannot take.

In: tasks in program order and how they run. Out: names of buffers. Not its job: what else tasks ask
of a home (`chip_homes`).
"""

from isamap.hwdesc import Hardware
from isamap.ir import covers
from isamap.mapper import needs_zeros, positions_past

from .piece import Piece


def ragged_homes(pieces: tuple[Piece, ...]) -> frozenset[str]:
    """Homes past whose ends a task reads that counts on zeros, or farther than every task writes
    that begins them: on chip, nothing else has ever been there."""
    return frozenset(name for piece in pieces for name in piece.homes if _is_ragged(pieces, name))


def _is_ragged(pieces: tuple[Piece, ...], name: str) -> bool:
    written, read = (
        [
            piece.schedule.covering
            for piece in pieces
            if piece.schedule is not None and (is_outlet, name) in _ends(piece)
        ]
        for is_outlet in (True, False)
    )
    near = [positions_past(covering, name) for covering in written if covering not in read]
    for covering in read:
        far = positions_past(covering, name)
        if any(far) and needs_zeros(covering, {name}):
            return True
        if any(any(map(int.__lt__, reach or (0,) * len(far), far)) for reach in near):
            return True
    return False


def _ends(piece: Piece) -> set[tuple[bool, str]]:
    return {(is_outlet, name) for plan in piece.plans for is_outlet, name, _ in plan.ends}


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
