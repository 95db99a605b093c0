"""Join tasks as they were joined before.

In: a kernel, its tasks, which statements each joined task computes. Out: the tree with those tasks
joined. Not its job: whether joining pays (`find_plan`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from isamap.ir import Kernel
from isamap.mapper import Task, TaskLoop, TaskNode, join_tasks, keeps_order

Parts = Mapping[int, tuple[int, ...]]  # number of a task: of all statements that it computes


def rejoin(
    kernel: Kernel, nodes: tuple[TaskNode, ...], parts: Parts
) -> tuple[tuple[TaskNode, ...], tuple[int, ...]]:
    """The tree, and the numbers of tasks in it that cannot be joined as asked."""
    failed: list[int] = []
    result: list[TaskNode] = []
    for node in nodes:
        if isinstance(node, TaskLoop):
            body, wrong = rejoin(kernel, node.body, parts)
            failed += wrong
            result.append(replace(node, body=body))
        else:
            result.append(node)
    siblings = tuple(node for node in result if isinstance(node, Task))
    for position, task in enumerate(siblings):
        if task.number not in parts:
            continue
        joined = next(
            (
                found
                for found in join_tasks(kernel, siblings, position)
                if tuple(part.number for part in found.parts) == parts[task.number]
            ),
            None,
        )
        after = () if joined is None else replace_joined(result, task, joined)
        if joined is None or not keeps_order(kernel, after):
            failed.append(task.number)
        else:
            result = list(after)
    return tuple(result), tuple(failed)


def replace_joined(nodes: Sequence[TaskNode], task: Task, joined: Task) -> tuple[TaskNode, ...]:
    """The tree with `joined` in the place of `task`, without the others that it computes."""
    gone = [part for part in joined.parts if part.number != task.number]
    return tuple(joined if node is task else node for node in nodes if node not in gone)
