"""Copies of neighbouring iterations become one call where the machine has an instruction for it.

In: nodes for C, the machine. Out: the same nodes; in innermost loops, calls that a wider
instruction does for several iterations at once are made in each so-manieth one. Not its job: what
calls cost (an instruction's cycles are those that it takes in such loops), text.

A copy of a column takes a line of each row, and the next one takes them again; one that takes
sixteen columns at once turns them in registers. The wider instruction is the other one in a loop:
without one of its loops, and without what that loop indexes, both have the same semantics. What a
later iteration copies is copied earlier then: nothing that the loop does in between may touch it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from isamap.hwdesc import ExtentKind, Hardware, Instruction
from isamap.ir import Access, Affine, Apply, Expr

from .nodes import CCall, CIf, CLoop, CNode, CRegion, CShare, CTurn
from .reach import Ranges, Reach, calls_within, reaches


@dataclass(frozen=True, slots=True)
class _Join:
    """`wide` does what `count` calls do of which each is an iteration of its `loop`."""

    wide: Instruction
    loop: str
    count: int


def join_copies(nodes: tuple[CNode, ...], hw: Hardware) -> tuple[CNode, ...]:
    """The nodes, with wider calls in loops whose iterations are a multiple of theirs."""
    joins = _find_joins(hw)
    return tuple(_joined(node, hw, joins, {}) for node in nodes) if joins else nodes


def _find_joins(hw: Hardware) -> dict[str, list[_Join]]:
    """By the instruction whose calls are joined, the widest first."""
    found: dict[str, list[_Join]] = {}
    copies = [x for x in hw.instructions if x.is_copy and not x.repeats and not x.immediates]
    for wide in copies:
        if any(rule.kind is not ExtentKind.EXACTLY for _, rule in wide.extents):
            continue
        for loop, rule in wide.extents if wide.c_form is not None else ():
            for single in copies:
                if _is_iteration(single, wide, loop):
                    found.setdefault(single.name, []).append(_Join(wide, loop, rule.maximum))
    return {name: sorted(joins, key=lambda join: -join.count) for name, joins in found.items()}


def _is_iteration(single: Instruction, wide: Instruction, loop: str) -> bool:
    """Is a call of `single` one iteration of `wide`, in the same memories?"""
    (one,), (all_of_them,) = single.semantics.statements, wide.semantics.statements
    reduced = _without(all_of_them.target, loop), _without(all_of_them.value, loop)
    places = [(x.name, x.memory) for x in single.operands]
    return (
        len(single.extents) == len(wide.extents) - 1
        and (one.target, one.update, one.value) == (reduced[0], all_of_them.update, reduced[1])
        and places == [(x.name, x.memory) for x in wide.operands]
        and all(x.align_bytes % wide.operand(x.name).align_bytes == 0 for x in single.operands)
    )


def _without(expr: Expr, loop: str) -> Expr:
    """The expression without the dimensions that the loop alone indexes."""
    match expr:
        case Access(_, indices):
            return replace(expr, indices=tuple(i for i in indices if i != Affine.of([(loop, 1)])))
        case Apply(_, args):
            return replace(expr, args=tuple(_without(arg, loop) for arg in args))
        case _:
            return expr


def _joined(node: CNode, hw: Hardware, joins: Mapping[str, list[_Join]], around: Ranges) -> CNode:
    match node:
        case CLoop(name, first, stop, body):
            ranges = {**around, name: (first, node.limit - 1)}
            if any(isinstance(x, CLoop | CIf | CShare | CRegion) for x in body):
                return replace(node, body=tuple(_joined(x, hw, joins, ranges) for x in body))
            return _with_wider(node, hw, joins, ranges) if isinstance(stop, int) else node
        case CIf() | CShare() | CRegion():
            return replace(node, body=tuple(_joined(x, hw, joins, around) for x in node.body))
        case _:
            return node


def _with_wider(
    loop: CLoop, hw: Hardware, joins: Mapping[str, list[_Join]], ranges: Ranges
) -> CLoop:
    """The loop, which begins with wider calls in every so-manieth iteration."""
    rest: list[CNode] = []
    turns: dict[int, tuple[CCall, ...]] = {}
    for number, node in enumerate(loop.body):
        found = _wider(number, loop, hw, joins, ranges) if isinstance(node, CCall) else None
        if found is None:
            rest.append(node)
        else:
            turns[found[0]] = (*turns.get(found[0], ()), found[1])
    wider = (CTurn(loop.name, count, loop.first, calls) for count, calls in turns.items())
    return replace(loop, body=(*wider, *rest))


def _wider(
    number: int, loop: CLoop, hw: Hardware, joins: Mapping[str, list[_Join]], ranges: Ranges
) -> tuple[int, CCall] | None:
    """What makes a call in a loop's body needless, and for how many iterations, if there is such a
    thing."""
    call = loop.body[number]
    assert isinstance(loop.stop, int) and isinstance(call, CCall), "a call in a counted loop"
    for join in joins.get(call.issue.instruction, ()):
        if (loop.stop - loop.first) % join.count == 0:
            wide = _wide_call(call, loop.name, join)
            if wide is not None and _may_move(number, loop, join.count, hw, ranges):
                return join.count, wide
    return None


def _wide_call(call: CCall, name: str, join: _Join) -> CCall | None:
    """The call for as many iterations of the loop called `name`; None where it may not be so."""
    issue, wide = call.issue, join.wide
    spans = dict(issue.extents)
    sizes = {loop: rule.maximum for loop, rule in wide.extents if loop != join.loop}
    if any(spans[loop].total is not None or spans[loop].limit != n for loop, n in sizes.items()):
        return None
    operands = []
    for operand in issue.operands:
        rule = wide.operand(operand.name)
        step = operand.address.offset.coefficient(name)
        own = iter(operand.strides_bytes)
        is_new = [i.names == (join.loop,) for i in wide.access(operand.name).indices]
        strides = tuple(step if new else next(own) for new in is_new)
        if operand.address.rotations or not all(
            known.allows(stride) for known, stride in zip(rule.strides, strides, strict=True)
        ):
            return None
        operands.append(replace(operand, strides_bytes=strides))
    span = replace(next(iter(spans.values())), limit=join.count)
    extents = tuple((loop, spans.get(loop, span)) for loop, _ in wide.extents)
    return CCall(replace(issue, instruction=wide.name, operands=tuple(operands), extents=extents))


def _may_move(number: int, loop: CLoop, count: int, hw: Hardware, ranges: Ranges) -> bool:
    """May a call be made up to `count` - 1 iterations earlier, before all else in that one?"""
    own = list(_touched(loop.body[number], hw))
    for place, node in enumerate(loop.body):
        nearest = 0 if place < number else 1
        for other in _touched(node, hw) if place != number else own:
            for mine in own:
                if mine.operand.memory == other.operand.memory and (
                    mine.is_written or other.is_written
                ):
                    far = range(nearest, count)
                    if _meet(mine, other, loop.name, far, ranges):
                        return False
    return True


def _touched(node: CNode, hw: Hardware) -> Iterator[Reach]:
    for issue, _ in calls_within((node,), {}):
        yield from reaches(issue, hw)


def _meet(mine: Reach, other: Reach, loop: str, far: range, ranges: Ranges) -> bool:
    """May bytes of one place, so many iterations of the loop on, be among those of another one?"""
    here, there = mine.operand.address, other.operand.address
    known = ranges.keys() >= {*here.offset.names, *there.offset.names}
    if there.rotations or not known:
        return True
    if here.offset.terms == there.offset.terms:
        step = here.offset.coefficient(loop)
        gap = there.offset.constant - here.offset.constant
        return any(
            gap + other.first <= n * step + mine.last and n * step + mine.first <= gap + other.last
            for n in far
        )
    low, high = mine.within(ranges)
    other_low, other_high = other.within(ranges)
    return other_low <= high and low <= other_high
