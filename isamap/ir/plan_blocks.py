"""How the interpreter runs a kernel: which loops step one by one, which run as whole-array blocks.

In: a kernel. Out: a tree of `Repeat` and `Block` whose execution in order has exactly the kernel's
meaning. Not its job: executing it.
"""

import math
from dataclasses import dataclass

from .deps import LoopKind, carrying_loop, loop_kinds, may_distribute, move_out
from .dtypes import is_integer
from .kernel import Kernel, Loop, Statement

MIN_PARALLEL_POINTS = 1 << 16  # from here on, stepping through float reductions costs little


@dataclass(frozen=True, slots=True)
class Block:
    """All iterations of the loops not stepped outside; `reduced`: loops summed inside."""

    statement: Statement
    reduced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Run `body` for every value of `loop`, in order."""

    loop: Loop
    body: tuple["Node", ...]


Node = Block | Repeat


def plan_blocks(kernel: Kernel) -> tuple[Node, ...]:
    """Split loops over statements where dependences allow; step the loops whose order matters."""
    return plan_nest(kernel, kernel.statements, 0)


def num_blocks(kernel: Kernel) -> int:
    """How many blocks run, one after the other: what the interpreter's time depends on where arrays
    are small."""
    return sum(map(_num_runs, plan_blocks(kernel)))


def _num_runs(node: Node) -> int:
    if isinstance(node, Block):
        return 1
    return node.loop.extent * sum(map(_num_runs, node.body))


def plan_nest(kernel: Kernel, statements: tuple[Statement, ...], depth: int) -> tuple[Node, ...]:
    """Plan neighbours that share their first `depth` loops, those being stepped outside."""
    nodes: list[Node] = []
    start = 0
    while start < len(statements):
        first = statements[start]
        stop = start + 1
        if len(first.loops) > depth:
            while stop < len(statements) and first.loops[depth] in statements[stop].loops:
                stop += 1
        for group in split_group(statements[start:stop], depth):
            outer = tuple(loop.name for loop in group[0].loops[:depth])
            if len(group) == 1:
                nodes.append(plan_statement(kernel, group[0], outer))
            else:
                loop = carrying_loop(group, outer) or group[0].loops[depth]
                inside = tuple(move_out(statement, loop, depth) for statement in group)
                nodes.append(Repeat(loop, plan_nest(kernel, inside, depth + 1)))
        start = stop
    return tuple(nodes)


def split_group(group: tuple[Statement, ...], depth: int) -> list[tuple[Statement, ...]]:
    """Cut statements under one loop wherever everything before may run before everything after."""
    parts: list[tuple[Statement, ...]] = []
    start = 0
    for cut in range(1, len(group)):
        if all(may_cut(a, b, depth) for a in group[:cut] for b in group[cut:]):
            parts.append(group[start:cut])
            start = cut
    return [*parts, group[start:]]


def may_cut(first: Statement, second: Statement, depth: int) -> bool:
    """May all of `first` run before all of `second` inside their first `depth` loops?"""
    names = {loop.name for loop in second.loops}
    shared = tuple(loop.name for loop in first.loops if loop.name in names)
    return may_distribute(first, second, shared[depth:], fixed=shared[:depth])


def plan_statement(kernel: Kernel, statement: Statement, fixed: tuple[str, ...]) -> Node:
    """Step loops one by one until the rest is one block."""
    step = choose_step(kernel, statement, fixed)
    if step is not None:
        return Repeat(step, (plan_statement(kernel, statement, (*fixed, step.name)),))
    used = {name for index in statement.target.indices for name in index.names}
    kinds = loop_kinds(statement, fixed)
    reduced = [n for n, kind in kinds.items() if kind is LoopKind.REDUCTION and n not in used]
    return Block(statement, tuple(reduced))


def choose_step(kernel: Kernel, statement: Statement, fixed: tuple[str, ...]) -> Loop | None:
    """The loop to step next, or None when a block can do the rest.

    Integers: a loop with hard conflicts first, then one whose iterations share some targets.
    Floats keep their
    order: the outermost loop that is not parallel, unless all such loops leave the target alone
    and few elements run in parallel; then the block accumulates in order.
    """
    kinds = loop_kinds(statement, fixed)
    loops = {loop.name: loop for loop in statement.loops}
    used = {name for index in statement.target.indices for name in index.names}
    tied = [n for n, kind in kinds.items() if kind is LoopKind.SEQUENTIAL]
    summed = [n for n, kind in kinds.items() if kind is LoopKind.REDUCTION]
    shared = [n for n in summed if n in used]
    if is_integer(kernel.buffer(statement.target.buffer).dtype):
        chosen = [*tied, *shared]
    else:
        parallel = math.prod(
            loops[n].extent for n, kind in kinds.items() if kind is LoopKind.PARALLEL
        )
        must_step = bool(tied or shared) or parallel >= MIN_PARALLEL_POINTS
        chosen = [n for n in kinds if n in tied or n in summed] if must_step else []
    return loops[chosen[0]] if chosen else None
