"""Choose the layouts of buffers on chip so that every task on them has a covering.

In: tasks, which of their buffers lie in which memory. Out: a layout per buffer. Not its job:
tilings (what a covering costs is taken from its bound), addresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from isamap.costmodels import bound_cycles, count_work
from isamap.errors import MappingError
from isamap.mapper import Task
from isamap.program import Layout
from isamap.scheduler import LayoutKey, layout_key

from .schedule_tasks import TaskScheduler

MAX_LOOKS = 200  # coverings of a task that are asked for their layouts
MAX_NODES = 20_000  # partial choices that are looked at

Layouts = Mapping[str, Layout]
Option = tuple[int, dict[str, Layout]]  # least bound of the coverings with these layouts


def agree_layouts(
    tasks: tuple[Task, ...], homes: Mapping[str, str], scheduler: TaskScheduler
) -> Layouts | None:
    """Layouts with the least sum of the tasks' bounds, of the first `MAX_NODES` partial choices;
    None: no task order gives any."""
    users = [task for task in tasks if task.touched & homes.keys()]
    options = {}
    for task in users:
        mine = {name: memory for name, memory in homes.items() if name in task.touched}
        options[task.number] = layout_options(task, mine, scheduler)
    ordered: list[Task] = []
    left = sorted(users, key=lambda task: len(options[task.number]))
    while left:  # those with most buffers that are settled next
        settled = {name for task in ordered for name in task.touched & homes.keys()}
        following = max(left, key=lambda task: len(task.touched & settled))
        left.remove(following)
        ordered.append(following)
    search = _Search([options[task.number] for task in ordered])
    search.extend(0, 0, {})
    return search.best


def layout_options(
    task: Task, mine: Mapping[str, str], scheduler: TaskScheduler
) -> tuple[Option, ...]:
    """Sets of layouts in which coverings of the task find their buffers, lowest bounds first."""
    stream = scheduler.coverings(task, mine)
    found: dict[tuple[tuple[str, LayoutKey], ...], Option] = {}
    try:
        for covering in islice(stream, MAX_LOOKS):
            ends = [end for plan in covering.operands for end in plan.ends if end[1] in mine]
            layouts = {name: end.layout for _, name, end in ends}
            keys = {(name, layout_key(end.layout)) for _, name, end in ends}
            if len(keys) > len(layouts):
                continue  # two operands find one buffer in different layouts
            bound, _ = bound_cycles(covering, count_work(covering, scheduler.hw), scheduler.hw)
            key = tuple(sorted(keys))
            if key not in found or bound < found[key][0]:
                found[key] = (bound, layouts)
    except MappingError:
        return ()
    return tuple(sorted(found.values(), key=lambda option: option[0]))


@dataclass(slots=True)
class _Search:
    """Depth first, with the sum of bounds cut off at the best."""

    options: list[tuple[Option, ...]]
    best: dict[str, Layout] | None = None
    best_cycles: int | None = None
    num_nodes: int = 0

    def extend(self, position: int, cycles: int, chosen: dict[str, Layout]) -> None:
        self.num_nodes += 1
        if self.best_cycles is not None and cycles >= self.best_cycles:
            return
        if position == len(self.options):
            self.best, self.best_cycles = chosen, cycles
            return
        for bound, layouts in self.options[position]:
            if self.num_nodes >= MAX_NODES:
                return
            if all(
                layout_key(chosen[name]) == layout_key(layout)
                for name, layout in layouts.items()
                if name in chosen
            ):
                self.extend(position + 1, cycles + bound, {**layouts, **chosen})
