"""Random kernels of two statements, and the best plan that exhaustive search finds for them.

In: a machine's name, a seed. Out: what the planner and exhaustive search find. Not its job: single
statements (`small`), what to conclude.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from isamap.costmodels import Aim, count_work
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, load_kernel
from isamap.mapper import (
    Covering,
    Task,
    TaskNode,
    coverings,
    cut_tasks,
    flatten,
    join_tasks,
    keeps_order,
    layout_rank,
)
from isamap.planner import Plan, PlannedTask, Wishes, assemble_answer, host_task_cycles
from isamap.planner.find_plan import _shared_buffers, find_plan
from isamap.planner.place_tasks import TaskTree
from isamap.planner.rejoin import replace_joined
from tests.scheduler.cases import machine
from tests.scheduler.exhaustive import MANY, search_exhaustively

NAMES = ("two_products", "product_and_rectifier", "product_and_limit")
MAX_COVERINGS = 3  # per task
MAX_LOOKS = 24  # for coverings that use shared arrays as they lie
Planned = dict[int, PlannedTask]


@dataclass(frozen=True, slots=True)
class PlanComparison:
    """The planner's plan, and the least value of all plans looked at (None: there is none)."""

    plan: Plan | None
    best: float | None
    num_plans: int
    text: str


def compare_plans(
    hw_name: str, seed: int, *, solve_limit_s: float, aim: Aim, most_tilings: int = MANY
) -> PlanComparison | None:
    """Planner and exhaustive search on one kernel; None where a covering has too many tilings."""
    generator = random.Random(f"plan {hw_name} {seed}")
    name = generator.choice(NAMES)
    sizes = {loop: generator.choice((1, 3, 7, 16, 20, 35)) for loop in ("m", "n", "k")}
    kernel = load_kernel(Path(__file__).parent / "pairs.py", sizes, name)
    hw = machine(hw_name)
    best, count = None, 0
    for nodes in _trees(kernel):
        shared = _shared_buffers(tuple(flatten(cut_tasks(kernel))))
        options = [_options(task, hw, aim, most_tilings, shared) for task in flatten(nodes)]
        if any(option is None for option in options):
            return None
        for chosen in product(*(option or () for option in options)):
            value = _value(kernel, nodes, {c.task.number: c for c in chosen}, hw, aim)
            if value is not None:
                count += 1
                best = value if best is None else min(best, value)
    try:
        plan = find_plan(kernel, hw, Wishes(layouts="packed", time_limit_s=solve_limit_s, aim=aim))
    except MappingError:
        plan = None
    return PlanComparison(plan, best, count, f"{hw_name} {name} {sizes}")


def _trees(kernel: Kernel) -> Iterator[tuple[TaskNode, ...]]:
    """The tasks apart, and joined in every way."""
    nodes = cut_tasks(kernel)
    yield nodes
    siblings = tuple(node for node in nodes if isinstance(node, Task))
    for position, task in enumerate(siblings):
        for joined in join_tasks(kernel, siblings, position):
            after = replace_joined(nodes, task, joined)
            if keeps_order(kernel, after):
                yield after


def _options(
    task: Task, hw: Hardware, aim: Aim, most_tilings: int, shared: frozenset[str]
) -> tuple[PlannedTask, ...] | None:
    """The best tiling of each of the first coverings that use shared arrays as they lie (of all, if
    none does), and the host; None: too many tilings."""
    found: list[PlannedTask] = []
    try:
        stream = list(islice(coverings(task.kernel, hw, [], task.setting()), MAX_LOOKS))
        natural = [covering for covering in stream if _is_natural(covering, shared)]
        for covering in (natural or stream)[:MAX_COVERINGS]:
            work = count_work(covering, hw)
            best = search_exhaustively(covering, work, hw, most_tilings=most_tilings, aim=aim)
            if best is None:
                return None
            if best.tiling is not None:
                answer = assemble_answer(task.kernel, covering, best.tiling, hw)
                found.append(PlannedTask.scheduled(task, answer))
    except MappingError:
        pass  # no instruction computes it
    if hw.host is not None and not task.parts:
        found.append(PlannedTask(task, None, True, host_task_cycles(task, hw.host)))
    return tuple(found)


def _is_natural(covering: Covering, shared: frozenset[str]) -> bool:
    used = (p for p in covering.operands if any(name in shared for _, name, _ in p.ends))
    return all(layout_rank(plan) == 0 for plan in used)


def _value(
    kernel: Kernel, nodes: tuple[TaskNode, ...], planned: Planned, hw: Hardware, aim: Aim
) -> float | None:
    try:
        return aim.value(TaskTree(kernel, nodes, hw).put(planned).costs(hw))
    except MappingError:
        return None  # nothing lays out the shared array anew
