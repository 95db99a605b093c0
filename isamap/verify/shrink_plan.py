"""Cut a whole plan down to sizes that execute in an instant.

In: a plan, the machine, how much may remain. Out: the small kernel and its program, with the same
coverings and the same kind of tiling in every task; or why there is none. Not its job: running it.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from math import gcd, lcm, prod

from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import Buffer, Kernel, Loop, verify
from isamap.mapper import Task, TaskNode, collapse_loops, coverings, is_collapsed, spread_like
from isamap.planner import Piece, Plan, PlannedTask, compose
from isamap.program import Program
from isamap.scheduler import is_legal

from .loop_classes import Need, shrunk_extents
from .run_quick import MAX_COVERINGS, structure
from .shrink import Limits, shrink, shrink_tiling


def shrink_kernel(kernel: Kernel, needs: Mapping[str, Need]) -> Kernel | str:
    """The kernel with every loop as small as `needs` allow, or why that is none."""
    extents: dict[str, int] = {}
    for statement in kernel.statements:
        for loop in statement.loops:
            if extents.setdefault(loop.name, loop.extent) != loop.extent:
                return f"two loops are called {loop.name}"
    small = shrink(kernel, shrunk_extents(kernel, needs))
    try:
        verify(small)
    except IsamapError as error:
        return f"the cut-down kernel is no kernel: {error.message}"
    return small


def shrink_plan(
    plan: Plan, hw: Hardware, limits: Limits, may_reassociate: bool
) -> tuple[Kernel, Program] | str:
    """The small kernel and a program of the same structure, or why there is none."""
    small = shrink_kernel(plan.kernel, plan_needs(plan, limits))
    if isinstance(small, str):
        return small
    nodes = tuple(_shrink_node(node, small) for node in plan.nodes)
    pieces = []
    for planned in plan.tasks:
        task = _shrink_task(planned.task, small)  # what it keeps on chip may differ from the node's
        piece = _shrink_piece(planned, task, hw, limits, may_reassociate)
        if isinstance(piece, str):
            return piece
        pieces.append(piece)
    try:
        return small, compose(small, nodes, tuple(pieces), hw)
    except IsamapError as error:
        return f"the cut-down tasks do not fit together: {error.message}"


def plan_needs(plan: Plan, limits: Limits) -> dict[str, Need]:
    """What each loop must keep for its task's structure; a few iterations on the host."""
    needs: dict[str, Need] = {}
    for planned in plan.tasks:
        for statement in planned.task.statements:
            for loop in statement.loops:
                needs[loop.name] = Need(min(loop.extent, limits.tiles), 1)
    for planned in plan.tasks:
        if planned.on_host or planned.answer is None:
            continue
        best = planned.answer.best
        extents, _ = shrink_tiling(best.covering, best.tiling, limits)
        seen = collapse_loops(planned.task.kernel, planned.task.setting())
        for name, least in extents.items():
            tiled = best.covering.loop(name)
            need = Need(least, tiled.block * tiled.cores)  # every core loses as many units
            parts = seen.parts.get(name) if seen is not None else None
            found = _shared_out(need, planned.task, parts) if parts else {name: need}
            for part, own in found.items():
                known = needs.get(part, Need(1, 1))
                needs[part] = Need(max(own.least, known.least), lcm(own.step, known.step))
    return needs


def _shared_out(need: Need, task: Task, parts: tuple[str, ...]) -> dict[str, Need]:
    """What the loops must keep that are one in the covering: all but the longest stay whole."""
    extents = task.statement.extents
    longest = max(parts, key=lambda name: extents[name])
    others = {name: Need(extents[name], 1) for name in parts if name != longest}
    apart = prod(other.least for other in others.values())
    step = need.step // gcd(need.step, apart)
    return {**others, longest: Need(-(-need.least // apart), step)}


def _shrink_node(node: TaskNode, small: Kernel) -> TaskNode:
    if isinstance(node, Task):
        return _shrink_task(node, small)
    body = tuple(_shrink_node(child, small) for child in node.body)
    return replace(node, loop=_loop_of(small, node.loop), body=body)


def _shrink_task(task: Task, small: Kernel) -> Task:
    """The task with the small kernel's loops and buffers, roles as they were."""
    kernel = task.kernel
    statements = tuple(
        replace(s, loops=tuple(_loop_of(small, loop) for loop in s.loops))
        for s in kernel.statements
    )
    buffers = tuple(_buffer_of(small, buffer) for buffer in kernel.buffers)
    parts = tuple(_shrink_task(part, small) for part in task.parts)
    return replace(
        task, kernel=replace(kernel, buffers=buffers, statements=statements), parts=parts
    )


def _loop_of(small: Kernel, loop: Loop) -> Loop:
    return next(x for s in small.statements for x in s.loops if x.name == loop.name)


def _buffer_of(small: Kernel, buffer: Buffer) -> Buffer:
    return replace(buffer, shape=small.buffer(buffer.name).shape)


def _shrink_piece(
    planned: PlannedTask, task: Task, hw: Hardware, limits: Limits, may_reassociate: bool
) -> Piece | str:
    """How the small task runs: as the large one does."""
    if planned.on_host or planned.answer is None:
        return Piece(task, None, planned.goes_on is not None)
    best = planned.answer.best
    _, tiling = shrink_tiling(best.covering, best.tiling, limits)
    wanted = structure(best.covering.on_one_core)
    homes = {name: end.home for name, end in planned.piece.homes.items() if end.home}
    stream = coverings(
        task.kernel,
        hw,
        [],
        task.setting(homes),
        may_reassociate=may_reassociate,
        collapses=is_collapsed(best.covering, planned.task.kernel),
    )
    for candidate in islice(stream, MAX_COVERINGS):
        if structure(candidate) == wanted:
            break
    else:
        return f"no cut-down sizes give the same covering of statement {task.number}"
    candidate = spread_like(candidate, best.covering)
    if not is_legal(candidate, tiling, hw):
        return f"the cut-down schedule of statement {task.number} is not legal"
    # costs and program of the large schedule stay in it: `compose` reads covering and tiling only
    return Piece(
        task, replace(best, covering=candidate, solution=replace(best.solution, tiling=tiling))
    )
