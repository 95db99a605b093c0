"""How buffers pass from task to task: who writes, who reads, in which layout.

In: a plan. Out: one row per buffer. Not its job: choosing layouts (`memory_map`), what the host
lays out anew (`count_repacks`).
"""

from dataclasses import dataclass

from isamap.mapper import Task
from isamap.program import Layout, Placement, Program

from .plan import Plan


@dataclass(frozen=True, slots=True)
class Handover:
    """A buffer that one task writes and another one touches. `writers`, `readers`: task numbers;
    one that updates what another one began is both. `home`: the managed memory it lies in; None:
    the external memory."""

    buffer: str
    writers: tuple[int, ...]
    readers: tuple[int, ...]
    layout: Layout
    home: str | None = None


def handovers(plan: Plan) -> tuple[Handover, ...]:
    """One row per buffer that tasks share, in the kernel's order of buffers."""
    found = []
    on_chip = {name: end for p in plan.tasks for name, end in p.piece.homes.items()}
    for buffer in plan.kernel.buffers:
        touching = [p.task for p in plan.tasks if buffer.name in p.task.touched]
        writers = [task.number for task in touching if _writes(task, buffer.name)]
        readers = [
            task.number
            for task in touching
            if _reads(task, buffer.name, task.number in writers[1:])
        ]
        if writers and len(touching) > 1:
            end = on_chip.get(buffer.name)
            layout = end.layout if end else _home(plan.program, buffer.name).layout
            home = end.home if end else None
            found.append(Handover(buffer.name, tuple(writers), tuple(readers), layout, home))
    return tuple(found)


def _writes(task: Task, buffer: str) -> bool:
    return any(statement.target.buffer == buffer for statement in task.statements)


def _reads(task: Task, buffer: str, continues: bool) -> bool:
    """Does the task read the buffer, or, if it `continues` it, update what was there?"""
    return any(
        any(read.buffer == buffer for read in statement.reads)
        or (continues and statement.target.buffer == buffer and statement.update != "=")
        for statement in task.statements
    )


def _home(program: Program, buffer: str) -> Placement:
    """Where tasks find a shared buffer: its output, else the first room that it was given."""
    places = [p for p in (*program.inputs, *program.scratch) if p.buffer == buffer]
    outputs = [p for p in program.outputs if p.buffer == buffer]
    return outputs[0] if outputs else min(places, key=lambda place: place.address)
