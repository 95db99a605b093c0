"""A program's nodes made static: registers have constant numbers, edges are code of their own.

In: a program's body, the memories whose places become variables. Out: loops, conditions and calls
in which every count and address that can be a number is one. Not its job: text.

A loop that moves an operand through variables is unrolled. Around a loop whose first or last
iteration differs (a `When`, a shorter tile) these iterations are written out, so that the loop that
remains has no condition in it, unless they only do more than the others (`roll`). Loops in loops
with edges make many copies of what is inside, most of them equal: what holds no such loop is made
once per value of the names that decide it, and edges keep the names of their loops until it is
known what of them stays.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from isamap.hwdesc import Hardware
from isamap.ir import Affine
from isamap.program import Address, Edge, For, Issue, Node, Span, When, issues

from .nodes import CCall, CIf, CLoop, CNode, CRegion, CShare, count_calls
from .regions import MarkedNode, Region
from .roll import Iterations, roll

MAX_CALLS = 20_000  # written out; beyond, registers become places in an array


class NotStaticError(Exception):
    """Registers cannot be variables: an address stays unknown, or the code would be too long."""


class _At(NamedTuple):
    """What is known of a loop variable: first <= value <= last; how many iterations there are;
    `put`: the number that stands for its name in addresses, where there is one value only and the
    name does not stay."""

    first: int
    last: int
    rounds: int | Span
    put: int | None = None


_Known = Mapping[str, _At]


def _anywhere(limit: int, count: int | Span) -> _At:
    """In any of at most so many iterations."""
    return _At(0, limit - 1, count, 0 if limit == 1 else None)


def specialise(
    body: tuple[MarkedNode, ...], variables: frozenset[str], hw: Hardware
) -> tuple[CNode, ...]:
    """The nodes for C; `variables`: memories whose places are variables (none: nothing is written
    out).

    Raises:
        NotStaticError: an address in `variables` stays unknown, or too many calls.
    """
    return _Specialiser(variables, hw).nodes(body, {})


def _merge_shares(nodes: Iterable[CNode]) -> tuple[CNode, ...]:
    """Neighbours that the same cores run become one."""
    merged: list[CNode] = []
    for node in nodes:
        match merged[-1:], node:
            case [CShare(name, stop, before)], CShare(n, s, after) if (n, s) == (name, stop):
                merged[-1] = CShare(name, stop, (*before, *after))
            case _:
                merged.append(node)
    return tuple(merged)


Conditions = tuple[tuple[str, Edge], ...]


@dataclass(frozen=True, slots=True)
class _Deciding:
    """What decides about a node: the conditions in it, loops whose possible values are in its
    counts, and those whose numbers are in its addresses."""

    conditions: frozenset[Conditions]
    ranges: frozenset[str]
    numbers: frozenset[str]

    def within(self, known: _Known) -> tuple[object, ...]:
        """Equal where the same becomes of the node."""
        return (
            *[_open_ones(some, known) for some in self.conditions],
            *[known[name] for name in self.ranges],
            *[known[name].put for name in self.numbers],
        )

    def outside(self, loop: str) -> "_Deciding":
        """Where all of a loop around the node is meant."""
        others = frozenset(tuple(c for c in some if c[0] != loop) for some in self.conditions)
        return _Deciding(others, self.ranges - {loop}, self.numbers - {loop})


class _Specialiser:
    """Walks the nodes and counts the calls that are left to write."""

    def __init__(self, variables: frozenset[str], hw: Hardware) -> None:
        self.variables = variables
        self.hw = hw
        self.num_calls = 0
        self.deciding: dict[int, _Deciding | None] = {}  # by a node's identity, as all below
        self.looped: dict[int, Node] = {}
        self.made: dict[tuple[object, ...], tuple[CNode, ...]] = {}

    def nodes(self, body: tuple[MarkedNode, ...], known: _Known) -> tuple[CNode, ...]:
        return _merge_shares(made for node in body for made in self.node(node, known))

    def node(self, node: MarkedNode, known: _Known) -> tuple[CNode, ...]:
        deciding = self.decide(node)
        if deciding is None:
            return self.make(node, known)
        key = id(node), *deciding.within(known)
        if key in self.made:
            self.count(count_calls(self.made[key]))
        else:
            self.made[key] = self.make(node, known)
        return self.made[key]

    def make(self, node: MarkedNode, known: _Known) -> tuple[CNode, ...]:
        match node:
            case For():
                return self.loop(node, known)
            case When(conditions, body):
                return self.when(conditions, body, known)
            case Region(body, over):
                shares = {loop.name: _anywhere(loop.limit, loop.limit) for loop in over}
                return (CRegion(self.nodes(body, {**known, **shares}), over),)
            case Issue():
                looped = self.with_loops(node)
                return (self.call(node, known),) if looped is node else self.node(looped, known)

    def with_loops(self, issue: Issue) -> Node:
        if id(issue) not in self.looped:
            self.looped[id(issue)] = _with_loops(issue)
        return self.looped[id(issue)]

    def decide(self, node: MarkedNode) -> _Deciding | None:
        """What decides about a node; None where that is all around it: it holds a loop that is not
        written out."""
        if id(node) not in self.deciding:
            self.deciding[id(node)] = self._decide(node)
        return self.deciding[id(node)]

    def _decide(self, node: MarkedNode) -> _Deciding | None:
        match node:
            case Issue():
                looped = self.with_loops(node)
                if looped is not node:
                    return self.decide(looped)
                addresses = (operand.address for operand in node.operands)
                return _Deciding(
                    frozenset(),
                    frozenset(name for _, span in node.extents for name in span.offset.names),
                    frozenset(name for address in addresses for name in _address_names(address)),
                )
            case When(conditions, body):
                return self._decide_all(body, conditions=frozenset({conditions}))
            case For(loop, span, body) if node.spread is None and self.is_unrolled(node):
                found = self._decide_all(body, ranges=frozenset(span.offset.names))
                return found and found.outside(loop)
        return None

    def _decide_all(
        self,
        body: tuple[Node, ...],
        conditions: frozenset[Conditions] = frozenset(),
        ranges: frozenset[str] = frozenset(),
    ) -> _Deciding | None:
        numbers: frozenset[str] = frozenset()
        for node in body:
            one = self.decide(node)
            if one is None:
                return None
            conditions, ranges = conditions | one.conditions, ranges | one.ranges
            numbers |= one.numbers
        return _Deciding(conditions, ranges, numbers)

    def count(self, num_calls: int) -> None:
        self.num_calls += num_calls
        if self.variables and self.num_calls > MAX_CALLS:
            raise NotStaticError(f"more than {MAX_CALLS} calls to write out")

    def loop(self, node: For, known: _Known) -> tuple[CNode, ...]:
        if node.spread is not None:
            return self.share(node, known)
        count = resolve_span(node.span, known)
        is_unrolled = self.is_unrolled(node)
        if not isinstance(count, int):
            if is_unrolled:
                raise NotStaticError(f"loop {node.loop} moves registers and has no constant count")
            at = _anywhere(node.span.limit, count)
            return (CLoop(node.loop, 0, count, self.within(node, at, known)),)
        if is_unrolled:
            values = (_At(value, value, count, value) for value in range(count))
            return tuple(made for at in values for made in self.within(node, at, known))
        before = self.num_calls
        edges = set(_edges(node.loop, node.body)) if self.variables else set()
        start = 1 if count > 1 and edges & {Edge.FIRST, Edge.LATER} else 0
        stop = count - 1 if count - 1 > start and Edge.LAST in edges else count

        def among(first: int, last: int) -> tuple[CNode, ...]:
            return self.within(node, _At(first, last, count), known)

        pieces = Iterations(
            node.loop, start, stop,
            first=among(0, 0) if start else None,
            middle=among(start, stop - 1),
            last=among(stop, stop) if stop < count else None,
        )  # fmt: skip
        rolled = roll(pieces, self.hw, {name: (at.first, at.last) for name, at in known.items()})
        self.num_calls = before + count_calls(rolled)
        return rolled

    def within(self, node: For, at: "_At", known: _Known) -> tuple[CNode, ...]:
        """The loop's body where its variable is there."""
        return self.nodes(node.body, {**known, node.loop: at})

    def share(self, node: For, known: _Known) -> tuple[CNode, ...]:
        """What a core does of a spread loop; no condition where all cores have a share."""
        count = resolve_span(node.span, known)
        body = self.within(node, _anywhere(node.span.limit, count), known)
        return body if count == node.span.limit else (CShare(node.loop, count, body),)

    def is_unrolled(self, node: For) -> bool:
        """Does it move variables?"""
        return any(
            operand.memory in self.variables and node.loop in _address_names(operand.address)
            for issue in issues(node.body)
            for operand in issue.operands
        )

    def when(
        self, conditions: Conditions, body: tuple[Node, ...], known: _Known
    ) -> tuple[CNode, ...]:
        still = _open_ones(conditions, known)
        made = self.nodes(body, known) if still is not None else ()
        return (CIf(still, made),) if still and made else made

    def call(self, issue: Issue, known: _Known) -> CCall:
        self.count(1)
        extents = tuple((name, _as_span(resolve_span(span, known))) for name, span in issue.extents)
        made = replace(issue, extents=extents, repeats=()).substitute(_constants(known))
        for operand in made.operands:
            if operand.memory in self.variables and _address_names(operand.address):
                raise NotStaticError(
                    f"address of {operand.name} in {operand.memory} is not constant"
                )
        return CCall(made)


def resolve_span(span: Span, known: _Known) -> int | Span:
    """Its value if that is the same for all values the loops may have, else the span with known
    loops put in."""
    if span.total is None:
        return span.limit
    offset = span.offset.substitute(_constants(known))
    low, high = offset.interval({n: (known[n].first, known[n].last) for n in offset.names})
    least, most = (
        max(1, min(span.limit, -(-(span.total - reached) // span.unit))) for reached in (high, low)
    )
    return least if least == most else replace(span, offset=offset)


def _as_span(value: int | Span) -> Span:
    return Span(value) if isinstance(value, int) else value


def _constants(known: _Known) -> dict[str, Affine]:
    """Loops of which there is one value."""
    return {name: Affine((), at.put) for name, at in known.items() if at.put is not None}


def _address_names(address: Address) -> tuple[str, ...]:
    counters = (name for rotation in address.rotations for name in rotation.counter.names)
    return (*address.offset.names, *counters)


def _open_ones(
    conditions: Conditions, known: _Known
) -> tuple[tuple[str, Edge, int | Span], ...] | None:
    """Those of which nobody knows before the program runs, with their loops' counts; None where one
    does not hold."""
    found = []
    for loop, edge in conditions:
        holds = _holds(known[loop], edge)
        if holds is False:
            return None
        if holds is None:
            found.append((loop, edge, known[loop].rounds))
    return tuple(found)


def _holds(at: _At, edge: Edge) -> bool | None:
    """Is the loop at this edge? None: that is known at run time only."""
    if edge is not Edge.LAST:
        is_known = at.last == 0 or at.first > 0
        return (at.first == 0) is (edge is Edge.FIRST) if is_known else None
    if not isinstance(at.rounds, int):
        return None
    end = at.rounds - 1
    return at.first == end if at.first == end or at.last < end else None


def _edges(loop: str, body: tuple[MarkedNode, ...]) -> Iterator[Edge]:
    """At which edges of the loop something inside it differs."""
    for node in body:
        match node:
            case For(_, span, inner):
                if loop in span.offset.names:
                    yield Edge.LAST
                yield from _edges(loop, inner)
            case When(conditions, inner):
                yield from (edge for name, edge in conditions if name == loop)
                yield from _edges(loop, inner)
            case Region(inner):
                yield from _edges(loop, inner)
            case Issue():
                spans = [*(s for _, s in node.extents), *(r.span for r in node.repeats)]
                if any(loop in span.offset.names for span in spans):
                    yield Edge.LAST


def _with_loops(issue: Issue) -> Node:
    """The issue under one loop per hardware loop, where any has more than a single round."""
    if all(repeat.span == Span(1) for repeat in issue.repeats):
        return issue
    operands = issue.operands
    loops = []
    for number, repeat in enumerate(issue.repeats):
        if repeat.span == Span(1):
            continue
        name = f"{repeat.name}_{number}"
        loops.append((name, repeat.span))
        operands = tuple(
            replace(
                operand,
                address=Address(
                    operand.address.offset + Affine.of([(name, step)]), operand.address.rotations
                ),
            )
            for operand, step in zip(operands, repeat.strides_bytes, strict=True)
        )
    node: Node = replace(issue, operands=operands, repeats=())
    for name, span in reversed(loops):
        node = For(name, span, (node,))
    return node
