"""Decide which tasks the host runs, with what must be laid out anew between tasks counted.

In: the tree of tasks, how each of them runs by itself. Out: the choice with the fewest cycles that
moving tasks one by one, or all on one buffer together, leads to; its program. Not its job:
schedules, layouts.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from isamap.costmodels import FASTEST, Aim, Costs
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import TaskNode, flatten
from isamap.program import Program

from .compose import compose
from .count_repacks import Repack, repacks
from .host_calls import may_run_on_host
from .plan import PlannedTask, host_task_cycles
from .share_chip import share_chip
from .timeline import timeline


@dataclass(frozen=True, slots=True)
class PlacedTasks:
    """How every task runs, the program, and what the host copies between layouts.

    `task_cycles`: of the tasks one after the other, as far as they do not overlap (`timeline`).
    """

    tasks: tuple[PlannedTask, ...]
    program: Program
    moved: tuple[Repack, ...]
    task_cycles: int

    @property
    def repack_cycles(self) -> int:
        """Of the host's copies between layouts."""
        return sum(row.cycles for row in self.moved)

    def costs(self, hw: Hardware) -> Costs:
        """Of everything."""
        rows = (*(task.costs(hw) for task in self.tasks), *(row.costs for row in self.moved))
        return replace(sum(rows, Costs(0, 0, 0)), cycles=self.cycles)

    @property
    def cycles(self) -> int:
        """Tasks and copies between layouts, during which nothing else runs."""
        return self.task_cycles + self.repack_cycles


def place_tasks(
    kernel: Kernel,
    nodes: tuple[TaskNode, ...],
    planned: Mapping[int, PlannedTask],
    hw: Hardware,
    aim: Aim = FASTEST,
) -> PlacedTasks:
    """Move tasks between host and accelerator while the aim likes that better.

    Not tried: tearing joined tasks apart, moving tasks on different buffers at once.

    Raises:
        MappingError: as `compose`.
    """
    best = put_tasks(kernel, nodes, planned, hw)
    is_better = hw.host is not None
    while is_better:
        is_better = False
        for changed in _changes(best, hw):
            other = _try(kernel, nodes, changed, hw)
            if other is not None and aim.rank(other.costs(hw)) < aim.rank(best.costs(hw)):
                best, is_better = other, True
                break
    return best


def put_tasks(
    kernel: Kernel, nodes: tuple[TaskNode, ...], planned: Mapping[int, PlannedTask], hw: Hardware
) -> PlacedTasks:
    """The tasks run as they are planned to; MappingError as `compose`."""
    tasks = tuple(planned[task.number] for task in flatten(nodes))
    program = compose(kernel, nodes, tuple(task.piece for task in tasks), hw)
    return PlacedTasks(tasks, program, repacks(program, hw), timeline(nodes, planned, hw))


def _try(
    kernel: Kernel, nodes: tuple[TaskNode, ...], planned: Mapping[int, PlannedTask], hw: Hardware
) -> PlacedTasks | None:
    pieces = {task.number: planned[task.number].piece for task in flatten(nodes)}
    try:
        if share_chip(nodes, pieces, hw).crowded:
            return None
        return put_tasks(kernel, nodes, planned, hw)
    except MappingError:
        return None


def _changes(placed: PlacedTasks, hw: Hardware) -> Iterator[dict[int, PlannedTask]]:
    """Other choices for tasks on buffers that are laid out anew: each alone, then all on one
    buffer, all of them on the host or none."""
    now = {task.task.number: task for task in placed.tasks}
    for name in dict.fromkeys(row.buffer for row in placed.moved):
        users = [task for task in placed.tasks if name in task.task.touched]
        for task in users:
            moved = _moved(task, not task.on_host, hw)
            if moved is not None:
                yield {**now, task.task.number: moved}
        for on_host in (True, False):
            all_moved = [_moved(task, on_host, hw) or task for task in users]
            yield {**now, **{task.task.number: task for task in all_moved}}


def _moved(planned: PlannedTask, on_host: bool, hw: Hardware) -> PlannedTask | None:
    """The task on the host, or off it; None where it cannot run."""
    if planned.task.parts or hw.host is None or (not on_host and planned.answer is None):
        return None
    if on_host and not may_run_on_host(planned.task):
        return None
    if on_host:
        return replace(planned, on_host=True, cycles=host_task_cycles(planned.task, hw.host))
    return replace(planned, on_host=False, cycles=planned.best.estimate.cycles)
