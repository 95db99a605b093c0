"""Plans in which every sum that can take its neighbours over does so, faster or not.

In: a kernel, a machine. Out: programs. Not its job: choosing (`find_plan`).
"""

from dataclasses import replace

from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import Task, TaskLoop, TaskNode, cut_tasks, flatten, join_tasks
from isamap.planner.compose import compose
from isamap.planner.piece import Piece
from isamap.planner.share_chip import share_chip
from isamap.program import Program
from isamap.scheduler import Surroundings, Wishes, find_schedule


def join_all(kernel: Kernel, nodes: tuple[TaskNode, ...] | None = None) -> tuple[TaskNode, ...]:
    """The tasks of a kernel with the first possible join under every held loop done."""
    nodes = cut_tasks(kernel) if nodes is None else nodes
    nodes = tuple(
        replace(node, body=join_all(kernel, node.body)) if isinstance(node, TaskLoop) else node
        for node in nodes
    )
    siblings = tuple(node for node in nodes if isinstance(node, Task))
    for position, task in enumerate(siblings):
        joined = next(iter(join_tasks(kernel, siblings, position)), None)
        if joined is not None:
            gone = [part for part in joined.parts if part.number != task.number]
            return tuple(joined if node is task else node for node in nodes if node not in gone)
    return nodes


def joined_numbers(kernel: Kernel) -> list[tuple[int, ...]]:
    """The statements of every joined task."""
    return [
        tuple(part.number for part in task.parts)
        for task in flatten(join_all(kernel))
        if task.parts
    ]


def forced_program(kernel: Kernel, hw: Hardware) -> Program | None:
    """The program with joins; None where there are none, or instructions cannot do them."""
    nodes = join_all(kernel)
    tasks = tuple(flatten(nodes))
    if not any(task.parts for task in tasks):
        return None
    shared = frozenset(buffer.name for buffer in kernel.buffers)
    pieces = []
    for task in tasks:
        try:
            around = Surroundings(task.setting(), shared)
            answer = find_schedule(task.kernel, hw, Wishes(time_limit_s=1.0), around)
            pieces.append(Piece(task, answer.best))
        except MappingError:
            if task.parts or hw.host is None:
                return None
            pieces.append(Piece(task, None))
    if share_chip(nodes, {piece.task.number: piece for piece in pieces}, hw).crowded:
        return None
    try:
        return compose(kernel, nodes, tuple(pieces), hw)
    except MappingError:
        return None
