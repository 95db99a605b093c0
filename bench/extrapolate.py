"""The time of a long program from short ones: one loop cut to a few trips.

In: a Program that repeats itself. Out: its cycles, or None where the short programs do not show a
steady pace. Not its job: timing a program as it is (`isamap.emulator.time_program`).

A loop of N trips is cut to n, n + 2 and n + 4 trips, n of N's parity so that rotating slots end as
they do in the whole program; what depends on the last trip (shorter tiles, edges) stays. Where both
pairs of trips more take the same time the loop is taken to be steady: every further pair takes it
too. Held against whole programs in tests/bench/test_extrapolate.py.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import assert_never

from isamap.program import For, Issue, Node, Program, Span, When

FIRST_TRIPS = (4, 16)  # a longer start is tried where the shorter one is not steady yet


def extrapolate_cycles(program: Program, time: Callable[[Program], int | None]) -> int | None:
    """Cycles of `program` from `time` of cut ones.

    None: no loop is long enough, or not steady, or `time` gives None.
    """
    longest = max(_fixed_loops(program.body), key=lambda loop: loop.span.limit, default=None)
    if longest is None:
        return None
    trips = longest.span.limit
    for least in FIRST_TRIPS:
        first = least + trips % 2
        if first + 4 >= trips:
            return None
        start, middle, end = (time(cut(program, longest, first + more)) for more in (0, 2, 4))
        if start is None or middle is None or end is None:
            return None
        if end - middle == middle - start:
            return start + (trips - first) // 2 * (middle - start)
    return None


def _fixed_loops(body: tuple[Node, ...]) -> Iterator[For]:
    """Loops whose trips are a constant."""
    for node in body:
        if isinstance(node, For) and node.span.total is None:
            yield node
        if not isinstance(node, Issue):
            yield from _fixed_loops(node.body)


def cut(program: Program, loop: For, trips: int) -> Program:
    """`program` with only the first trips of `loop`, the last of which takes the last one's
    place."""
    return replace(program, body=_cut(program.body, loop, trips))


def _cut(body: tuple[Node, ...], loop: For, trips: int) -> tuple[Node, ...]:
    return tuple(_cut_node(node, loop, trips) for node in body)


def _cut_node(node: Node, loop: For, trips: int) -> Node:
    match node:
        case Issue():
            return node
        case For() | When():
            if node is loop:
                inside = _shorten(node.body, loop.loop, loop.span.limit - trips)
                return For(loop.loop, Span(trips), inside)
            return replace(node, body=_cut(node.body, loop, trips))
        case _:
            assert_never(node)


def _shorten(body: tuple[Node, ...], name: str, missing: int) -> tuple[Node, ...]:
    """Counts inside the loop as they are `missing` trips later, where they run out."""
    nodes: list[Node] = []
    for node in body:
        match node:
            case Issue():
                extents = tuple((n, _shorter(span, name, missing)) for n, span in node.extents)
                repeats = tuple(
                    replace(repeat, span=_shorter(repeat.span, name, missing))
                    for repeat in node.repeats
                )
                nodes.append(replace(node, extents=extents, repeats=repeats))
            case For():
                span = _shorter(node.span, name, missing)
                nodes.append(For(node.loop, span, _shorten(node.body, name, missing)))
            case When():
                nodes.append(replace(node, body=_shorten(node.body, name, missing)))
            case _:
                assert_never(node)
    return tuple(nodes)


def _shorter(span: Span, name: str, missing: int) -> Span:
    """min(limit, (total - offset) / unit) with the loop's value `missing` higher."""
    if span.total is None:
        return span
    return replace(span, total=span.total - missing * span.offset.coefficient(name))
