"""Choose the layouts of buffers on chip so that every task on them has a covering.

In: tasks, which of their buffers lie in which memory. Out: a layout per buffer. Not its job:
tilings (what a covering costs is taken from its bound), addresses.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import accumulate, islice
from math import inf
from operator import itemgetter

from isamap.costmodels import bound_cycles, count_work
from isamap.errors import MappingError
from isamap.mapper import Task, unit_cycles
from isamap.program import Layout
from isamap.scheduler import NATURAL_TOLERANCE, LayoutKey, Wishes, layout_key, rank_of

from .layout_option import Keys, Layouts, Option
from .plan import task_key
from .schedule_tasks import TaskScheduler

Cost = tuple[int, int]
CostOf = Callable[[Option], Cost]

MAX_LOOKS = 200  # coverings of a task that are asked for their layouts
MAX_NODES = 20_000  # partial choices that are looked at
MAX_NATURAL_NODES = 2_000  # of what is repacked less than the best of those


def agree_layouts(
    tasks: tuple[Task, ...], homes: Mapping[str, str], scheduler: TaskScheduler
) -> Layouts | None:
    """Layouts with the least sum of the tasks' bounds, of the first `MAX_NODES` partial choices, or
    others for which arrays off the chip are repacked less, as the wishes have it; None: no task
    order gives any."""
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
    found = _choose([options[task.number] for task in ordered], scheduler.wishes)
    if found is None:
        return None
    chosen: dict[str, Layout] = {}
    for option in reversed(found):  # the task that settled a layout says how it is written
        chosen |= option.layouts
    return chosen


def _choose(options: list[tuple[Option, ...]], wishes: Wishes) -> tuple[Option, ...] | None:
    """One option per task, of least bounds, or where buffers off the chip lie most as they do, if
    that is wished for and not clearly worse."""
    fastest = _Search(options, lambda option: (option.bound_cycles, 0))
    fastest.extend(0, (0, 0), {})
    if fastest.best is None or fastest.best_cost is None or wishes.layouts != "natural":
        return fastest.best
    least_rank = sum(min(option.rank for option in rows) for rows in options)
    if sum(option.rank for option in fastest.best) == least_rank:
        return fastest.best
    most = NATURAL_TOLERANCE * fastest.best_cost[0]
    natural = _Search(
        options, lambda option: (option.rank, option.bound_cycles), most, MAX_NATURAL_NODES
    )
    natural.begin_with(fastest.best)
    natural.extend(0, (0, 0), {})
    return natural.best


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
    """Sets of layouts in which coverings of the task find their buffers, each with the least bound
    where the others lie more or less as they do."""
    stream = scheduler.coverings(task, mine)
    found: dict[tuple[int, Keys], Option] = {}
    try:
        for covering in islice(stream, MAX_LOOKS):
            ends = [end for plan in covering.operands for end in plan.ends if end[1] in mine]
            layouts = {name: end.layout for _, name, end in ends}
            keys = {(name, layout_key(end.layout)) for _, name, end in ends}
            if len(keys) > len(layouts):
                continue  # two operands find one buffer in different layouts
            key = rank_of(covering, scheduler.wishes.ahead), tuple(sorted(keys))
            if key in found and found[key].bound_cycles <= unit_cycles(covering, scheduler.hw):
                continue  # its bound is no lower
            bound, _ = bound_cycles(covering, count_work(covering, scheduler.hw), scheduler.hw)
            if key not in found or bound < found[key].bound_cycles:
                found[key] = Option(key[0], bound, layouts, key[1])
    except MappingError:
        return ()
    return tuple(found.values())


class _Search:
    """Depth first, cut off where the sum of costs, with the least of those still to come, reaches
    the best, or that of the second ones more than `most`."""

    def __init__(
        self,
        options: list[tuple[Option, ...]],
        cost_of: CostOf,
        most: float = inf,
        max_nodes: int = MAX_NODES,
    ) -> None:
        self.cost_of = cost_of
        self.most = most
        self.max_nodes = max_nodes
        self.options = [_cheapest(rows, cost_of) for rows in options]
        leasts = [
            (rows[0][0][0], min(cost for (_, cost), _ in rows)) if rows else (0, 0)
            for rows in self.options
        ]
        to_come = accumulate(reversed(leasts), _add, initial=(0, 0))
        self.to_come = [*to_come][::-1]  # from each position on
        self.path: list[Option] = []
        self.best: tuple[Option, ...] | None = None
        self.best_cost: Cost | None = None
        self.num_nodes = 0

    def begin_with(self, known: tuple[Option, ...]) -> None:
        """Only what costs less is looked for."""
        self.best, self.best_cost = known, reduce(_add, map(self.cost_of, known), (0, 0))

    def extend(self, position: int, cost: Cost, settled: Mapping[str, LayoutKey]) -> None:
        """Choose for the tasks from `position` on, beside what is settled."""
        self.num_nodes += 1
        if position == len(self.options):
            self.best, self.best_cost = tuple(self.path), cost
            return
        for own, option in self.options[position]:
            now = _add(cost, own)
            least = _add(now, self.to_come[position + 1])
            is_beaten = self.best_cost is not None and least >= self.best_cost
            if is_beaten or self.num_nodes >= self.max_nodes:
                return  # the options that follow cost no less
            if least[1] <= self.most and all(
                settled.get(name, key) == key for name, key in option.keys
            ):
                self.path.append(option)
                self.extend(position + 1, now, {**dict(option.keys), **settled})
                self.path.pop()


def _cheapest(options: tuple[Option, ...], cost_of: CostOf) -> list[tuple[Cost, Option]]:
    """Of those with the same layouts the cheapest, in the order of their costs."""
    found: dict[Keys, tuple[Cost, Option]] = {}
    for option in options:
        cost = cost_of(option)
        if option.keys not in found or cost < found[option.keys][0]:
            found[option.keys] = cost, option
    return sorted(found.values(), key=itemgetter(0))


def _add(one: Cost, other: Cost) -> Cost:
    return one[0] + other[0], one[1] + other[1]
