"""What tasks wait for of each other: of the bytes that both touch, those that one of them writes.

In: two tasks, when each goes through which buffer. Out: cycles from the begin of the one to that of
the other. Not its job: how tasks follow each other (`timeline`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import inf

from isamap.costmodels import Passing, Span
from isamap.ir import Access, Order, Statement, accesses, may_touch
from isamap.mapper import Task

Meeting = tuple[Statement, Access, Statement, Access]  # an access of the one, one of the other


@dataclass(frozen=True, slots=True)
class Delays:
    """Cycles from a task's begin to those of a later one: of its units that run `ahead`, of those
    that lag `behind`, and of the others."""

    ahead: float = -inf
    others: float = -inf
    behind: float = -inf

    def after(self, begin: float) -> "Delays":
        """From when on."""
        return Delays(begin + self.ahead, begin + self.others, begin + self.behind)

    def both(self, other: "Delays") -> "Delays":
        """The longer ones."""
        return Delays(
            max(self.ahead, other.ahead),
            max(self.others, other.others),
            max(self.behind, other.behind),
        )

    def either(self, other: "Delays") -> "Delays":
        """The shorter ones."""
        return Delays(
            min(self.ahead, other.ahead),
            min(self.others, other.others),
            min(self.behind, other.behind),
        )


@dataclass(frozen=True, slots=True)
class Hazard:
    """A later task must wait until an earlier one has read, or `has_written`, what it itself reads,
    or `writes`: one of them writes.

    `in_round`: in the same round of the loops around both; `carriers`: of these, `shared`, those in
    whose later rounds it must, all loops further out being in the same one.
    """

    buffer: str
    has_written: bool
    writes: bool
    in_round: bool
    shared: tuple[str, ...]
    carriers: tuple[str, ...]

    def is_carried(self, fresh: frozenset[str]) -> bool:
        """Does it hold between the latest two rounds, with these loops in their first one?"""
        return any(
            loop not in fresh and fresh.issuperset(self.shared[self.shared.index(loop) + 1 :])
            for loop in self.carriers
        )


def find_hazards(first: Task, then: Task) -> Iterator[Hazard]:
    """Why a task must wait for another one, or for an earlier round of itself."""
    shared = tuple(name for name in first.held if name in then.held)
    equal = [dict.fromkeys(shared[:depth], Order.EQUAL) for depth in range(len(shared) + 1)]
    for (buffer, has_written, writes), pairs in _meetings(first, then).items():
        carriers = tuple(
            loop
            for outside, loop in zip(equal, shared)
            if _meet(pairs, outside | {loop: Order.LATER})
        )
        in_round = _meet(pairs, equal[-1])
        if in_round or carriers:
            yield Hazard(buffer, has_written, writes, in_round, shared, carriers)


def _meetings(first: Task, then: Task) -> dict[tuple[str, bool, bool], list[Meeting]]:
    """Accesses of two tasks to one buffer of which at least one writes, by the buffer and which of
    them do."""
    found: dict[tuple[str, bool, bool], list[Meeting]] = {}
    for a, b in product(first.statements, then.statements):
        for (has_written, old), (writes, new) in product(_uses(a), _uses(b)):
            if (has_written or writes) and old.buffer == new.buffer:
                found.setdefault((old.buffer, has_written, writes), []).append((a, old, b, new))
    return found


def _uses(statement: Statement) -> tuple[tuple[bool, Access], ...]:
    """Its accesses, and which of them writes: an update reads its target, too."""
    reads = accesses(statement.value)
    updated = (statement.target,) if statement.update != "=" else ()
    return *((False, access) for access in (*reads, *updated)), (True, statement.target)


def _meet(meetings: list[Meeting], order: dict[str, Order]) -> bool:
    """May any be at one element, in iterations that `order` relates?"""
    return any(may_touch(a, old, b, new, order) for a, old, b, new in meetings)


def find_delays(first: Task, then: Task, old: Span, new: Span, hazard: Hazard) -> Delays:
    """The least that keep both apart."""
    apart = others = -inf
    ends = old.written if hazard.has_written else old.read
    begins = new.begun if hazard.writes else new.fetched
    for end, begin in product(ends, begins):
        if not end.buffer == begin.buffer == hazard.buffer:
            continue
        if hazard.writes and (end.layout, end.home) != (begin.layout, begin.home):
            continue  # one of them has a copy of its own
        delay = _delay(first, then, end, begin)
        if begin.is_apart:
            apart = max(apart, delay)
        else:
            others = max(others, delay)
    return Delays(-inf, others, apart) if hazard.writes else Delays(apart, others)


def _delay(first: Task, then: Task, end: Passing, begin: Passing) -> float:
    """Cycles between the begins of two tasks, so that the later one finds its parts of a buffer
    when the other one is done with them, and only these."""
    old, new = _dim(first, end), _dim(then, begin)
    if old is None or old != new:
        last = end.count - 1 if old is None else _part(first, end, old, _reach(then, end, old)[1])
        soon = 0 if new is None else _part(then, begin, new, _reach(first, begin, new)[0])
        return end.cycle(last) - begin.cycle(soon)
    mine, other = _reach(then, begin, old), _reach(first, end, old)
    low, high = max(mine[0], other[0]), min(mine[1], other[1])
    size = mine[1] - mine[0] + 1
    parts = range(_part(then, begin, old, low), _part(then, begin, old, high) + 1)
    ends = (min(high, mine[0] - (-(part + 1) * size // begin.count) - 1) for part in parts)
    return max(
        (
            end.cycle(_part(first, end, old, last)) - begin.cycle(part)
            for part, last in zip(parts, ends, strict=True)
        ),
        default=-inf,
    )


def _part(task: Task, passing: Passing, dim: int, position: int) -> int:
    """The part of the task's own passage in which a position lies."""
    low, high = _reach(task, passing, dim)
    part = (position - low) * passing.count // (high - low + 1)
    return min(max(part, 0), passing.count - 1)


def _reach(task: Task, passing: Passing, dim: int) -> tuple[int, int]:
    """The first and the last position in a dimension of a buffer that a task touches."""
    ranges = [
        access.indices[dim].interval({loop.name: (0, loop.extent - 1) for loop in s.loops})
        for s in task.statements
        for access in s.accesses
        if access.buffer == passing.buffer
    ]
    return min(low for low, _ in ranges), max(high for _, high in ranges)


def _dim(task: Task, passing: Passing) -> int | None:
    """The buffer's dimension through which the task goes part by part."""
    ends = (task.ends.inlet, task.ends.outlet) if task.ends else ()
    own = task.statement.accesses
    dims = {
        next((d for d, i in enumerate(a.indices) if i.terms == ((passing.loop, 1),)), None)
        for a in (*own, *ends)
        if a is not None and a.buffer == passing.buffer
    }
    return dims.pop() if len(dims) == 1 else None
