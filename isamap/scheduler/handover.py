"""How buffers pass from task to task: who writes, who reads, in which layout, what is moved.

In: a plan, or its program. Out: one row per buffer, one per copy that the host makes. Not its job:
choosing layouts (`memory_map`), making the copies (`repack`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from isamap.hwdesc import Hardware
from isamap.ir import accesses
from isamap.mapper import Task
from isamap.program import For, Issue, Layout, Node, Placement, Program, When

from .plan import Plan, host_cycles

REPACK = "repack_"  # what `compose` calls the host's copies


@dataclass(frozen=True, slots=True)
class Handover:
    """A buffer that one task writes and another one touches. `writers`, `readers`: task numbers;
    one that updates what another one began is both."""

    buffer: str
    writers: tuple[int, ...]
    readers: tuple[int, ...]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Repack:
    """The host's copies of a buffer from one layout to another, all iterations together."""

    buffer: str
    source: Layout
    target: Layout
    num_calls: int
    cycles: int


def handovers(plan: Plan) -> tuple[Handover, ...]:
    """One row per buffer that tasks share, in the kernel's order of buffers."""
    found = []
    for buffer in plan.kernel.buffers:
        touching = [p.task for p in plan.tasks if buffer.name in p.task.touched]
        writers = [task.number for task in touching if _writes(task, buffer.name)]
        readers = [
            task.number
            for task in touching
            if _reads(task, buffer.name, task.number in writers[1:])
        ]
        if writers and len(touching) > 1:
            layout = _home(plan.program, buffer.name).layout
            found.append(Handover(buffer.name, tuple(writers), tuple(readers), layout))
    return tuple(found)


def _writes(task: Task, buffer: str) -> bool:
    return any(statement.target.buffer == buffer for statement in task.statements)


def _reads(task: Task, buffer: str, continues: bool) -> bool:
    """Does the task read the buffer, or, if it `continues` it, update what was there?"""
    return any(
        any(read.buffer == buffer for read in accesses(statement.value))
        or (continues and statement.target.buffer == buffer and statement.update != "=")
        for statement in task.statements
    )


def _home(program: Program, buffer: str) -> Placement:
    """Where tasks find a shared buffer: its output, else the first room that it was given."""
    places = [p for p in (*program.inputs, *program.scratch) if p.buffer == buffer]
    outputs = [p for p in program.outputs if p.buffer == buffer]
    return outputs[0] if outputs else min(places, key=lambda place: place.address)


def repacks(program: Program, hw: Hardware) -> tuple[Repack, ...]:
    """One row per buffer and pair of layouts, in the order of the program."""
    found: dict[tuple[str, Layout, Layout], Repack] = {}
    semantics = {call.name: call for call in program.host_calls}
    for issue, times in _issues(program.body, 1):
        if not issue.instruction.startswith(REPACK) or issue.instruction not in semantics:
            continue
        ends = [_place_of(program, operand.address.offset.constant) for operand in issue.operands]
        source, target = ends
        key = (target.buffer, source.layout, target.layout)
        cycles = times * int(host_cycles(semantics[issue.instruction], hw))
        known = found.get(key, Repack(*key, 0, 0))
        found[key] = replace(known, num_calls=known.num_calls + times, cycles=known.cycles + cycles)
    return tuple(found.values())


def _issues(body: tuple[Node, ...], times: int) -> Iterator[tuple[Issue, int]]:
    """Calls with how often the loops around them repeat them."""
    for node in body:
        match node:
            case For(_, span, inner):
                yield from _issues(inner, times * span.limit)
            case When(_, inner):
                yield from _issues(inner, times)
            case Issue():
                yield node, times


def _place_of(program: Program, address: int) -> Placement:
    places = (*program.inputs, *program.outputs, *program.scratch)
    return next(p for p in places if p.address <= address < p.address + p.layout.size_bytes)
