"""Which iterations and statements may be reordered.

In: verified kernels and statements. Out: kinds of loops, yes or no; "no" may be cautious, "yes" is
certain. Not its job: choosing an order; whether floats may be reassociated (the caller says).

Two accesses conflict when they touch one element and at least one writes. Reads by `pad` outside a
buffer touch nothing. A conflict between two updates of one target by the same `+=`, `*=`, `max=`
or `min=` is *soft*: the order matters only to rounding. All others are hard.
Source: the classical dependence test over boxes; derived here.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from enum import Enum
from functools import lru_cache
from itertools import takewhile

from .affine import Affine
from .kernel import Access, Kernel, Loop, Statement
from .solve_box import Equation, has_solution

MEMORY = 2**14  # answers that are kept: rewritten forms of a kernel ask the same again


class LoopKind(Enum):
    """What a loop allows.

    PARALLEL: iterations that differ in this loop never conflict. REDUCTION: they conflict softly
    only.
    SEQUENTIAL: they may conflict hard.
    """

    PARALLEL = "parallel"
    REDUCTION = "reduction"
    SEQUENTIAL = "sequential"


class Order(Enum):
    """Relation of a shared loop's value at the second access to that at the first."""

    EQUAL = "equal"
    LATER = "later"
    EARLIER = "earlier"
    ANY = "any"


Relations = tuple[tuple[str, Order], ...]  # of some shared loops, each once


def loop_kinds(statement: Statement, fixed: Collection[str] = ()) -> dict[str, LoopKind]:
    """Kind of every loop of one statement taken alone; loops in `fixed` are held and left out."""
    return {
        loop.name: kind_within([statement], loop.name, fixed)
        for loop in statement.loops
        if loop.name not in fixed
    }


def kernel_loop_kinds(kernel: Kernel) -> dict[str, LoopKind]:
    """Kind of every loop of a kernel, over all statements under it, given the loops around it."""
    kinds: dict[str, LoopKind] = {}
    for statement in kernel.statements:
        outer: list[str] = []
        for loop in statement.loops:
            if loop.name not in kinds:
                under = [s for s in kernel.statements if loop in s.loops]
                kinds[loop.name] = kind_within(under, loop.name, outer)
            outer.append(loop.name)
    return kinds


def kind_within(statements: list[Statement], loop: str, fixed: Collection[str]) -> LoopKind:
    """Kind of `loop` over statements that all have it, with the loops in `fixed` held."""
    order = (*((name, Order.EQUAL) for name in fixed), (loop, Order.LATER))
    kind = LoopKind.PARALLEL
    for first in statements:
        for second in statements:
            found = _conflict(first, second, order)
            if found is LoopKind.SEQUENTIAL:
                return found
            if found is LoopKind.REDUCTION:
                kind = found
    return kind


def carrying_loop(statements: Sequence[Statement], fixed: Collection[str]) -> Loop | None:
    """The outermost loop, shared by all statements, in which iterations conflict, softly or hard,
    with the loops in `fixed` held; None where there is none.

    The shared loops outside of it are parallel: whatever meets is in the same iterations of them,
    so it may as well run outside of them.
    """
    nests = ([loop for loop in s.loops if loop.name not in fixed] for s in statements)
    levels = takewhile(lambda level: len(set(level)) == 1, zip(*nests, strict=False))
    shared: list[Loop] = [level[0] for level in levels]
    for loop in shared:
        if kind_within(list(statements), loop.name, fixed) is not LoopKind.PARALLEL:
            return loop
    return None


def move_out(statement: Statement, loop: Loop, depth: int) -> Statement:
    """The statement with the loop at this depth, the others in their order."""
    rest = [other for other in statement.loops if other != loop]
    return replace(statement, loops=(*rest[:depth], loop, *rest[depth:]))


def may_permute(statement: Statement, order: tuple[str, ...], *, may_reassociate: bool) -> bool:
    """May the loops of a statement taken alone run in `order` (outermost first)?

    `may_reassociate`: True for integers, or where floats may be summed in any order.
    """
    kinds = loop_kinds(statement)
    assert sorted(order) == sorted(kinds), f"{order} is no permutation of the loops"
    free = {LoopKind.PARALLEL, LoopKind.REDUCTION} if may_reassociate else {LoopKind.PARALLEL}
    tied = [name for name in kinds if kinds[name] not in free]
    return [name for name in order if name in tied] == tied


def may_interchange(
    statements: tuple[Statement, ...],
    outer: str,
    inner: str,
    fixed: Collection[str] = (),
    *,
    may_reassociate: bool,
) -> bool:
    """May `outer` and `inner`, directly around all `statements`, change places?

    Forbidden is a conflict that crosses: later in `outer`, earlier in `inner`, with the loops in
    `fixed` (those around both) held. Exact up to `has_solution`, where `may_permute` is cautious.
    """
    order = {**dict.fromkeys(fixed, Order.EQUAL), outer: Order.LATER, inner: Order.EARLIER}
    allowed = {LoopKind.PARALLEL} | ({LoopKind.REDUCTION} if may_reassociate else set())
    return all(conflict(a, b, order) in allowed for a in statements for b in statements)


def may_swap(
    first: Statement,
    second: Statement,
    *,
    may_reassociate: bool,
    fixed: Collection[str] = (),
) -> bool:
    """May two statements, each with loops of its own but for those in `fixed`, which they share,
    run in either order?"""
    names = {loop.name for loop in first.loops} & {loop.name for loop in second.loops}
    order = {name: Order.EQUAL if name in fixed else Order.ANY for name in names}
    found = conflict(first, second, order)
    if found is LoopKind.REDUCTION:
        return may_reassociate
    return found is LoopKind.PARALLEL


def may_distribute(
    first: Statement,
    second: Statement,
    shared: tuple[str, ...],
    fixed: Collection[str] = (),
    *,
    may_reassociate: bool = False,
) -> bool:
    """May shared loops be split so that all of `first` runs before all of `second`?

    `shared`: the common loops to split, outermost first; those in `fixed` stay common. Forbidden
    is a conflict between an iteration of `second` and a later one of `first`: a hard one, or any
    unless `may_reassociate`, as in `may_permute`.
    """
    free = {LoopKind.PARALLEL} | ({LoopKind.REDUCTION} if may_reassociate else set())
    held = dict.fromkeys(fixed, Order.EQUAL)
    for depth, loop in enumerate(shared):
        rest = dict.fromkeys(shared[depth + 1 :], Order.ANY)
        order = tuple({**held, loop: Order.EARLIER, **rest}.items())
        if _conflict(first, second, order) not in free:
            return False
        held[loop] = Order.EQUAL
    return True


def conflict(first: Statement, second: Statement, order: dict[str, Order]) -> LoopKind:
    """Worst conflict between iterations x of `first` and y of `second` that `order` relates.

    Loops not in `order` vary freely. Returns PARALLEL for none, REDUCTION for soft, SEQUENTIAL for
    hard.
    """
    return _conflict(first, second, tuple(order.items()))


def _conflict(first: Statement, second: Statement, order: Relations) -> LoopKind:
    target, other = first.target, second.target
    for read in second.reads:
        if read.buffer == target.buffer and _meets(first, target, second, read, order):
            return LoopKind.SEQUENTIAL
    for read in first.reads:
        if read.buffer == other.buffer and _meets(first, read, second, other, order):
            return LoopKind.SEQUENTIAL
    if target.buffer != other.buffer or not _meets(first, target, second, other, order):
        return LoopKind.PARALLEL
    is_soft = first.update == second.update != "="
    return LoopKind.REDUCTION if is_soft else LoopKind.SEQUENTIAL


def may_touch(
    first: Statement, a: Access, second: Statement, b: Access, order: dict[str, Order]
) -> bool:
    """Can `a` in an iteration x of `first` and `b` in an iteration y of `second` be one element?"""
    return a.buffer == b.buffer and _meets(first, a, second, b, tuple(order.items()))


def _meets(first: Statement, a: Access, second: Statement, b: Access, order: Relations) -> bool:
    return _may_meet(first.loops, a.indices, second.loops, b.indices, order)


@lru_cache(maxsize=MEMORY)
def _may_meet(
    first: tuple[Loop, ...],
    indices: tuple[Affine, ...],
    second: tuple[Loop, ...],
    others: tuple[Affine, ...],
    order: Relations,
) -> bool:
    """Can indices in an iteration x of `first` equal others in an iteration y of `second`?

    Variables are x's loops, y's loops (marked `'`), and for ordered loops the positive distance
    (marked `+`).
    """
    relations = dict(order)
    bounds: dict[str, tuple[int, int]] = {}
    equations: list[Equation] = []
    at_y: dict[str, Affine] = {}
    for loop in first:
        bounds[loop.name] = (0, loop.extent - 1)
    for loop in second:
        relation = relations.get(loop.name, Order.ANY)
        if relation is Order.ANY:
            at_y[loop.name] = Affine.var(f"{loop.name}'")
            bounds[f"{loop.name}'"] = (0, loop.extent - 1)
            continue
        at_y[loop.name] = Affine.var(loop.name)
        if relation is Order.EQUAL:
            continue
        if loop.extent == 1:
            return False
        sign = 1 if relation is Order.LATER else -1
        step = Affine.of([(f"{loop.name}+", sign)])
        at_y[loop.name] = Affine.var(loop.name) + step
        bounds[f"{loop.name}+"] = (1, loop.extent - 1)
        bounds[f"{loop.name}'"] = (0, loop.extent - 1)  # y's value is inside too
        equations.append(at_y[loop.name] + Affine.of([(f"{loop.name}'", -1)]))
    for index, other in zip(indices, others, strict=True):
        equations.append(index + other.substitute(at_y).scaled(-1))
    return has_solution(tuple(equations), bounds)
