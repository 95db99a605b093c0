"""Bind the loops of an instruction to those of a statement.

In: a statement, an instruction, its operands' accesses. Out: all bindings. Not its job: operation
trees (`match`), how calls cut the loops (`blocks`).

An instruction loop runs over an ordered group of kernel loops (none: extent 1) of the same role:
the target moves with both or with neither; an input that moves with the kernel loop moves with the
instruction loop (the converse is replication). All loops of a group but the outermost are covered
whole.
"""

from collections.abc import Iterator
from itertools import permutations

from isamap.hwdesc import ExtentKind, ExtentRule, Instruction
from isamap.ir import Access, Statement

MAX_GROUP = 3  # loops bound to one instruction loop; longer groups need extents below 16 ** (1 / 3)


def bind_loops(
    statement: Statement,
    instruction: Instruction,
    operands: dict[str, Access],
    held: tuple[str, ...],
) -> Iterator[tuple[tuple[str, tuple[str, ...]], ...]]:
    """All assignments of kernel loops to instruction loops that respect the loops' roles."""
    uses = {access.buffer: access for access in instruction.uses}
    target = instruction.result.buffer
    extents = statement.extents
    choices: list[tuple[str, tuple[tuple[str, ...], ...]]] = []
    for name, rule in instruction.extents:
        candidates = [
            kernel_loop.name
            for kernel_loop in statement.loops
            if kernel_loop.name not in held
            and _roles_agree(name, kernel_loop.name, uses, operands, target)
        ]
        choices.append((name, _groups(candidates, extents, rule)))
    yield from _combine(choices, frozenset())


def _roles_agree(
    loop: str, kernel_loop: str, uses: dict[str, Access], operands: dict[str, Access], target: str
) -> bool:
    moves = any(access.moves_with(kernel_loop) for access in operands.values())
    for name, access in operands.items():
        in_pattern, in_kernel = uses[name].moves_with(loop), access.moves_with(kernel_loop)
        if in_kernel and not in_pattern:
            return False
        if name == target and in_pattern != in_kernel:
            return False
    return moves


def _groups(
    candidates: list[str], extents: dict[str, int], rule: ExtentRule
) -> tuple[tuple[str, ...], ...]:
    """Ordered groups of candidate loops: one loop, or several whose inner ones fit whole."""
    groups: list[tuple[str, ...]] = [(name,) for name in candidates]
    for length in range(2, MAX_GROUP + 1):
        for group in permutations(candidates, length):
            inner = 1
            for name in group[1:]:
                inner *= extents[name]
            may_hold = rule.maximum // inner >= 2 and extents[group[0]] >= 2
            divides = rule.kind is ExtentKind.AT_MOST or rule.maximum % inner == 0
            if may_hold and divides and all(extents[name] >= 2 for name in group[1:]):
                groups.append(group)
    return (*groups, ())


def _combine(
    choices: list[tuple[str, tuple[tuple[str, ...], ...]]], used: frozenset[str]
) -> Iterator[tuple[tuple[str, tuple[str, ...]], ...]]:
    if not choices:
        yield ()
        return
    (loop, groups), *rest = choices
    for group in groups:
        if used.isdisjoint(group):
            for others in _combine(rest, used | frozenset(group)):
                yield ((loop, group), *others)
