"""Cut a statement's loops into units that one call of the instruction works on.

In: a match. Out: the tiled loops (padded where the instruction's extents demand it). Not its job:
layouts, tiles.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

from isamap.hwdesc import ExtentKind, ExtentRule
from isamap.ir import Access, Apply, Expr, Kernel, Literal, Loop, Statement, is_cast

from .covering import TiledLoop, synthetic_name
from .match import Match


def tile_loops(kernel: Kernel, index: int, match: Match) -> Iterator[tuple[TiledLoop, ...]]:
    """Tilings of the statement's loops, fewest padded loops first.

    An unbound instruction loop that cannot run once gets a loop of its own, named after it, of
    kernel extent 1.
    """
    if not _may_stand_in(match):
        return
    statement = kernel.statements[index]
    may_pad = [loop for _, group in match.binding for loop in group]
    may_pad = [name for name in may_pad if _may_pad(match, name, kernel, index)]
    plain = {loop.name: _cut_loop(statement, match, loop, False) for loop in statement.loops}
    wide = {loop.name: _cut_loop(statement, match, loop, True) for loop in statement.loops}
    choices = [name for name in may_pad if plain[name] != wide[name]]
    for count in range(len(choices) + 1):
        for padded in combinations(choices, count):
            loops = [(wide if x.name in padded else plain)[x.name] for x in statement.loops]
            if _is_allowed(loops, may_pad):
                yield (*loops, *_synthetic_loops(match))


def _cut_loop(statement: Statement, match: Match, loop: Loop, pad: bool) -> TiledLoop:
    """The loop in units: of what the instruction takes if it is bound, else of one iteration."""
    block, extent = 1, loop.extent
    for instruction_loop, group in match.binding:
        if loop.name in group:
            rule = match.instruction.extent(instruction_loop)
            inner = _inner_extent(group, loop.name, statement.extent)
            block, extent = _cut(loop.extent, rule, inner, loop.name, group, pad)
    is_reduction = not statement.target.moves_with(loop.name)
    return TiledLoop(loop.name, loop.extent, extent, block, is_reduction)


def _inner_extent(group: tuple[str, ...], name: str, extent_of: Callable[[str], int]) -> int:
    inner = 1
    for other in group[group.index(name) + 1 :]:
        inner *= extent_of(other)
    return inner


def _cut(
    extent: int, rule: ExtentRule, inner: int, name: str, group: tuple[str, ...], pad: bool
) -> tuple[int, int]:
    """Block and executed extent of one bound loop."""
    if name != group[0]:
        return extent, extent
    room = rule.maximum // inner
    if rule.kind is ExtentKind.EXACTLY or pad:
        return room, -(-extent // room) * room
    if rule.kind is ExtentKind.MULTIPLE_OF:
        padded = -(-extent // rule.multiple) * rule.multiple
        return min(room, padded), padded
    return min(room, extent), extent


def _is_allowed(loops: list[TiledLoop], may_pad: list[str]) -> bool:
    return all(loop.extent == loop.kernel_extent or loop.name in may_pad for loop in loops)


def _synthetic_loops(match: Match) -> tuple[TiledLoop, ...]:
    loops = []
    statement = match.instruction.semantics.statements[0]
    for name, group in match.binding:
        rule = match.instruction.extent(name)
        if not group and not rule.allows(1):
            extent = rule.multiple if rule.kind is ExtentKind.MULTIPLE_OF else rule.maximum
            is_reduction = not statement.target.moves_with(name)
            loops.append(TiledLoop(synthetic_name(name), 1, extent, extent, is_reduction))
    return tuple(loops)


def _may_stand_in(match: Match) -> bool:
    """Do instruction loops that run over no kernel loop leave the result as it is, on zeros?"""
    statement = match.instruction.semantics.statements[0]
    return all(
        group
        or match.instruction.extent(name).allows(1)
        or statement.target.moves_with(name)
        or (statement.update == "+=" and _is_zero_with(statement.value, name))
        for name, group in match.binding
    )


def _may_pad(match: Match, name: str, kernel: Kernel, index: int) -> bool:
    """May `name` run past its extent on zeros? Output loops always; sums of products of zeros
    too."""
    statement = kernel.statements[index]
    if statement.target.moves_with(name):
        return True
    return statement.update == "+=" and _is_zero_with(statement.value, name)


def _is_zero_with(value: Expr, name: str) -> bool:
    """Is the value zero whenever all operands that move with the loop are zero?"""
    match value:
        case Access():
            return value.moves_with(name)
        case Apply("*", args):
            return any(_is_zero_with(arg, name) for arg in args)
        case Apply(op, (arg,)) if is_cast(op):
            return _is_zero_with(arg, name)
        case Literal(literal):
            return literal == 0
        case _:
            return False
