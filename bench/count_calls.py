"""How many calls a program makes, without running it.

In: a Program. Out: an upper estimate. Not its job: the exact count (the emulator reports it).
"""

from collections.abc import Mapping
from math import prod
from typing import assert_never

from isamap.program import For, Issue, Node, Program, Span, When


def count_calls(program: Program) -> int:
    """Calls, taking every condition to pick one iteration of each of its loops.

    Spans that depend on outer loops are taken at their mean.
    """
    return _count(program.body, {})


def _count(body: tuple[Node, ...], trips: Mapping[str, float]) -> int:
    """`trips`: iterations of every enclosing loop; 1 where a condition picks one of them."""
    total = 0
    for node in body:
        match node:
            case Issue():
                total += round(prod(trips.values()))
            case For(loop, span, inner):
                total += _count(inner, {**trips, loop: _mean_trips(span, trips)})
            case When(conditions, inner):
                total += _count(inner, {**trips, **{loop: 1.0 for loop, _ in conditions}})
            case _:
                assert_never(node)
    return total


def _mean_trips(span: Span, trips: Mapping[str, float]) -> float:
    """Iterations of a loop, averaged over the loops that its span depends on."""
    if span.total is None:
        return float(span.limit)
    whole = -(-(span.total - span.offset.constant) // span.unit)
    chunks = prod(trips[name] for name in span.offset.names)
    return max(1.0, min(float(span.limit), whole / chunks))
