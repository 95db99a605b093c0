"""Let the state that time steps hand on stay on chip.

In: a plan in which the accelerator might write in every iteration what it reads in the next. Out:
kernels with that state in a temporary, which may have a home on chip. Not its job: the rewrite
itself (`carry`), homes (`keep_on_chip`).
"""

from collections.abc import Iterator

from isamap.errors import KernelError
from isamap.hwdesc import Hardware
from isamap.ir import Role
from isamap.rewrites import Step, carry, carry_site

from .keep_parts import Part
from .may_leave_host import may_leave_host
from .plan import Plan


def carry_states(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """One kernel per such state."""
    for buffer in plan.kernel.buffers:
        loops = {task.task.held[0] for task in plan.tasks if task.task.held}
        for loop in sorted(loops) if buffer.role is not Role.IN else ():
            if _may_pass_on_chip(plan, buffer.name, loop, hw):
                try:
                    kernel = carry(plan.kernel, buffer.name, loop)
                except KernelError:
                    continue
                step = Step("carry", carry_site(buffer.name, loop))
                yield (Part(kernel, (*plan.steps, step)),)


def _may_pass_on_chip(plan: Plan, buffer: str, loop: str, hw: Hardware) -> bool:
    """Do tasks under the loop write the buffer and read it, and may all of them run off the
    host?"""
    under = [p for p in plan.tasks if loop in p.task.held and buffer in p.task.touched]
    written = any(s.target.buffer == buffer for p in under for s in p.task.statements)
    read = any(a.buffer == buffer for p in under for s in p.task.statements for a in s.reads)
    return written and read and all(may_leave_host(p, hw) for p in under)
