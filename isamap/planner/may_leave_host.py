"""Which tasks might run off the host if their temporaries lay on chip.

In: tasks and where they run, with all buffers in the external memory. Out: a verdict. Not its job:
homes (`keep_on_chip`), whether that is faster.
"""

from isamap.hwdesc import Hardware
from isamap.mapper import Task, candidates

from .plan import PlannedTask


def may_leave_host(planned: PlannedTask, hw: Hardware) -> bool:
    """Does it run off the host, or some instruction compute it? What that reads or leaves may have
    no way there or from there but on chip, or only slow ones."""
    return not planned.on_host or bool(computed_by(planned, hw))


def computed_by(planned: PlannedTask, hw: Hardware) -> frozenset[str]:
    """The instruction that computes the task, or those that might compute one of the host's."""
    if not planned.on_host:
        return frozenset({planned.best.covering.instruction})
    return might_compute(planned.task, hw)


def might_compute(task: Task, hw: Hardware) -> frozenset[str]:
    """The instructions that compute the task wherever its buffers lie; none of a joined one."""
    if task.parts:
        return frozenset()
    found = candidates(task.kernel, 0, hw, held=task.held, on_chip=task.touched)
    return frozenset(one.match.instruction.name for one in found)
