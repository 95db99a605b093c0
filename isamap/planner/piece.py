"""A task and how it runs.

In: nothing but these nodes. Out: frozen values. Not its job: choosing.
"""

from dataclasses import dataclass

from isamap.mapper import External, OperandPlan, Task
from isamap.scheduler import Schedule


@dataclass(frozen=True, slots=True)
class Piece:
    """A task and how it runs: by a schedule, or (None) on the host, perhaps (`goes_on`) in the same
    call as the task before it."""

    task: Task
    schedule: Schedule | None
    goes_on: bool = False

    @property
    def plans(self) -> tuple[OperandPlan, ...]:
        """The operands of the instruction; none on the host."""
        return self.schedule.covering.operands if self.schedule else ()

    @property
    def homes(self) -> dict[str, External]:
        """Buffers that the task finds in managed memories, and how they lie there."""
        ends = (end for plan in self.plans for end in plan.ends)
        return {name: end for _, name, end in ends if end.home is not None}
