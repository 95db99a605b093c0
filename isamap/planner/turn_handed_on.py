"""Hand temporaries to the host in another order of their dimensions.

In: a plan in which the accelerator writes a temporary that the host reads, or the other way round.
Out: kernels that store it in other orders. Not its job: the rewrite itself (`turn`), layouts where
no host takes arrays as they lie (the mapper's).
"""

from collections.abc import Iterator

from isamap.hwdesc import Hardware
from isamap.ir import Buffer, Role
from isamap.rewrites import Step, turn, turn_site

from .keep_parts import Part
from .plan import Plan
from .uses_little import uses_little


def turn_handed_on(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """Per temporary between host and accelerator: each of its dimensions last, the first one first;
    only where calls of the task that writes it have room to spare."""
    for buffer in plan.kernel.buffers:
        users = [p for p in plan.tasks if buffer.name in p.task.touched]
        writers = [p for p in users if p.task.statement.target.buffer == buffer.name]
        if buffer.role is not Role.TEMP or len({p.on_host for p in users}) < 2:
            continue
        if any(p.answer is not None and uses_little(p.answer, hw) for p in writers):
            parts = []
            for order in _orders(buffer):
                step = Step("turn", turn_site(buffer.name, order))
                parts.append(Part(turn(plan.kernel, buffer.name, order), (*plan.steps, step)))
            yield tuple(parts)


def _orders(buffer: Buffer) -> Iterator[tuple[int, ...]]:
    """Each dimension of several elements last, but for the one that is."""
    moving = [d for d, extent in enumerate(buffer.shape) if extent > 1]
    for last in moving[:-1]:
        yield (*(d for d in range(len(buffer.shape)) if d != last), last)
