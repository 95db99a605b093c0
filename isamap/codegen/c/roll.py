"""Loops whose first or last iteration does more than the others, written once.

In: the first, a middle and the last iteration of a loop, each made static. Out: what the first
does more, one loop over all iterations, what the last does more; iterations that differ otherwise
stay apart. A first iteration that runs only the first round of a loop in it apart is one with the
others, with that round on a condition. Not its job: making iterations static.

Sums are loaded in the first iteration of the loops that add to them and stored in the last one:
written apart, three nested loops would be 27 pieces of code. What an edge does more moves past the
calls beside it, so it may touch nothing that these touch, unless both only read.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import assert_never

from isamap.hwdesc import Hardware
from isamap.ir import Affine
from isamap.program import Edge, Span

from .nodes import CCall, CHint, CIf, CLoop, CNode, CRegion, CShare, CTurn
from .reach import Ranges, calls_within, reaches


@dataclass(frozen=True, slots=True)
class Iterations:
    """A loop written apart: an iteration before `start` if that differs, those from `start` to
    `stop` - 1, and one more if that differs; `name` is open in all of them."""

    name: str
    start: int
    stop: int
    first: tuple[CNode, ...] | None
    middle: tuple[CNode, ...]
    last: tuple[CNode, ...] | None


def roll(pieces: Iterations, hw: Hardware, around: Ranges) -> tuple[CNode, ...]:
    """The loop in one, with what its ends do more before and after it, as far as that is legal.

    Args:
        around: values of the loops around it.
    """
    name, start, stop, middle = pieces.name, pieces.start, pieces.stop, pieces.middle

    def edge(value: int) -> Callable[[CNode], Iterable[_Touch]]:
        return partial(_touched, hw=hw, ranges={**around, name: (value, value)})

    before, after = pieces.first or (), pieces.last or ()
    body = middle
    if pieces.first is not None:
        surplus = _surplus(pieces.first, middle, edge(start - 1))
        if surplus is None and (one := _one_body(pieces)) is not None:
            surplus, body = (), one
        before = put(before if surplus is None else surplus, name, start - 1)
        start -= surplus is not None
    if pieces.last is not None:
        surplus = _surplus(pieces.last[::-1], middle[::-1], edge(stop))
        after = put(after if surplus is None else surplus[::-1], name, stop)
        stop += surplus is not None
    is_single = stop - start == 1
    between = put(body, name, start) if is_single else (CLoop(name, start, stop, body),)
    return (*before, *between, *after)


def _one_body(pieces: Iterations) -> tuple[CNode, ...] | None:
    """What all iterations run, where the first only writes the first rounds of loops in it apart:
    these on a condition, and the loops begin after them then."""
    count = pieces.stop + (pieces.last is not None)
    is_first = ((pieces.name, Edge.FIRST, count),)
    body: list[CNode] = []
    rest = list(pieces.first or ())
    for node in pieces.middle:
        if rest[:1] == [node]:
            body.append(rest.pop(0))
            continue
        begun = _without_first_round(node)
        if begun is None or begun not in rest:
            return None
        at = rest.index(begun)
        body += (CIf(is_first, tuple(rest[:at])), replace(begun, first=0, begun_at=pieces.name))
        del rest[: at + 1]
    return None if rest else tuple(body)


def _without_first_round(node: CNode) -> CLoop | None:
    """The same loop of loops from its second round on: the conditions do not pay in others."""
    match node:
        case CLoop(first=0, body=body, begun_at=None) if any(isinstance(x, CLoop) for x in body):
            return replace(node, first=1)
    return None


def put(nodes: tuple[CNode, ...], name: str, value: int) -> tuple[CNode, ...]:
    """The nodes with a number for a loop around them."""
    return _put_in_all(nodes, {name: Affine((), value)})


def _put_in_all(nodes: tuple[CNode, ...], constants: Mapping[str, Affine]) -> tuple[CNode, ...]:
    return tuple(_put(node, constants) for node in nodes)


def _put(node: CNode, constants: Mapping[str, Affine]) -> CNode:
    match node:
        case CCall(issue):
            return CCall(issue.substitute(constants))
        case CLoop() | CShare():
            stop = _put_in_count(node.stop, constants)
            return replace(node, stop=stop, body=_put_in_all(node.body, constants))
        case CIf(conditions, body):
            counted = ((loop, edge, _put_in_count(n, constants)) for loop, edge, n in conditions)
            return CIf(tuple(counted), _put_in_all(body, constants))
        case CRegion():
            return replace(node, body=_put_in_all(node.body, constants))
        case CHint() | CTurn():
            raise AssertionError("hints are asked for in rolled loops")
    assert_never(node)


def _put_in_count(count: int | Span, constants: Mapping[str, Affine]) -> int | Span:
    if isinstance(count, int):
        return count
    span = count.substitute(constants)
    return span if span.offset.names else span.value({})


@dataclass(frozen=True, slots=True)
class _Touch:
    """Bytes `first` to `last` of a memory that a node may read or write."""

    memory: str
    first: float
    last: float
    is_write: bool

    def meets(self, other: "_Touch") -> bool:
        """Must both keep their order?"""
        apart = self.last < other.first or other.last < self.first
        return self.memory == other.memory and not apart and (self.is_write or other.is_write)


def _surplus(
    edge: tuple[CNode, ...],
    plain: tuple[CNode, ...],
    touched: Callable[[CNode], Iterable[_Touch]],
) -> tuple[CNode, ...] | None:
    """What an edge does beside a plain iteration, if that may be done ahead of all of it."""
    extra: list[CNode] = []
    passed: list[CNode] = []
    over: set[_Touch] = set()  # what those touch that something was asked to move past
    expected = iter((*plain, None))
    awaited = next(expected)
    for node in edge:
        if node == awaited:
            passed.append(node)
            awaited = next(expected)
            continue
        over.update(touch for before in passed for touch in touched(before))
        passed.clear()
        if over and any(mine.meets(other) for mine in touched(node) for other in over):
            return None
        extra.append(node)
    return tuple(extra) if awaited is None else None


def _touched(node: CNode, hw: Hardware, ranges: Ranges) -> Iterator[_Touch]:
    """Whatever moves something in a queue touches all of it."""
    for issue, around in calls_within((node,), ranges):
        for reach in reaches(issue, hw):
            memory = reach.operand.memory
            if hw.memory(memory).fifo is not None:
                yield _Touch(memory, -inf, inf, is_write=True)
            else:
                yield _Touch(memory, *reach.within(around), reach.is_written)
