"""Walk a program's text: every call with what surrounds it.

In: nodes. Out: calls with their loops. Not its job: executing, checking.
"""

from collections.abc import Iterator

from isamap.program import Edge, For, Issue, Node, When

from .cores import SpreadLoops
from .ranges import span_interval


def walk_issues(
    body: tuple[Node, ...],
    loops: tuple[tuple[str, int], ...] = (),
    spread: SpreadLoops = (),
    later: tuple[str, ...] = (),
) -> Iterator[tuple[Issue, tuple[tuple[str, int], ...], SpreadLoops, tuple[str, ...]]]:
    """Every Issue in text order with its enclosing loops and their largest extents, those of them
    that are spread over cores, and those whose first iteration does without it."""
    for node in body:
        match node:
            case Issue():
                yield node, loops, spread, later
            case When(conditions, inner):
                skipped = tuple(loop for loop, edge in conditions if edge is Edge.LATER)
                yield from walk_issues(inner, loops, spread, (*later, *skipped))
            case For(loop, span, inner):
                most = max(span_interval(span, dict(loops))[1], 1)
                over = (*spread, (loop, most, node.spread)) if node.spread else spread
                yield from walk_issues(inner, (*loops, (loop, most)), over, later)
