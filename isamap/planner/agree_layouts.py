"""Choose the layouts of buffers on chip so that every task on them has a covering.

In: tasks, which of their buffers lie in which memory. Out: a layout per buffer. Not its job:
tilings (what a covering costs is taken from its bound), addresses.
"""

from collections.abc import Mapping
from itertools import accumulate, islice

from isamap.costmodels import bound_cycles, count_work
from isamap.errors import MappingError
from isamap.mapper import Task, unit_cycles
from isamap.program import Layout
from isamap.scheduler import LayoutKey, layout_key

from .layout_option import Keys, Layouts, Option
from .plan import task_key
from .schedule_tasks import TaskScheduler

MAX_LOOKS = 200  # coverings of a task that are asked for their layouts
MAX_NODES = 20_000  # partial choices that are looked at


def agree_layouts(
    tasks: tuple[Task, ...], homes: Mapping[str, str], scheduler: TaskScheduler
) -> Layouts | None:
    """Layouts with the least sum of the tasks' bounds, of the first `MAX_NODES` partial choices;
    None: no task order gives any."""
    users = [task for task in tasks if task.touched & homes.keys()]
    options = {}
    for task in users:
        mine = {name: memory for name, memory in homes.items() if name in task.touched}
        options[task.number] = _known_options(task, mine, scheduler)
        if not options[task.number]:
            return None
    ordered: list[Task] = []
    left = sorted(users, key=lambda task: len(options[task.number]))
    while left:  # those with most buffers that are settled next
        settled = {name for task in ordered for name in task.touched & homes.keys()}
        following = max(left, key=lambda task: len(task.touched & settled))
        left.remove(following)
        ordered.append(following)
    search = _Search([options[task.number] for task in ordered])
    search.extend(0, 0, {})
    if search.best is None:
        return None
    chosen: dict[str, Layout] = {}
    for option in reversed(search.best):  # the task that settled a layout says how it is written
        chosen |= option.layouts
    return chosen


def _known_options(
    task: Task, mine: Mapping[str, str], scheduler: TaskScheduler
) -> tuple[Option, ...]:
    """As `layout_options`, each found once."""
    known = scheduler.known.options
    key = task_key(task, frozenset()), tuple(sorted(mine.items()))
    if key not in known:
        known[key] = layout_options(task, mine, scheduler)
    return known[key]


def layout_options(
    task: Task, mine: Mapping[str, str], scheduler: TaskScheduler
) -> tuple[Option, ...]:
    """Sets of layouts in which coverings of the task find their buffers, lowest bounds first."""
    stream = scheduler.coverings(task, mine)
    found: dict[Keys, Option] = {}
    try:
        for covering in islice(stream, MAX_LOOKS):
            ends = [end for plan in covering.operands for end in plan.ends if end[1] in mine]
            layouts = {name: end.layout for _, name, end in ends}
            keys = {(name, layout_key(end.layout)) for _, name, end in ends}
            if len(keys) > len(layouts):
                continue  # two operands find one buffer in different layouts
            key = tuple(sorted(keys))
            if key in found and found[key].bound_cycles <= unit_cycles(covering, scheduler.hw):
                continue  # its bound is no lower
            bound, _ = bound_cycles(covering, count_work(covering, scheduler.hw), scheduler.hw)
            if key not in found or bound < found[key].bound_cycles:
                found[key] = Option(bound, layouts, key)
    except MappingError:
        return ()
    return tuple(sorted(found.values(), key=lambda option: option.bound_cycles))


class _Search:
    """Depth first, cut off where the sum of bounds, with the least of those still to come, reaches
    the best."""

    def __init__(self, options: list[tuple[Option, ...]]) -> None:
        self.options = options
        leasts = [min((row.bound_cycles for row in rows), default=0) for rows in options]
        self.to_come = [*accumulate(reversed(leasts), initial=0)][::-1]  # from each position on
        self.path: list[Option] = []
        self.best: tuple[Option, ...] | None = None
        self.best_cycles: int | None = None
        self.num_nodes = 0

    def extend(self, position: int, cycles: int, settled: Mapping[str, LayoutKey]) -> None:
        """Choose for the tasks from `position` on, beside what is settled."""
        self.num_nodes += 1
        if position == len(self.options):
            self.best, self.best_cycles = tuple(self.path), cycles
            return
        for option in self.options[position]:
            bound = cycles + option.bound_cycles
            is_beaten = self.best_cycles is not None and (
                bound + self.to_come[position + 1] >= self.best_cycles
            )
            if is_beaten or self.num_nodes >= MAX_NODES:
                return  # the options that follow have no lower bounds
            if all(settled.get(name, key) == key for name, key in option.keys):
                self.path.append(option)
                self.extend(position + 1, bound, {**dict(option.keys), **settled})
                self.path.pop()
