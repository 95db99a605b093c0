"""Give what tasks fetch anew more places on chip where room is left.

In: tasks under held loops that fit on chip side by side. Out: how they run with more slots. Not its
job: making room (`make_room`), the best tiling of a task by itself.

Alone a task needs few places for tiles that it uses up as fast as they come. Where other tasks
compute between its rounds, what comes meanwhile needs a place too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from isamap.costmodels import Stay, Tiling, estimate, is_replaced, may_double, operand_plan
from isamap.hwdesc import Hardware, Synchronisation
from isamap.ir import Role
from isamap.mapper import TiledLoop
from isamap.scheduler import Schedule, is_legal, lower

from .place_tasks import PlacedTasks, TaskTree
from .plan import PlannedTask
from .share_chip import share_chip

MAX_SLOTS = 8
PARTS = (1, 2, 4)  # of a tile, each of which gets places of its own

Planned = Mapping[int, PlannedTask]


def fetch_ahead(tree: TaskTree, placed: PlacedTasks) -> PlacedTasks:
    """As many places as there are for one input of each task, in the tiles that hide most; not
    where tasks wait for each other's ends."""
    if tree.hw.synchronisation is not Synchronisation.INTERLOCKED:
        return placed
    before = {task.task.number: task for task in placed.tasks}
    now, best = before, placed.task_cycles
    for number, old in before.items():
        if old.task.held and not old.on_host:
            for found in _rivals(tree, now, now[number]):
                cycles = _cycles(tree, found)
                if cycles < best:
                    now, best = found, cycles
    return placed if now is before else replace(tree.put(now), cut=placed.cut)


def _cycles(tree: TaskTree, planned: Planned) -> int:
    return tree.line.cycles({number: (task,) for number, task in planned.items()})


def _rivals(tree: TaskTree, planned: Planned, old: PlannedTask) -> Iterator[dict[int, PlannedTask]]:
    """Per input, and per part of its tiles: as many slots as fit."""
    tiling = old.best.solution.tiling
    assert tiling is not None and old.answer is not None, "a task off the host has a schedule"
    for number, stay in enumerate(tiling.stays):
        for smaller in _smaller(old, tiling, stay, tree.hw):
            last = None
            for slots in range(2, MAX_SLOTS + 1):
                more = replace(stay, slots=slots)
                stays = (*smaller.stays[:number], more, *smaller.stays[number + 1 :])
                schedule = _with_tiling(old.best, replace(smaller, stays=stays), tree.hw)
                if schedule is None:
                    break
                answer = replace(old.answer, best=schedule)
                new = replace(old, answer=answer, cycles=schedule.estimate.cycles)
                found = {**planned, old.task.number: new}
                pieces = {n: one.piece for n, one in found.items()}
                if share_chip(tree.nodes, pieces, tree.hw).crowded:
                    break
                last = found
            if last is not None:
                yield last


def _smaller(old: PlannedTask, tiling: Tiling, stay: Stay, hw: Hardware) -> Iterator[Tiling]:
    """Tilings with whole tiles of an input, and with parts of these, if they are fetched anew."""
    covering = old.best.covering
    plan = operand_plan(covering, stay.operand)
    if plan.role is not Role.IN or stay.level == 0 or stay.kept:
        return
    if not may_double(plan, stay.residence, hw) or not is_replaced(covering, tiling, stay):
        return
    loops = (covering.loop(name) for name in plan.loops if tiling.tile(name) > 1)
    longest = max(loops, key=lambda loop: tiling.tile(loop.name), default=None)
    for parts in PARTS:
        if parts == 1:
            yield tiling
        elif longest is not None and tiling.tile(longest.name) >= parts:
            yield _cut(tiling, longest, parts)


def _cut(tiling: Tiling, loop: TiledLoop, parts: int) -> Tiling:
    tile = -(-tiling.tile(loop.name) // parts)
    tiles = tuple((name, tile if name == loop.name else n) for name, n in tiling.tiles)
    return replace(tiling, tiles=tiles)


def _with_tiling(old: Schedule, tiling: Tiling, hw: Hardware) -> Schedule | None:
    """The schedule with another tiling; None where that is not legal."""
    if not is_legal(old.covering, tiling, hw):
        return None
    program = lower(old.covering, tiling, hw)
    assert program is not None, "a legal tiling has a place"
    found = estimate(old.covering, old.work, tiling, hw)
    solution = replace(old.solution, tiling=tiling)
    return replace(old, solution=solution, estimate=found, program=program)
