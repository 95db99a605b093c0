"""Hints that would stand together are shared out among the iterations of loops.

In: places that a body asks for, the body's nodes, the machine. Out: which loop asks for which of
them when. Not its job: which places (`prefetch`), what rounds share (`shares`).

All at once, hints take the places in which a core notes what it waits for, and calls that miss the
nearest cache stand still meanwhile: as many lines as a tile of sums has, asked for before its
calls, cost as much as if nobody had asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import ceil, prod

from isamap.hwdesc import Hardware
from isamap.ir import Affine

from .nodes import CHint, CLoop, CNode, CTurn
from .pace import calls_cycles
from .reads import length_of
from .shares import TOGETHER

MORE = 1 / 4  # of the lines may be asked for in vain

Path = tuple[int, ...]  # number of a node in a body, of one in that one's body, ...


@dataclass(frozen=True, slots=True)
class Turns:
    """The first `count` places are asked for in each `period`-th iteration of the innermost of
    nested loops, and those behind them in later ones, each `step_bytes` further on than the one
    before; of the loops around it, those `counted` go on with it, others ask in their first
    iteration only. `path`: of what the innermost loop does first."""

    path: Path
    loops: tuple[CLoop, ...]
    counted: tuple[str, ...]
    period: int
    count: int
    step_bytes: int

    @property
    def num_rounds(self) -> int:
        """Of the innermost loop, those in which it asks."""
        return prod(length_of(loop) for loop in self.loops if loop.name in self.counted)

    @property
    def num_hints(self) -> int:
        """All that the loops ask for."""
        return self.num_rounds * ceil(length_of(self.loops[-1]) / self.period) * self.count

    def share(self, hints: Sequence[CHint]) -> tuple[CNode, ...]:
        """What the innermost loop does first; `hints`: for the first `count` places."""
        asked: tuple[CHint | CTurn, ...] = tuple(map(self._moved, hints))
        for loop in self.loops[:-1]:
            if loop.name not in self.counted and length_of(loop) > 1:
                asked = (CTurn(loop.name, length_of(loop), loop.first, asked),)
        inner = self.loops[-1]
        return asked if self.period == 1 else (CTurn(inner.name, self.period, inner.first, asked),)

    def _moved(self, hint: CHint) -> CHint:
        """The hint, moved on by the loops from one turn to the next."""
        terms, first = [], 0
        each = self.step_bytes
        for loop in reversed(self.loops):
            step = 0
            if loop is self.loops[-1]:
                num_turns = ceil(length_of(loop) / self.period)
                step = each // self.period if num_turns > 1 else 0
                each *= num_turns
            elif loop.name in self.counted:
                step, each = each, each * length_of(loop)
            terms.append((loop.name, step))
            first += step * loop.first
        address = hint.operand.address
        moved = replace(address, offset=address.offset + Affine.of(terms))
        operand = replace(hint.operand, address=moved)
        return replace(hint, operand=operand, ahead_bytes=hint.ahead_bytes - first)


def find_turns(places: Sequence[int], body: Sequence[CNode], hw: Hardware) -> Turns | None:
    """How loops of a body ask for many places in turn, as few at once and as evenly as they can;
    None where few stand together, or no loop may ask for about as many as there are."""
    loops = [*_longest(body, hw)]
    count = _alike(places)
    if len(places) <= TOGETHER or not loops or count is None:
        return None
    found: list[Turns] = []
    for depth in range(1, len(loops) + 1):
        path = (*(number for number, _ in loops[:depth]), 0)
        nest = tuple(loop for _, loop in loops[:depth])
        names = [loop.name for loop in nest[:-1]]
        for counted in chain(*(combinations(names, n) for n in range(depth))):
            first = Turns(path, nest, counted, 1, count, places[count] - places[0])
            turns = _paced(first, ceil(len(places) / count))
            if turns.num_hints <= (1 + MORE) * len(places):
                found.append(turns)
    return min(found, key=lambda x: (x.count, -x.num_rounds, x.num_hints), default=None)


def put_before(nodes: Sequence[CNode], asked: Sequence[tuple[Path, CNode]]) -> tuple[CNode, ...]:
    """The nodes with others, each in front of that at its path."""
    found: list[CNode] = []
    for number, node in enumerate(nodes):
        inside = [(path[1:], x) for path, x in asked if path[0] == number and len(path) > 1]
        found += [x for path, x in asked if path == (number,)]
        if inside:
            assert isinstance(node, CLoop), "a path leads through loops"
            node = replace(node, body=put_before(node.body, inside))
        found.append(node)
    return tuple(found)


def _longest(body: Sequence[CNode], hw: Hardware) -> Iterator[tuple[int, CLoop]]:
    """The loop that works longest with its number, the one in it that does, and so on, as far as
    their lengths are known."""
    while True:
        loops = [(n, x) for n, x in enumerate(body) if isinstance(x, CLoop)]
        if not loops:
            return
        number, loop = max(loops, key=lambda x: calls_cycles((x[1],), hw))
        if not isinstance(loop.stop, int):
            return
        yield number, loop
        body = loop.body


def _alike(places: Sequence[int]) -> int | None:
    """The least number of places after which they go on alike."""
    most = min(len(places) - 1, TOGETHER)
    return next((n for n in range(1, most + 1) if _is_regular(places, n)), None)


def _is_regular(places: Sequence[int], count: int) -> bool:
    return len({far - near for near, far in zip(places, places[count:])}) <= 1


def _paced(turns: Turns, groups: int) -> Turns:
    """The same for so many groups of places, with as many iterations in between as there are, each
    of which stands for whole bytes; where there are too few, with several groups in each."""
    length, groups = length_of(turns.loops[-1]), ceil(groups / turns.num_rounds)
    if groups > length:
        several = ceil(groups / length)
        return replace(turns, count=several * turns.count, step_bytes=several * turns.step_bytes)
    longest = (length - 1) // (groups - 1) if groups > 1 else length
    whole = (n for n in range(longest, 0, -1) if n == length or turns.step_bytes % n == 0)
    return replace(turns, period=next(whole))
