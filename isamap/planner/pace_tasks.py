"""How long the tasks of a plan take when those that meet nowhere run side by side.

In: a plan. Out: cycles. Not its job: what a task takes by itself (`costmodels`), what the plan says
of itself: the sum.

Units have queues of their own, so a task begins when its units are free and what it depends on is
done; a unit is taken for the whole of a task that uses it. The emulator goes call by call and is
never behind that by more than what the closed form of the tasks misses.
"""

from dataclasses import dataclass
from itertools import product

from isamap.hwdesc import Hardware
from isamap.ir import Statement, may_distribute, may_swap
from isamap.mapper import Task, TaskLoop, flatten

from .plan import Plan, PlannedTask

FEW = 4  # iterations after which they follow at a steady pace


@dataclass(frozen=True, slots=True)
class _Stage:
    """One task in one iteration of the loop around it. `after`: numbers of stages before it that it
    waits for, of this iteration and of the one before."""

    cycles: float
    units: frozenset[str]
    after: tuple[int, ...]
    after_before: tuple[int, ...]


def pace_tasks(plan: Plan, hw: Hardware) -> float:
    """Cycles of the plan; what is under one loop only may overlap, everything else is added up."""
    planned = {p.task.number: p for p in plan.tasks}
    total = float(plan.repack_cycles)
    for node in plan.nodes:
        tasks = [node] if isinstance(node, Task) else list(flatten((node,)))
        if isinstance(node, TaskLoop) and all(task.held == (node.loop.name,) for task in tasks):
            total += _pace(_stages(node, [planned[task.number] for task in tasks], hw), node)
        else:
            total += sum(planned[task.number].cycles for task in tasks)
    return total


def _stages(node: TaskLoop, planned: list[PlannedTask], hw: Hardware) -> list[_Stage]:
    loop = node.loop.name
    stages = []
    for number, mine in enumerate(planned):
        own = mine.task.statements
        before = [n for n in range(number) if _meet(planned[n].task.statements, own, loop)]
        carried = [n for n, p in enumerate(planned) if _hands_on(p.task.statements, own, loop)]
        cycles = mine.cycles / node.loop.extent
        stages.append(_Stage(cycles, _units(mine, hw), tuple(before), tuple(carried)))
    return stages


def _units(planned: PlannedTask, hw: Hardware) -> frozenset[str]:
    if planned.on_host:
        assert hw.host is not None, "only a host has tasks of its own"
        return frozenset({hw.host.unit})
    return frozenset(unit for unit, cycles in planned.best.estimate.unit_cycles if cycles)


def _meet(first: tuple[Statement, ...], second: tuple[Statement, ...], loop: str) -> bool:
    """Does the order of two tasks matter in one iteration?"""
    pairs = product(first, second)
    return not all(may_swap(a, b, may_reassociate=True, fixed=(loop,)) for a, b in pairs)


def _hands_on(first: tuple[Statement, ...], second: tuple[Statement, ...], loop: str) -> bool:
    """Does an iteration of the second wait for an earlier one of the first?"""
    return not all(may_distribute(b, a, (loop,)) for a, b in product(first, second))


def _pace(stages: list[_Stage], node: TaskLoop) -> float:
    """Cycles of all iterations."""
    free: dict[str, float] = {}
    ends = [0.0] * len(stages)
    reached: list[float] = []
    for _ in range(min(node.loop.extent, 2 * FEW)):
        earlier, ends = ends, []
        for stage in stages:
            waits = [ends[n] for n in stage.after] + [earlier[n] for n in stage.after_before]
            end = max([*waits, *(free.get(unit, 0.0) for unit in stage.units)]) + stage.cycles
            free |= dict.fromkeys(stage.units, end)
            ends.append(end)
        reached.append(max([*ends, *earlier]))
    if node.loop.extent <= 2 * FEW:
        return reached[-1]
    pace = (reached[-1] - reached[FEW - 1]) / FEW
    return reached[-1] + (node.loop.extent - 2 * FEW) * pace
