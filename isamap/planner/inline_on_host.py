"""Let the host compute what it handed to itself where it needs it.

In: a plan with temporaries that only the host touches. Out: its kernel without those of them that
cost more than they save: a call to begin, elements to write and to read again. Not its job: the
rewrite itself (`inline`), what the host runs.
"""

from collections.abc import Iterator

from isamap.hwdesc import Hardware
from isamap.ir import Kernel, Role
from isamap.mapper import cut_tasks, flatten
from isamap.rewrites import Step, attempt, inline

from .keep_parts import Part
from .plan import Plan, host_task_cycles


def inline_on_host(plan: Plan, hw: Hardware) -> Iterator[tuple[Part, ...]]:
    """The kernel with all of them inlined, one by one as long as the host's cycles fall."""
    elsewhere = {name for p in plan.tasks if not p.on_host for name in p.task.touched}
    targets = {p.task.statement.target.buffer for p in plan.tasks if p.on_host}
    kernel = plan.kernel
    steps: list[Step] = []
    temporaries = (b.name for b in kernel.buffers if b.role is Role.TEMP)
    left = [name for name in temporaries if name in targets - elsewhere]
    best = _host_cycles(kernel, targets, hw) if left else 0
    while left:
        for name in left:
            found = attempt(inline, kernel, name)
            if found is not None and (cycles := _host_cycles(found, targets, hw)) < best:
                kernel, best = found, cycles
                steps.append(Step("inline", name))
                left.remove(name)
                break
        else:
            break
    if steps:
        yield (Part(kernel, (*plan.steps, *steps)),)


def _host_cycles(kernel: Kernel, targets: set[str], hw: Hardware) -> int:
    """Of all tasks that write these buffers."""
    assert hw.host is not None, "only a host has tasks of its own"
    tasks = flatten(cut_tasks(kernel))
    return sum(host_task_cycles(t, hw.host) for t in tasks if t.statement.target.buffer in targets)
