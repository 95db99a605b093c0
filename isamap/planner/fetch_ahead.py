"""Give what tasks fetch anew more places on chip where room is left.

In: tasks under held loops that fit on chip side by side. Out: how they run with more slots. Not its
job: making room (`make_room`), the best tiling of a task by itself.

Alone a task needs few places for tiles that it uses up as fast as they come. Where other tasks
compute between its rounds, what comes meanwhile needs a place too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import inf, prod

from isamap.costmodels import Stay, Tiling, estimate, is_replaced, may_double, operand_plan, trips
from isamap.hwdesc import Hardware, Synchronisation
from isamap.ir import Role
from isamap.scheduler import is_legal, lower

from .place_tasks import PlacedTasks, TaskTree
from .plan import PlannedTask
from .share_chip import share_chip

MAX_SLOTS = 8
PARTS = (1, 2, 4)  # of a tile, each of which gets places of its own

Planned = Mapping[int, PlannedTask]


def fetch_ahead(tree: TaskTree, placed: PlacedTasks) -> PlacedTasks:
    """As many places as there are for the inputs of each task, in the tiles that hide most, where
    that hides anything; not where tasks wait for each other's ends."""
    if tree.hw.synchronisation is not Synchronisation.INTERLOCKED:
        return placed
    before = {task.task.number: task for task in placed.tasks}
    now, best = before, placed.task_cycles
    for number, old in before.items():
        if old.on_host or not old.task.held:
            continue
        for place in range(len(_tiling(old).stays)):
            rivals = [
                (_cycles(tree, found), -room, found)
                for room, found in _rivals(tree, now, now[number], place)
            ]
            cycles, _, found = min(rivals, key=lambda row: row[:2], default=(inf, 0.0, now))
            if cycles < best:
                now, best = found, int(cycles)
    if now is before:
        return placed
    lowered = {n: task if task is before[n] else _lowered(task, tree.hw) for n, task in now.items()}
    return replace(tree.put(lowered), cut=placed.cut)


def _cycles(tree: TaskTree, planned: Planned) -> float:
    return tree.line.cycles({number: (task,) for number, task in planned.items()})


def _tiling(planned: PlannedTask) -> Tiling:
    tiling = planned.best.solution.tiling
    assert tiling is not None, "a schedule has a tiling"
    return tiling


def _rivals(
    tree: TaskTree, planned: Planned, old: PlannedTask, place: int
) -> Iterator[tuple[float, dict[int, PlannedTask]]]:
    """Per part of an input's tiles: as many slots as fit, and how many tiles they hold."""
    before = _tiling(old)
    stay = before.stays[place]
    now = stay.slots * prod(trips(old.best.covering, before, name) for name in stay.kept)
    for parts, tiling in _smaller(old, stay, tree.hw):
        last = None
        for slots in range(now * parts + 1, MAX_SLOTS + 1):
            stays = (
                replace(one, slots=slots, kept=()) if number == place else one
                for number, one in enumerate(tiling.stays)
            )
            new = _with_tiling(old, replace(tiling, stays=tuple(stays)), tree.hw)
            if new is None or new.costs(tree.hw).dram_bytes > old.costs(tree.hw).dram_bytes:
                break
            found = {**planned, old.task.number: new}
            if share_chip(tree.nodes, {n: one.piece for n, one in found.items()}, tree.hw).crowded:
                break
            last = slots / parts, found
        if last is not None:
            yield last


def _smaller(old: PlannedTask, stay: Stay, hw: Hardware) -> Iterator[tuple[int, Tiling]]:
    """Tilings with whole tiles of an input, and with parts of these, if they are fetched anew."""
    covering, tiling = old.best.covering, _tiling(old)
    plan = operand_plan(covering, stay.operand)
    if plan.role is not Role.IN or stay.level == 0 or set(stay.kept) & set(covering.held):
        return
    if not may_double(plan, stay.residence, hw) or not is_replaced(covering, tiling, stay):
        return
    longest = max(plan.loops, key=tiling.tile)
    for parts in PARTS:
        if tiling.tile(longest) >= parts:
            tile = -(-tiling.tile(longest) // parts)
            tiles = tuple((name, tile if name == longest else n) for name, n in tiling.tiles)
            yield parts, replace(tiling, tiles=tiles)


def _with_tiling(old: PlannedTask, tiling: Tiling, hw: Hardware) -> PlannedTask | None:
    """The task with another tiling, its program not made yet; None where that is not legal."""
    schedule = old.best
    if old.answer is None or not is_legal(schedule.covering, tiling, hw):
        return None
    found = estimate(schedule.covering, schedule.work, tiling, hw)
    solution = replace(schedule.solution, tiling=tiling)
    best = replace(schedule, solution=solution, estimate=found)
    return replace(old, answer=replace(old.answer, best=best), cycles=found.cycles)


def _lowered(planned: PlannedTask, hw: Hardware) -> PlannedTask:
    """The task with the program of its tiling."""
    assert planned.answer is not None, "only schedules have tilings"
    program = lower(planned.best.covering, _tiling(planned), hw)
    assert program is not None, "a legal tiling has a place"
    best = replace(planned.best, program=program)
    return replace(planned, answer=replace(planned.answer, best=best))
