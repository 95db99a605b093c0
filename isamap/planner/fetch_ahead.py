"""Give what tasks fetch anew more places on chip where room is left.

In: tasks under held loops that fit on chip side by side. Out: how they run with more slots. Not its
job: making room (`make_room`), the best tiling of a task by itself.

Alone a task needs few places for tiles that it uses up as fast as they come. Where other tasks
compute between its rounds, what comes meanwhile needs a place too.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import inf, prod

from isamap.costmodels import Stay, Tiling, is_replaced, may_double, trips
from isamap.hwdesc import Hardware
from isamap.ir import Role

from .place_tasks import PlacedTasks, TaskTree
from .plan import PlannedTask
from .retile import Planned, cycles_of, put_retiled, retiled

MAX_SLOTS = 8
PARTS = (1, 2, 4)  # of a tile, each of which gets places of its own


def fetch_ahead(tree: TaskTree, placed: PlacedTasks) -> PlacedTasks:
    """As many places as there are for the inputs of each task, in the tiles that hide most, where
    that hides anything; not where tasks wait for each other's ends."""
    if not tree.hw.is_interlocked:
        return placed
    before = {task.task.number: task for task in placed.tasks}
    now: Planned = before
    best = placed.task_cycles
    for number, old in before.items():
        if old.on_host or not old.task.held:
            continue
        for place in range(len(old.best.tiling.stays)):
            rivals = [
                (cycles_of(tree, found), -room, found)
                for room, found in _rivals(tree, now, now[number], place)
            ]
            cycles, _, found = min(rivals, key=lambda row: row[:2], default=(inf, 0.0, now))
            if cycles < best:
                now, best = found, int(cycles)
    return put_retiled(tree, placed, now)


def _rivals(
    tree: TaskTree, planned: Planned, old: PlannedTask, place: int
) -> Iterator[tuple[float, Planned]]:
    """Per part of an input's tiles: as many slots as fit, and how many tiles they hold."""
    before = old.best.tiling
    stay = before.stays[place]
    now = stay.slots * prod(trips(old.best.covering, before, name) for name in stay.kept)
    for parts, tiling in _smaller(old, stay, tree.hw):
        last = None
        for slots in range(now * parts + 1, MAX_SLOTS + 1):
            stays = (
                replace(one, slots=slots, kept=()) if number == place else one
                for number, one in enumerate(tiling.stays)
            )
            found = retiled(tree, planned, old, replace(tiling, stays=tuple(stays)))
            if found is None:
                break
            last = slots / parts, found
        if last is not None:
            yield last


def _smaller(old: PlannedTask, stay: Stay, hw: Hardware) -> Iterator[tuple[int, Tiling]]:
    """Tilings with whole tiles of an input, and with parts of these, if they are fetched anew."""
    covering, tiling = old.best.covering, old.best.tiling
    plan = covering.operand(stay.operand)
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
