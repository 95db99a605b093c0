"""Let neighbours in one host call run row by row, so that a row stays in the nearest cache.

In: statements, each with loops of its own but for those held around all, how arrays lie. Out: the
same statements, some with their first loops under the names of those before them, which they then
share. Not its job: which statements are in one call (`join_calls`), how a row runs (`hwdesc`).
"""

from collections.abc import Sequence
from math import prod

from isamap.hwdesc import HostLoops
from isamap.ir import Loop, Statement, innermost, may_distribute
from isamap.rewrites import rename_loops

LEAST_ELEMENTS = 32  # of a row: less work would not pay for the loop around it


def share_loops(
    statements: Sequence[Statement], held: tuple[str, ...], loops: HostLoops
) -> tuple[Statement, ...]:
    """Statements that mean the same; those that share loops are neighbours.

    Loops are shared, as many as possible, where the loop that is best run innermost stays inside in
    all that goes over a row, and no order between the statements changes for any element.
    """
    found: list[Statement] = []
    group: list[Statement] = []
    depth = 0
    for statement in statements:
        depths = [depth] if len(group) > 1 else range(_most(group, statement, held), 0, -1)
        for wanted in depths:
            joined = _under(group, statement, wanted, held, loops)
            if joined is not None:
                group.append(joined)
                depth = wanted
                break
        else:
            found += group
            group = [statement]
    return (*found, *group)


def _most(group: list[Statement], statement: Statement, held: tuple[str, ...]) -> int:
    """How many loops may be common at most."""
    counts = [len(_own(s, held)) for s in (*group, statement)]
    return min(counts) if group else 0


def _under(
    group: list[Statement], statement: Statement, depth: int, held: tuple[str, ...],
    loops: HostLoops,
) -> Statement | None:  # fmt: skip
    """The statement under the first `depth` loops of the group, if it may and shall share them."""
    shared = _own(group[0], held)[:depth]
    mine = _own(statement, held)[:depth]
    if [loop.extent for loop in mine] != [loop.extent for loop in shared]:
        return None
    both = (group[-1], statement)
    rows = [s for s in both if len(_own(s, held)) > depth]
    if not rows or any(not _is_row(s, _own(s, held), depth, loops) for s in rows):
        return None
    names = {old.name: new.name for old, new in zip(mine, shared, strict=True)}
    renamed = rename_loops(statement, names)
    common = tuple(loop.name for loop in shared)
    if not all(may_distribute(before, renamed, common, fixed=held) for before in group):
        return None
    return renamed


def _is_row(statement: Statement, own: tuple[Loop, ...], depth: int, loops: HostLoops) -> bool:
    """Is what runs under the first `depth` loops worth a loop, the innermost one among it?"""
    inside = own[depth:]
    is_inside = innermost(statement, own, loops.strides) in inside
    return is_inside and prod(loop.extent for loop in inside) >= LEAST_ELEMENTS


def _own(statement: Statement, held: tuple[str, ...]) -> tuple[Loop, ...]:
    return tuple(loop for loop in statement.loops if loop.name not in held)
