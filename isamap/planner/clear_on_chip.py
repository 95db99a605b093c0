"""Let sums that begin with zeros stay on chip for the tasks that read them.

In: a plan in which the accelerator clears room for a sum, stores the sum, and fetches it again for
what follows. Out: kernels that clear the temporary in a statement of its own, so that it may have a
home on chip. Not its job: the rewrite itself (`clear`), homes (`keep_on_chip`).
"""

from collections.abc import Iterator
from math import prod

from isamap.hwdesc import Hardware, MemoryKind
from isamap.ir import Buffer, Kernel, Role, size_bytes
from isamap.rewrites import Step, attempt, clear

from .keep_parts import Part
from .may_leave_host import may_leave_host
from .plan import Plan, PlannedTask


def clear_on_chip(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """The kernel with all such sums cleared, then with each alone."""
    names = [b.name for b in plan.kernel.buffers if b.role is Role.TEMP and _passes(plan, b, hw)]
    for some in (names, *([name] for name in names if len(names) > 1)):
        kernel: Kernel | None = plan.kernel
        for name in some:
            kernel = kernel and attempt(clear, kernel, name)
        if some and kernel is not None:
            yield (Part(kernel, (*plan.steps, *(Step("clear", name) for name in some))),)


def _passes(plan: Plan, buffer: Buffer, hw: Hardware) -> bool:
    """Is a sum cleared in a memory that could hold all of it, and fetched into it by all others?
    Where one of them is on the host and need not be, nobody knows."""
    users = [p for p in plan.tasks if buffer.name in p.task.touched]
    if len(users) < 2 or any(buffer.name in p.piece.homes for p in users):
        return False
    size = prod(buffer.shape) * size_bytes(buffer.dtype)
    if any(p.on_host for p in users):
        has_room = any(size <= m.size_bytes for m in hw.memories if m.kind is MemoryKind.MANAGED)
        return has_room and all(may_leave_host(p, hw) for p in users)
    writer, *readers = users
    cleared = _memories(writer, buffer.name, is_cleared=True)
    fetched = [_memories(reader, buffer.name) for reader in readers]
    return any(
        size <= hw.memory(name).size_bytes and all(name in others for others in fetched)
        for name in cleared
    )


def _memories(planned: PlannedTask, buffer: str, *, is_cleared: bool = False) -> list[str]:
    """Where a task's operands that are this buffer stay (only those that it clears)."""
    return [
        residence.memory
        for operand in planned.best.covering.operands
        if buffer in (operand.buffer, operand.inlet_buffer if operand.inlet else "")
        for residence in operand.residences
        if residence.zero is not None or not is_cleared
    ]
