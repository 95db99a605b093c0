"""Arrays that cannot be handed on as they lie: of what one task writes around them, another one
would read something else than the zeros that it counts on.

In: tasks and how they run. Out: names of buffers. Not its job: laying them out anew (`memory_map`,
`repack`).
"""

from isamap.mapper import fills_border, needs_zeros

from .piece import Piece


def spoiled_borders(pieces: tuple[Piece, ...]) -> frozenset[str]:
    """Buffers around which a task writes more than zeros, and a task counts on zeros."""
    coverings = [piece.schedule.covering for piece in pieces if piece.schedule is not None]
    filled = {
        name
        for covering in coverings
        for plan in covering.operands
        for is_outlet, name, _ in plan.ends
        if is_outlet and fills_border(covering, name)
    }
    needy = (covering for covering in coverings if filled and needs_zeros(covering, filled))
    return frozenset(
        name
        for covering in needy
        for plan in covering.operands
        for is_outlet, name, _ in plan.ends
        if not is_outlet and name in filled
    )
