"""A kernel of several statements, scheduled: the data of a plan.

In: nothing but these nodes. Out: frozen values, and what a task or a kernel costs on the host. Not
its job: making a plan (`find_plan`), its bound (`bound_plan`).
"""

from dataclasses import dataclass, field, replace
from math import prod

from isamap.costmodels import Aim, Costs, host_costs
from isamap.hwdesc import Hardware, HostRule, run_cycles
from isamap.ir import Buffer, Kernel, Role, Statement
from isamap.mapper import Setting, Task, TaskNode, cut_tasks
from isamap.program import Program
from isamap.rewrites import Step
from isamap.scheduler import Answer, Schedule, Status

from .piece import Piece


@dataclass(frozen=True, slots=True)
class TaskKey:
    """What decides how a task is scheduled: all but its kernel's name and the place it came
    from."""

    buffers: tuple[Buffer, ...]
    statement: Statement
    handed_on: frozenset[str]
    setting: Setting
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # forms of a kernel are compared by the keys of their tasks, thousands of times
        own = self.buffers, self.statement, self.handed_on, self.setting
        object.__setattr__(self, "_hash", hash(own))

    def __hash__(self) -> int:
        return self._hash


def task_key(task: Task, shared: frozenset[str]) -> TaskKey:
    """Equal for tasks that are scheduled alike."""
    buffers = task.kernel.buffers
    handed_on = shared & {buffer.name for buffer in buffers}
    return TaskKey(buffers, task.statement, handed_on, task.setting())


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task, how it runs, and what it costs.

    `answer`: everything known about its schedules; None when no instruction computes it, and
    `reason` says why in one line. `cycles`: of all its iterations, alone, under the closed form;
    on the host by its rule. `goes_on`: it runs in the host's call of the task before it, whose
    start is not its own, and finds these buffers there (None: it begins a call).
    """

    task: Task
    answer: Answer | None
    on_host: bool
    cycles: int
    reason: str = ""
    goes_on: tuple[str, ...] | None = None

    @classmethod
    def scheduled(cls, task: Task, answer: Answer) -> "PlannedTask":
        """A task that runs as an answer says, off the host."""
        return cls(task, answer, False, answer.best.estimate.cycles)

    @property
    def best(self) -> Schedule:
        """The schedule of a task off the host."""
        assert self.answer is not None, "a task off the host has a schedule"
        return self.answer.best

    def costs(self, hw: Hardware) -> Costs:
        """Of all its iterations, alone."""
        if self.on_host:
            found = self.goes_on or ()
            target = self.task.statement.target.buffer
            buffers = tuple(
                replace(b, role=Role.OUT if b.name == target else Role.TEMP)
                if b.name in found
                else b
                for b in self.task.kernel.buffers
            )
            kernel = replace(self.task.kernel, buffers=buffers)
            num_calls = 1 if self.goes_on is None else 0
            return host_costs(kernel, hw, held=self.task.held, num_calls=num_calls)
        return self.best.estimate.costs(hw)

    @property
    def piece(self) -> Piece:
        """The task and how it runs."""
        return Piece(self.task, None if self.on_host else self.best, self.goes_on is not None)


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel of several statements, scheduled.

    `cycles`: of the tasks, each as early as units and data let it begin (`timeline`), and of what
    the host lays out anew in between (`repack_cycles`). `bound_cycles`: no program of these
    coverings is faster: the busiest unit, the external memory's ports, or the room of a memory that
    blocks pass; `bound_limit` names it. `costs`: the same cycles, and what an `aim` may be about
    besides; OPTIMAL says that no task alone has a better schedule by it, and no other choice of
    those that the host runs is better for these schedules. `steps`: the rewrites that led to
    `kernel`, of `num_forms` that were listed; `cut`: what was not looked at.
    """

    kernel: Kernel
    nodes: tuple[TaskNode, ...]
    tasks: tuple[PlannedTask, ...]
    program: Program
    cycles: int
    repack_cycles: int
    bound_cycles: int
    bound_limit: str
    status: Status
    seconds: float
    aim: Aim
    costs: Costs
    steps: tuple[Step, ...] = ()
    num_forms: int = 1
    cut: str = ""

    @property
    def answers(self) -> tuple[Answer, ...]:
        """About each task that instructions compute."""
        return tuple(task.answer for task in self.tasks if task.answer is not None)


def is_single(kernel: Kernel) -> bool:
    """Can the kernel be scheduled as one statement whose loops are all free?"""
    nodes = cut_tasks(kernel)
    if len(nodes) != 1 or not isinstance(nodes[0], Task):
        return False
    return nodes[0].kernel.buffers == kernel.buffers


def host_task_cycles(task: Task, rule: HostRule) -> int:
    """Cycles of all iterations of a task on the host, in calls of its own."""
    calls = prod(task.statement.extent(name) for name in task.held)
    return run_cycles(task.kernel, rule, calls)
