"""The decisions of a covering as a schedule file names them.

In: coverings, tilings. Out: names, numbers and short texts that tell coverings apart. Not its job:
YAML.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from isamap.hwdesc import Hardware
from isamap.mapper import (
    Covering,
    Setting,
    Task,
    TiledLoop,
    collapse_loops,
    coverings,
    is_collapsed,
    show_layouts,
    show_route,
)
from isamap.planner import Piece

# instruction, binding, and per operand its route and layout
Description = tuple[str, tuple[tuple[str, tuple[str, ...]], ...], tuple[tuple[str, str, str], ...]]


def describe(covering: Covering, external: str) -> Description:
    """What a person says of a covering on one core; a few coverings may be alike in it
    (`number_of`)."""
    covering = covering.on_one_core
    operands = tuple(
        (plan.name, show_route(plan, external), show_layouts(plan)) for plan in covering.operands
    )
    return covering.instruction, covering.binding, operands


def task_coverings(
    task: Task,
    hw: Hardware,
    homes: Mapping[str, str],
    may_reassociate: bool,
    *,
    collapses: bool = True,
) -> Iterator[Covering]:
    """All coverings of a task in the mapper's order, also those that the scheduler leaves out
    because another one has the same operands exchanged.

    `homes`: buffers that lie on chip between tasks, those of other tasks included. `collapses`:
    with fewer loops where that may be, which leaves out those with the task's own that gain
    nothing. Those with its own loops that both ways find are in the same order in both.
    """
    setting = _setting(task, homes)
    return coverings(
        task.kernel, hw, [], setting, may_reassociate=may_reassociate, collapses=collapses
    )


def _setting(task: Task, homes: Mapping[str, str]) -> Setting:
    mine = {name: memory for name, memory in homes.items() if name in task.touched}
    return task.setting(mine)


def names_parts(names: Iterable[str], task: Task, homes: Mapping[str, str]) -> bool:
    """Is one of the names that of a loop that coverings may see as one with its neighbour?"""
    seen = collapse_loops(task.kernel, _setting(task, homes))
    parts = {part for loops in seen.parts.values() for part in loops} if seen else set()
    return not parts.isdisjoint(names)


def number_of(
    covering: Covering,
    task: Task,
    hw: Hardware,
    homes: Mapping[str, str],
    may_reassociate: bool,
) -> int:
    """Position of a covering among those with its description.

    It may have been found for an equal task of another form of the kernel, under another name.
    """
    wanted = describe(covering, hw.external.name)
    mine = covering.on_one_core
    collapses = is_collapsed(mine, task.kernel)
    alike = (
        found
        for found in task_coverings(task, hw, homes, may_reassociate, collapses=collapses)
        if describe(found, hw.external.name) == wanted
    )
    for number, found in enumerate(alike):
        if replace(found, kernel=replace(found.kernel, name=mine.kernel.name)) == mine:
            return number
    raise AssertionError("a covering that was scheduled is among its task's coverings")


def split_of(covering: Covering) -> dict[str, dict[str, int]]:
    """Per loop that several cores share: the number of shares along each axis."""
    loops: dict[str, dict[str, int]] = {}
    for share in covering.shares:
        loops.setdefault(share.loop, {})[share.axis] = share.count
    return loops


def multicasts_of(covering: Covering, hw: Hardware) -> dict[str, str]:
    """Per operand that several cores are brought at once: the instruction."""
    ways = ((plan.name, r.fill or r.zero) for plan in covering.operands for r in plan.residences)
    return {n: t.instruction for n, t in ways if t and hw.instruction(t.instruction).multicast}


def homes_of(pieces: Iterable[Piece]) -> dict[str, str]:
    """Buffers that lie on chip between tasks, with their memories."""
    ends = (end for piece in pieces for plan in piece.plans for end in plan.ends)
    return {name: external.home for _, name, external in ends if external.home is not None}


def tile_iterations(loop: TiledLoop, tile: int) -> int:
    """Iterations in a tile of so many units."""
    return min(tile * loop.block, loop.extent)
