"""How the host runs statements as compiled loops: their order, and what its vectors hold.

In: what a host call runs, how far apart neighbours along a loop lie. Out: nests of loops. Not its
job: text (`codegen`), cycles (`host`).

Every target element keeps its order of updates, but for sums whose order does not matter.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from isamap.ir import (
    Kernel,
    Loop,
    LoopKind,
    Statement,
    innermost,
    kind_within,
    loop_kinds,
    may_reorder,
)

from .hardware import HostRule

EXACT_IN_ANY_ORDER = ("max=", "min=")
SUMMED_AS = "f32"  # whose sums are kept in lanes, or turned
TURNED_ROWS = (8, 4, 1)  # how many may be turned at once, so that one vector holds one of each


class Way(Enum):
    """How the innermost loop runs."""

    IN_ORDER = "in order"
    ACROSS = "across"  # iterations do not depend on each other: vectors of them
    ROWS = "rows"  # sums in order; vectors hold one element of each of several rows
    LANES = "lanes"  # sums in any order: each lane its own, joined at last


@dataclass(frozen=True, slots=True)
class Single:
    """One statement under loops of its own, outermost first; under `ROWS` the last two are the rows
    and what is summed."""

    statement: Statement
    loops: tuple[Loop, ...]
    way: Way


@dataclass(frozen=True, slots=True)
class Shared:
    """Neighbours under one loop, each of which takes `at_once` of its iterations; where that is not
    1, the loop over these is among its own."""

    loop: Loop
    at_once: int
    body: tuple["HostNode", ...]


HostNode = Single | Shared


@dataclass(frozen=True, slots=True)
class HostLoops:
    """Decides how a kernel's statements run.

    `strides`: elements between neighbours, by buffer and dimension. `is_apart`: does no operand
    share a byte with another one that is written? `may_reassociate`: may floats be summed in any
    order?
    """

    kernel: Kernel
    rule: HostRule
    strides: Mapping[str, Sequence[int]]
    is_apart: Callable[[tuple[Statement, ...]], bool] = field(default=lambda _: True)
    may_reassociate: bool = False

    @property
    def num_rows(self) -> int:
        """How many rows are summed side by side."""
        return next(rows for rows in TURNED_ROWS if rows <= self.rule.lanes)

    def plan(self) -> tuple[HostNode, ...]:
        """The kernel's loops as the host runs them."""
        return self._plan(self.kernel.statements, 0)

    def _plan(self, statements: tuple[Statement, ...], depth: int) -> tuple[HostNode, ...]:
        nodes: list[HostNode] = []
        rest = list(statements)
        while rest:
            group = [rest.pop(0)]
            while rest and len(group[0].loops) > depth and _shares(group[0], rest[0], depth):
                group.append(rest.pop(0))
            nodes.append(self._plan_group(tuple(group), depth))
        return tuple(nodes)

    def _plan_group(self, group: tuple[Statement, ...], depth: int) -> HostNode:
        if len(group) == 1:
            return self._single(group[0], depth)
        loop = group[0].loops[depth]
        inside = self._plan(group, depth + 1)
        singles = [node for node in inside if isinstance(node, Single)]
        if len(singles) == len(inside) and self.is_apart(group):
            side_by_side = tuple(self._single(statement, depth) for statement in group)
            rows = [node.loops[-2] for node in side_by_side if node.way is Way.ROWS]
            if loop in rows and _is_free(group, depth):
                return Shared(loop, self.num_rows, side_by_side)
        return Shared(loop, 1, inside)

    def _single(self, statement: Statement, depth: int) -> Single:
        loops = statement.loops[depth:]
        kinds = loop_kinds(statement, [loop.name for loop in statement.loops[:depth]])
        if not loops:
            return Single(statement, (), Way.IN_ORDER)
        if not self.is_apart((statement,)):
            return Single(statement, loops, Way.IN_ORDER)
        inner = innermost(statement, loops, self.strides)
        rest = tuple(loop for loop in loops if loop != inner)
        if kinds[inner.name] is LoopKind.PARALLEL:
            return Single(statement, (*rest, inner), Way.ACROSS)
        if not self._is_sum(statement, inner) or self.rule.lanes == 1:
            return Single(statement, (*rest, inner), Way.IN_ORDER)
        if self.may_reassociate or statement.update in EXACT_IN_ANY_ORDER:
            return Single(statement, (*rest, inner), Way.LANES)
        rows = [loop for loop in rest if kinds[loop.name] is LoopKind.PARALLEL]
        if not rows or self.num_rows == 1:
            return Single(statement, (*rest, inner), Way.IN_ORDER)
        others = tuple(loop for loop in rest if loop != rows[-1])
        return Single(statement, (*others, rows[-1], inner), Way.ROWS)

    def _is_sum(self, statement: Statement, loop: Loop) -> bool:
        """Does the statement join floats along the loop, to what does not move with it?"""
        dtype = self.kernel.buffer(statement.target.buffer).dtype
        moves = statement.target.moves_with(loop.name)
        is_joined = statement.update != "=" and may_reorder(statement)
        return dtype == SUMMED_AS and is_joined and not moves


def _shares(first: Statement, second: Statement, depth: int) -> bool:
    return second.loops[: depth + 1] == first.loops[: depth + 1]


def _is_free(group: tuple[Statement, ...], depth: int) -> bool:
    """Do iterations of the shared loop at `depth` not depend on each other?"""
    loops = group[0].loops
    fixed = [loop.name for loop in loops[:depth]]
    return kind_within(list(group), loops[depth].name, fixed) is LoopKind.PARALLEL
