"""Cut a statement's loops into units that one call of the instruction works on.

In: a match. Out: the tiled loops (padded where the instruction's extents demand it). Not its job:
layouts, tiles.
"""

from collections.abc import Callable, Iterator, Set
from functools import lru_cache, partial
from itertools import combinations
from math import gcd

from isamap.hwdesc import ExtentKind, ExtentRule
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Expr,
    Kernel,
    Literal,
    Loop,
    Statement,
    index_range,
    is_cast,
)

from .covering import TiledLoop, synthetic_name
from .match import Match

KNOWN = 2**13  # statements' loops, cut, that are remembered


def tile_loops(kernel: Kernel, index: int, match: Match) -> Iterator[tuple[TiledLoop, ...]]:
    """Tilings of the statement's loops, fewest padded loops first.

    An unbound instruction loop that cannot run once gets a loop of its own, named after it, of
    kernel extent 1.
    """
    if not _may_stand_in(match):
        return
    for loops in _tilings(kernel, index, match):
        yield (*loops, *_synthetic_loops(match))


def _tilings(kernel: Kernel, index: int, match: Match) -> Iterator[tuple[TiledLoop, ...]]:
    """The tilings without stand-ins; most callers want the first, so the rest is made late."""
    statement = kernel.statements[index]
    extent = match.instruction.extent
    groups = tuple([(extent(name), group) for name, group in match.binding if group])
    cut = partial(_cut_loops, statement.loops, statement.target, groups)
    plain = cut(frozenset())
    bound = [name for _, group in match.binding for name in group]
    if _may_run_past(kernel, index, plain):
        yield plain
    choices = [name for name in bound if cut(frozenset({name})) != plain]
    choices = [name for name in choices if _may_pad(name, kernel, index)]
    seen = {plain}
    for count in range(1, len(choices) + 1):
        for padded in combinations(choices, count):
            loops = cut(frozenset(padded))
            if loops not in seen and _may_run_past(kernel, index, loops):
                seen.add(loops)
                yield loops


def _may_run_past(kernel: Kernel, index: int, loops: tuple[TiledLoop, ...]) -> bool:
    """May all loops that run past the kernel's extents do so?"""
    past = [loop.name for loop in loops if loop.extent != loop.kernel_extent]
    return all(_may_pad(name, kernel, index) for name in past)


@lru_cache(KNOWN)  # many matches differ in operands alone
def _cut_loops(
    loops: tuple[Loop, ...],
    target: Access,
    groups: tuple[tuple[ExtentRule, tuple[str, ...]], ...],
    padded: frozenset[str],
) -> tuple[TiledLoop, ...]:
    """All loops of a statement in units: bound ones of what the instruction takes, others of one
    iteration.

    `padded`: loops that fill whatever room there is, past their extent.
    """
    extents = {loop.name: loop.extent for loop in loops}
    moving = {name for index in target.indices for name in index.names}
    cuts = {name: (1, extent) for name, extent in extents.items()}
    for rule, group in groups:
        cuts |= cut_group(tuple((name, extents[name]) for name in group), rule, padded)
    return tuple(
        TiledLoop(
            loop.name,
            loop.extent,
            cuts[loop.name][1],
            cuts[loop.name][0],
            loop.name not in moving,
        )
        for loop in loops
    )


def cut_group(
    group: tuple[tuple[str, int], ...], rule: ExtentRule, padded: frozenset[str]
) -> dict[str, tuple[int, int]]:
    """Block and executed extent of every loop (name, extent) of a group, outermost first.

    A call takes a box of blocks, whose size the rule allows. Each loop, innermost first, takes as
    much of the room that is left as divides its extent, so that only the outermost one may end in
    a part; what it cannot take is iterated outside the call.
    """
    cuts: dict[str, tuple[int, int]] = {}
    inner = 1
    for name, extent in group[:0:-1]:
        cuts[name] = _cut_inner(extent, rule, inner, name in padded)
        inner *= cuts[name][0]
    for name, extent in group[:1]:
        cuts[name] = _cut_outermost(extent, rule, inner, name in padded)
    return cuts


def _cut_inner(extent: int, rule: ExtentRule, inner: int, pad: bool) -> tuple[int, int]:
    room = rule.maximum // inner
    if pad and extent > room:
        return room, -(-extent // room) * room
    may_take = [size for size in range(1, min(room, extent) + 1) if extent % size == 0]
    if rule.kind is not ExtentKind.AT_MOST:  # what is left must still be a whole number of blocks
        may_take = [size for size in may_take if rule.maximum % (inner * size) == 0]
    block = may_take[-1]
    return block, extent


def _cut_outermost(extent: int, rule: ExtentRule, inner: int, pad: bool) -> tuple[int, int]:
    room = rule.maximum // inner
    if rule.kind is ExtentKind.EXACTLY or pad:
        return room, -(-extent // room) * room
    if rule.kind is ExtentKind.MULTIPLE_OF:
        step = rule.multiple // gcd(rule.multiple, inner)
        padded = -(-extent // step) * step
        return min(room // step * step, padded), padded
    return min(room, extent), extent


def _synthetic_loops(match: Match) -> tuple[TiledLoop, ...]:
    loops = []
    for name, group in match.binding:
        rule = match.instruction.extent(name)
        if not group and not rule.allows(1):
            extent = rule.multiple if rule.kind is ExtentKind.MULTIPLE_OF else rule.maximum
            is_reduction = not match.instruction.result.moves_with(name)
            loops.append(TiledLoop(synthetic_name(name), 1, extent, extent, is_reduction))
    return tuple(loops)


def _may_stand_in(match: Match) -> bool:
    """Do instruction loops that run over no kernel loop leave the result as it is, on zeros?"""
    statement = match.instruction.semantics.statements[0]
    bordered = {operand for operand, access in match.operands if access.pad}
    return all(
        group
        or match.instruction.extent(name).allows(1)
        or statement.target.moves_with(name)
        or (
            statement.update == "+="
            and _is_zero(statement.value, partial(_reads_zero_past, name, bordered))
        )
        for name, group in match.binding
    )


def _reads_zero_past(loop: str, bordered: Set[str], use: Access) -> bool:
    """Does an operand read zero when an instruction's loop that stands for none goes on?"""
    return use.moves_with(loop) and use.buffer not in bordered


def _may_pad(name: str, kernel: Kernel, index: int) -> bool:
    """May `name` run past its extent, on zeros or on elements that do not exist?

    Outside arrays lies what reads there give: of a product, one factor of which reads zeros, the
    other may read anything else.
    """
    statement = kernel.statements[index]
    if leaves(statement.target, name, kernel, statement):
        return True  # what is computed there is thrown away
    return statement.update == "+=" and is_zero_past(name, kernel, index)


def is_zero_past(name: str, kernel: Kernel, index: int, but: Set[str] = frozenset()) -> bool:
    """Is what the statement adds zero past the extent of loop `name`, whatever is read around the
    buffers of `but`?"""
    statement = kernel.statements[index]

    def reads_zero(access: Access) -> bool:
        is_outside = leaves(access, name, kernel, statement)
        return is_outside and not access.pad and access.buffer not in but

    return _is_zero(statement.value, reads_zero)


def _is_zero(value: Expr, reads_zero: Callable[[Access], bool]) -> bool:
    """Is the value zero, given which accesses read zero?"""
    match value:
        case Access():
            return reads_zero(value)
        case Apply("*", args):
            return any(_is_zero(arg, reads_zero) for arg in args)
        case Apply(op, (arg,)) if is_cast(op):
            return _is_zero(arg, reads_zero)
        case Literal(literal):
            return literal == 0
        case _:
            return False


def leaves(access: Access, name: str, kernel: Kernel, statement: Statement) -> bool:
    """Is the access outside its buffer whenever the loop is past its extent?"""
    if not access.moves_with(name):
        return False
    shape = kernel.buffer(access.buffer).shape
    extents = statement.extents
    for index, size in zip(access.indices, shape, strict=True):
        step = index.coefficient(name)
        if not step or any(step * coefficient < 0 for _, coefficient in index.terms):
            continue  # another loop past its extent could lead back
        rest = Affine(tuple([term for term in index.terms if term[0] != name]), index.constant)
        low, high = index_range(rest, extents)
        first = step * extents[name]
        if (step > 0 and low + first >= size) or (step < 0 and high + first < 0):
            return True
    return False
