"""Let the host run neighbours in one call, which begins once.

In: the tree of tasks, how each of them runs. Out: which of them go on in the call of the task
before them. Not its job: deciding what the host runs (`place_tasks`), the call (`host_calls`).

Neighbours under the same loops are joined where nobody gains by an end of the first before the end
of the second: only the host touches what the first one writes, and all that others write for the
second the first one reads too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import prod

from isamap.hwdesc import Hardware, HostRule, run_cycles
from isamap.mapper import Task, TaskLoop, TaskNode, flatten
from isamap.program import natural_layout

from .host_calls import Home, views_of
from .plan import PlannedTask

Planned = Mapping[int, PlannedTask]


def join_calls(nodes: tuple[TaskNode, ...], planned: Planned, hw: Hardware) -> Planned:
    """The tasks, with those of the host joined that may be."""
    if hw.host is None:
        return planned
    others = [task for task in flatten(nodes) if not planned[task.number].on_host]
    waiting = others if hw.host.is_apart else []  # nobody gains by an early end on the same core
    elsewhere = frozenset(name for task in waiting for name in task.touched)
    changed = frozenset(s.target.buffer for task in waiting for s in task.statements)
    found = dict(planned)
    for group in _groups(nodes, planned):
        call = [group[0]]
        for task in group[1:]:
            if _may_join(call, task, elsewhere, changed):
                found[task.number] = _going_on(planned[task.number], call, hw.host)
                call.append(task)
            else:
                call = [task]
    return found


def _groups(nodes: tuple[TaskNode, ...], planned: Planned) -> Iterator[list[Task]]:
    """Neighbours on the host."""
    group: list[Task] = []
    for node in nodes:
        if isinstance(node, TaskLoop):
            yield from _groups(node.body, planned)
        if isinstance(node, Task) and planned[node.number].on_host:
            group.append(node)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _may_join(
    call: list[Task], task: Task, elsewhere: frozenset[str], changed: frozenset[str]
) -> bool:
    """May the task go on in the call, other tasks touching the buffers `elsewhere` and writing
    those in `changed`?"""
    written = {one.statement.target.buffer for one in call}
    read = {name for one in call for name in one.touched}
    if written & elsewhere or (_needed(task, changed) & elsewhere) - read:
        return False
    return all(_finds_whole(one, task) for one in call)


def _needed(task: Task, changed: frozenset[str]) -> frozenset[str]:
    """What the task reads: its target only where it goes on with what others wrote there."""
    own = task.statement
    goes_on = own.update != "=" or any(a.buffer == own.target.buffer for a in own.reads)
    if goes_on and own.target.buffer in changed:
        return task.touched
    return task.touched - {own.target.buffer}


def _finds_whole(first: Task, second: Task) -> bool:
    """Does the second touch all of what the first one writes, or nothing of that array?

    An operand of a call is one array; that another one shares elements with it would not be seen.
    """
    target = first.statement.target
    views = views_of(second.statement, second, partial(_home, second))
    mine = views_of(first.statement, first, partial(_home, first))[target]
    return all(v.is_same(mine) for a, v in views.items() if a.buffer == target.buffer)


def _home(task: Task, buffer: str) -> Home:
    """Somewhere: it is only asked which elements are meant."""
    found = task.kernel.buffer(buffer)
    return Home(0, natural_layout(found.dtype, found.shape))


def _going_on(planned: PlannedTask, before: list[Task], rule: HostRule) -> PlannedTask:
    """The task in the call of those before it; it costs what the call costs more with it."""
    found = tuple(sorted(_assigned(before) & planned.task.touched))
    cycles = _call_cycles([*before, planned.task], rule) - _call_cycles(before, rule)
    return replace(planned, cycles=cycles, goes_on=found)


def _assigned(tasks: list[Task]) -> set[str]:
    """Arrays whose first writer needs nothing of what was there."""
    first: dict[str, bool] = {}
    for task in tasks:
        own = task.statement
        first.setdefault(own.target.buffer, not own.reads_target)
    return {name for name, is_assigned in first.items() if is_assigned}


def _call_cycles(tasks: list[Task], rule: HostRule) -> int:
    """Cycles of all iterations of the tasks in the calls of the first one."""
    calls = prod(tasks[0].statement.extent(name) for name in tasks[0].held)
    statements = tuple(statement for task in tasks for statement in task.kernel.statements)
    return run_cycles(replace(tasks[0].kernel, statements=statements), rule, calls)
