"""Say of tasks which of their inputs come too late for fifos whose entries must be there in time.

In: tasks under the loops that they share, a machine. Out: the same tasks with `late` filled in. Not
its job: the routes that are left (`plan_operand`).

Where an entry of a fifo must be there so many cycles after the one before it was first read
(`Fifo.within_cycles`), it can be fetched long before its turn, but not before it is computed: what
is written after some task used the fifo cannot pass it.
"""

from dataclasses import replace

from isamap.hwdesc import Hardware
from isamap.mapper import Task, TaskLoop, TaskNode, candidates, flatten


def mark_late(nodes: tuple[TaskNode, ...], hw: Hardware) -> tuple[TaskNode, ...]:
    """The tasks, each with those of its buffers that others write once such a fifo may be in use:
    from the first task on that may take operands from it, in every iteration of a held loop."""
    timed = {memory.name for memory in hw.memories if memory.has_deadline}
    if not timed:
        return nodes
    return _mark(nodes, _in_use(nodes, timed, hw))


def _in_use(nodes: tuple[TaskNode, ...], timed: set[str], hw: Hardware) -> frozenset[str]:
    """Buffers that are written when such a fifo may be in use."""
    late: set[str] = set()
    used = False
    for node in nodes:
        tasks = tuple(flatten((node,)))
        used = used or any(_may_use(task, timed, hw) for task in tasks)
        if used:
            late.update(task.statement.target.buffer for task in tasks)
    return frozenset(late)


def _may_use(task: Task, timed: set[str], hw: Hardware) -> bool:
    """Does an instruction that may compute it read from such a fifo? The copy that fills the fifo,
    which a statement that copies matches too, needs no entry in time."""
    instructions = (
        found.match.instruction for found in candidates(task.kernel, 0, hw, None, task.held)
    )
    return any(
        rule.memory in timed and rule.name != instruction.result.buffer
        for instruction in instructions
        for rule in instruction.operands
    )


def _mark(nodes: tuple[TaskNode, ...], late: frozenset[str]) -> tuple[TaskNode, ...]:
    marked: list[TaskNode] = []
    for node in nodes:
        if isinstance(node, TaskLoop):
            marked.append(replace(node, body=_mark(node.body, late)))
        else:
            marked.append(replace(node, late=tuple(sorted(late & node.touched))))
    return tuple(marked)
