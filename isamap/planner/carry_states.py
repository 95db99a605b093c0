"""Let the state that time steps hand on stay on chip.

In: a plan in which the accelerator writes in every iteration what it reads in the next one. Out:
kernels with that state in a temporary, which may have a home on chip. Not its job: the rewrite
itself (`carry`), homes (`keep_on_chip`).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.hwdesc import Hardware
from isamap.ir import Role
from isamap.rewrites import Step, carry, carry_site

from .keep_parts import Part
from .plan import Plan


def carry_states(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """One kernel per such state."""
    for buffer in plan.kernel.buffers:
        loops = {task.task.held[0] for task in plan.tasks if task.task.held}
        for loop in sorted(loops) if buffer.role is not Role.IN else ():
            if _passes_on_chip(plan, buffer.name, loop):
                try:
                    kernel = carry(plan.kernel, buffer.name, loop)
                except KernelError:
                    continue
                step = Step("carry", carry_site(buffer.name, loop))
                yield (Part(kernel, (*plan.steps, step)),)


def _passes_on_chip(plan: Plan, buffer: str, loop: str) -> bool:
    """Do tasks off the host under the loop write the buffer, and do all that read it there run off
    the host?"""
    under = [p for p in plan.tasks if loop in p.task.held and buffer in p.task.touched]
    written = any(s.target.buffer == buffer for p in under for s in p.task.statements)
    read = any(a.buffer == buffer for p in under for s in p.task.statements for a in s.reads)
    return written and read and not any(p.on_host for p in under)
