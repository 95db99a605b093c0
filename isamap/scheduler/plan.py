"""Schedule a kernel of several statements: task by task, each on the unit that does it best.

In: a kernel, a machine, limits. Out: a plan: how every task runs, the program, a bound. Not its
job: what a single covering's best tiling is (`find_schedule`), emitting nodes (`compose`).
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from isamap.costmodels import Load, busiest, compulsory_bytes, least_load, port_cycles
from isamap.errors import MappingError
from isamap.hwdesc import Hardware, HostRule, run_cycles
from isamap.ir import Buffer, Kernel, Role, Statement, accesses
from isamap.mapper import (
    Ends,
    Task,
    TaskLoop,
    TaskNode,
    cut_tasks,
    flatten,
    join_tasks,
    keeps_order,
)
from isamap.program import Program
from isamap.rewrites import Step

from .compose import compose
from .memory_map import Piece
from .schedule import Answer, Schedule, find_schedule
from .share_chip import share_chip
from .solve import Status


@dataclass(frozen=True, slots=True)
class Wishes:
    """How to search, as in `find_schedule`."""

    cost: str = "analytical"
    layouts: str = "natural"
    time_limit_s: float = 20.0
    workers: int = 1
    seed: int = 0
    may_reassociate: bool = False


# what decides how a task is scheduled: all but its kernel's name and the place it came from
TaskKey = tuple[
    tuple[Buffer, ...],
    Statement,
    tuple[str, ...],
    tuple[tuple[str, str], ...],
    frozenset[str],
    Ends | None,
]


def task_key(task: Task, shared: frozenset[str]) -> TaskKey:
    """Equal for tasks that are scheduled alike."""
    buffers = task.kernel.buffers
    handed_on = shared & {buffer.name for buffer in buffers}
    return buffers, task.statement, task.held, task.volatile, handed_on, task.ends


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """A task, how it runs, and what it costs.

    `answer`: everything known about its schedules; None when no instruction computes it, and
    `reason` says why in one line. `cycles`: of all its iterations, alone, under the closed form;
    on the host by its rule.
    """

    task: Task
    answer: Answer | None
    on_host: bool
    cycles: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """A kernel of several statements, scheduled.

    `cycles`: sum over the tasks, which the closed form takes one after the other. `bound_cycles`:
    no program of these coverings is faster: the busiest unit, or the external memory's ports;
    `bound_limit` names it. `steps`: the rewrites that led to `kernel`, of `num_forms` that were
    listed; `cut`: what was not looked at.
    """

    kernel: Kernel
    nodes: tuple[TaskNode, ...]
    tasks: tuple[PlannedTask, ...]
    program: Program
    cycles: int
    bound_cycles: int
    bound_limit: str
    status: Status
    seconds: float
    steps: tuple[Step, ...] = ()
    num_forms: int = 1
    cut: str = ""


def is_single(kernel: Kernel) -> bool:
    """Can the kernel be scheduled as one statement whose loops are all free?"""
    nodes = cut_tasks(kernel)
    if len(nodes) != 1 or not isinstance(nodes[0], Task):
        return False
    return nodes[0].kernel.buffers == kernel.buffers


def host_cycles(kernel: Kernel, hw: Hardware) -> float:
    """Cycles of the kernel's statements on the host, one call each; infinite without a host."""
    if hw.host is None:
        return float("inf")
    return run_cycles(kernel, hw.host, len(kernel.statements))


def find_plan(
    kernel: Kernel,
    hw: Hardware,
    wishes: Wishes,
    *,
    known: dict[TaskKey, Answer | MappingError] | None = None,
) -> Plan:
    """Cut the kernel into tasks, schedule each, and put them together.

    A task goes to the host when no instruction computes it or the host is faster.

    Args:
        wishes: the time limit is shared out evenly.
        known: what was found for tasks of other kernels on the same machine, by the same wishes;
            grows.

    Raises:
        MappingError: a statement that no instruction computes, on a machine without a host.
    """
    begin = time.perf_counter()
    nodes = cut_tasks(kernel)
    tasks = tuple(flatten(nodes))
    shared = _shared_buffers(tasks)
    known = {} if known is None else known
    soon = replace(wishes, time_limit_s=wishes.time_limit_s / len(tasks))
    planned = {
        task.number: _choose(task, _schedule(task, hw, soon, shared, known), hw) for task in tasks
    }
    schedule = partial(_schedule, hw=hw, wishes=soon, shared=shared, known=known)
    nodes = _join(kernel, nodes, planned, schedule)
    _make_room(nodes, planned, schedule, hw)
    chosen = tuple(planned[task.number] for task in flatten(nodes))
    pieces = tuple(map(_piece, chosen))
    program = compose(kernel, nodes, pieces, hw)
    proven = all(p.answer is None or p.answer.status is Status.OPTIMAL for p in chosen)
    return Plan(
        kernel,
        nodes,
        chosen,
        program,
        sum(p.cycles for p in chosen),
        *_bound(kernel, chosen, hw),
        Status.OPTIMAL if proven else Status.FEASIBLE,
        time.perf_counter() - begin,
    )


def _join(
    kernel: Kernel,
    nodes: tuple[TaskNode, ...],
    planned: dict[int, PlannedTask],
    schedule: Callable[[Task], Answer | MappingError],
) -> tuple[TaskNode, ...]:
    """The tasks with those joined that are faster together; `planned` changes with them."""
    nodes = tuple(
        replace(node, body=_join(kernel, node.body, planned, schedule))
        if isinstance(node, TaskLoop)
        else node
        for node in nodes
    )
    siblings = tuple(node for node in nodes if isinstance(node, Task))
    for position, task in enumerate(siblings):
        for joined in join_tasks(kernel, siblings, position):
            found = schedule(joined)
            numbers = [part.number for part in joined.parts]
            if not isinstance(found, Answer) or any(planned[n].task.parts for n in numbers):
                continue
            cycles = found.best.estimate.cycles
            gone = [part for part in joined.parts if part.number != task.number]
            after = tuple(joined if node is task else node for node in nodes if node not in gone)
            is_faster = cycles < sum(planned[number].cycles for number in numbers)
            if is_faster and keeps_order(kernel, after):
                planned[task.number] = PlannedTask(joined, found, False, cycles)
                nodes = after
                break
    return nodes


def _make_room(
    nodes: tuple[TaskNode, ...],
    planned: dict[int, PlannedTask],
    schedule: Callable[[Task], Answer | MappingError],
    hw: Hardware,
) -> None:
    """Where tasks under a held loop do not fit on chip side by side, let the largest that keep data
    over it fetch them again in every iteration; `planned` changes."""
    while crowded := _crowded(nodes, planned, hw):
        for number in crowded:
            old = planned[number]
            task = _keeping_nothing(old.task)
            found = schedule(task)
            if task != old.task and isinstance(found, Answer):
                cycles = found.best.estimate.cycles
                planned[number] = replace(old, task=task, answer=found, cycles=cycles)
                break
        else:
            raise MappingError(
                f"statements under one loop do not fit side by side on the chip of {hw.name}",
                hint="make the loops inside smaller, or give its memories more room",
            )


def _crowded(
    nodes: tuple[TaskNode, ...], planned: dict[int, PlannedTask], hw: Hardware
) -> tuple[int, ...]:
    pieces = {task.number: _piece(planned[task.number]) for task in flatten(nodes)}
    return share_chip(nodes, pieces, hw).crowded


def _keeping_nothing(task: Task) -> Task:
    """The task with nothing on chip from one iteration of its held loops to the next."""
    names = [buffer.name for buffer in task.kernel.buffers]
    return replace(task, volatile=tuple((name, loop) for name in names for loop in task.held))


def _piece(planned: PlannedTask) -> Piece:
    return Piece(planned.task, None if planned.on_host else _best(planned))


def _schedule(
    task: Task,
    hw: Hardware,
    wishes: Wishes,
    shared: frozenset[str],
    known: dict[TaskKey, Answer | MappingError],
) -> Answer | MappingError:
    """The task's best schedule or why it has none, looked up if it was found before."""
    key = task_key(task, shared)
    if key not in known:
        try:
            known[key] = find_schedule(
                task.kernel,
                hw,
                cost=wishes.cost,
                layouts=wishes.layouts,
                time_limit_s=wishes.time_limit_s,
                workers=wishes.workers,
                seed=wishes.seed,
                may_reassociate=wishes.may_reassociate,
                held=task.held,
                volatile=task.volatile,
                handed_on=shared,
                ends=task.ends,
            )
        except MappingError as error:
            known[key] = error
    return known[key]


def _choose(task: Task, found: Answer | MappingError, hw: Hardware) -> PlannedTask:
    """The schedule, or the host where that is faster or the only way."""
    answer = found if isinstance(found, Answer) else None
    on_accelerator = answer.best.estimate.cycles if answer else None
    if hw.host is None:
        if isinstance(found, MappingError):
            raise found
        return PlannedTask(task, answer, False, found.best.estimate.cycles)
    on_host = host_task_cycles(task, hw.host)
    if on_accelerator is None or on_host < on_accelerator:
        reason = found.reason if isinstance(found, MappingError) else ""
        return PlannedTask(task, answer, True, on_host, reason)
    return PlannedTask(task, answer, False, on_accelerator)


def host_task_cycles(task: Task, rule: HostRule) -> int:
    """Cycles of all iterations of a task on the host."""
    calls = prod(task.statement.extent(name) for name in task.held)
    return run_cycles(task.kernel, rule, calls)


def _best(planned: PlannedTask) -> Schedule:
    assert planned.answer is not None, "a task off the host has a schedule"
    return planned.answer.best


def _shared_buffers(tasks: tuple[Task, ...]) -> frozenset[str]:
    """Buffers that one task writes and another one touches: their layout must suit both."""
    touched: dict[str, list[int]] = {}
    written: set[str] = set()
    for task in tasks:
        for buffer in task.kernel.buffers:
            touched.setdefault(buffer.name, []).append(task.number)
        written.add(task.statement.target.buffer)
    return frozenset(name for name in written if len(touched[name]) > 1)


def _bound(kernel: Kernel, planned: tuple[PlannedTask, ...], hw: Hardware) -> tuple[int, str]:
    """The busiest unit or port with the least work of every task, or the compulsory traffic; and
    which."""
    loads = []
    for task in planned:
        if task.on_host:
            assert hw.host is not None, "only a host runs such tasks"
            loads.append(Load(((hw.host.unit, float(task.cycles)),), ()))
        else:
            best = _best(task)
            loads.append(least_load(best.covering, best.work))
    ports = port_cycles(hw, *_moved_bytes(kernel, planned))
    rows = [busiest(loads, hw), *((cycles, name) for name, cycles in ports)]
    return max(rows, key=lambda pair: pair[0])


def _moved_bytes(kernel: Kernel, planned: tuple[PlannedTask, ...]) -> tuple[int, int]:
    """Bytes that tasks off the host read at least from the external memory, and write.

    A buffer is read where the first of these tasks on it reads it, and written by one of them; the
    host's own accesses are part of its cycles.
    """
    statements = [s for task in planned if not task.on_host for s in task.task.statements]
    read = written = 0
    for buffer in kernel.buffers:
        users = [s for s in statements if buffer.name in _names(s)]
        if buffer.role is Role.TEMP or not users:
            continue
        sizes = [_touched_bytes(s, buffer) for s in users if s.target.buffer == buffer.name]
        written += max(sizes, default=0)
        first = users[0]
        is_set = first.target.buffer == buffer.name and first.update == "="
        if buffer.role is not Role.OUT and not is_set:
            read += _touched_bytes(first, buffer)
    return read, written


def _names(statement: Statement) -> set[str]:
    return {statement.target.buffer, *(access.buffer for access in accesses(statement.value))}


def _touched_bytes(statement: Statement, buffer: Buffer) -> int:
    """Bytes of a buffer that a statement touches; 0 where it reads one place and writes another."""
    touched = {a for a in (statement.target, *accesses(statement.value)) if a.buffer == buffer.name}
    if len(touched) > 1 and statement.target in touched:
        return 0
    alone = Kernel("touched", (replace(buffer, role=Role.IN),), (statement,))
    return compulsory_bytes(alone)[0]
