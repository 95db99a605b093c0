"""Let instructions that change what they read do so where it lies on chip.

In: a plan in which something takes away what such an instruction could change in place. Out:
kernels in which what it reads and what it leaves are one buffer, which may have a home on chip. Not
its job: the rewrites themselves (`overwrite`, `clear`), homes (`keep_on_chip`).
"""

from collections.abc import Collection, Iterator, Sequence

from isamap.hwdesc import Hardware, Instruction
from isamap.ir import Kernel, LoopKind, Role, loop_kinds
from isamap.rewrites import Step, attempt, clear, overwrite

from .keep_parts import Part
from .may_leave_host import computed_by
from .plan import Plan, PlannedTask


def overwrite_on_chip(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """The kernel with all temporaries overwritten that only instructions need work on and such an
    instruction reads last, then with each alone, and the sums that these then are cleared first or
    not; none on machines with caches, where buffers stay anyway."""
    changing = {x.name for x in hw.instructions if _changes_in_place(x)}
    if hw.caches or not changing:
        return
    computed = [(p, computed_by(p, hw)) for p in plan.tasks]
    touched = {name for p, found in computed if not found for name in p.task.touched}
    read = {name for p, found in computed for name in _read_in_place(p, found & changing)}
    names = [
        buffer.name
        for buffer in plan.kernel.buffers
        if buffer.name in read - touched and attempt(overwrite, plan.kernel, buffer.name)
    ]
    for some in (names, *([name] for name in names if len(names) > 1)):
        parts = tuple(_overwritten(plan, some)) if some else ()
        if parts:
            yield parts


def _read_in_place(planned: PlannedTask, changing: Collection[str]) -> Iterator[str]:
    """What a task reads, if one of these instructions computes it, or it has several statements."""
    if changing or len(planned.task.statements) > 1:
        for statement in planned.task.statements:
            yield from (access.buffer for access in statement.reads)


def _changes_in_place(instruction: Instruction) -> bool:
    """Does it leave, in each place, what it made of that alone?"""
    semantics = instruction.semantics
    return any(
        semantics.buffer(statement.target.buffer).role is Role.INOUT
        and all(kind is LoopKind.PARALLEL for kind in loop_kinds(statement).values())
        for statement in semantics.statements
    )


def _overwritten(plan: Plan, names: Sequence[str]) -> Iterator[Part]:
    """The kernel with some temporaries overwritten."""
    kernel: Kernel | None = plan.kernel
    for name in names:
        kernel = kernel and attempt(overwrite, kernel, name)
    if kernel is None:
        return
    steps = (*plan.steps, *(Step("overwrite", name) for name in names))
    left = {b.name for b in kernel.buffers if b.role is Role.TEMP}
    cleared, zeros = kernel, list[Step]()
    for buffer in sorted(left):
        found = attempt(clear, cleared, buffer)
        if found is not None:
            cleared, zeros = found, [*zeros, Step("clear", buffer)]
    if zeros:
        yield Part(cleared, (*steps, *zeros))
    yield Part(kernel, steps)
