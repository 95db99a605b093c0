"""Give tasks under held loops the order of tiles that suits the tasks around them.

In: tasks that fit on chip side by side. Out: how they run with some of their loops in another
order. Not its job: how many places tiles have (`fetch_ahead`), the best tiling of a task by itself.

Of orders in which a task takes as long by itself, the solver finds any: which part of a result is
done first, and how much lies on chip at once, counts only among other tasks.
"""

from isamap.scheduler import swapped_loops

from .place_tasks import PlacedTasks, TaskTree
from .retile import Planned, cycles_of, put_retiled, retiled


def reorder(tree: TaskTree, placed: PlacedTasks) -> PlacedTasks:
    """Swap two loops of one task while all tasks together take fewer cycles; not where tasks wait
    for each other's ends, nor where caches decide: every order was tried there."""
    hw = tree.hw
    if not hw.is_interlocked or hw.caches:
        return placed
    now: Planned = {task.task.number: task for task in placed.tasks}
    least = placed.task_cycles
    for number, task in now.items():
        found = now if task.task.held and not task.on_host else None
        while found is not None:
            now, found = found, None
            for other in _swapped(tree, now, number):
                cycles = cycles_of(tree, other)
                if cycles < least:
                    least, found = cycles, other
    return put_retiled(tree, placed, now)


def _swapped(tree: TaskTree, planned: Planned, number: int) -> list[Planned]:
    """The tasks, one of them with two of its loops in the other order."""
    old = planned[number]
    before = old.costs(tree.hw)
    found = []
    for tiling in swapped_loops(old.best.covering, old.best.tiling):
        other = retiled(tree, planned, old, tiling)
        if other is not None and other[number].costs(tree.hw).energy_pj <= before.energy_pj:
            found.append(other)
    return found
