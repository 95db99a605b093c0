"""What is known about a kernel's schedules on a machine: the chosen one, the others, the proof.

In: nothing but these nodes. Out: frozen values. Not its job: finding them (`schedule`).
"""

from dataclasses import dataclass
from math import inf

from isamap.costmodels import Aim, Estimate, Price, Tiling, Work
from isamap.ir import Kernel
from isamap.mapper import Covering, Mismatch, layout_rank
from isamap.program import Program

from .solution import Solution, Status


@dataclass(frozen=True, slots=True)
class Schedule:
    """A covering, scheduled: `solution` holds tiling, status and this covering's own bound.

    `cost_cycles`: under the chosen cost model; `cost`: what the aim minimises, with these cycles.
    """

    covering: Covering
    work: Work
    solution: Solution
    estimate: Estimate
    program: Program
    cost_cycles: int
    cost: float

    @property
    def tiling(self) -> Tiling:
        """The solution's."""
        assert self.solution.tiling is not None, "a schedule has a tiling"
        return self.solution.tiling

    @property
    def is_natural(self) -> bool:
        """Are all buffers used as they lie in the external memory?"""
        return all(layout_rank(plan) == 0 for plan in self.covering.operands)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A covering that was looked at: its bound, and its schedule's cycles if it was worth
    solving; `bound`, `value`: the same for what the aim minimises."""

    covering: Covering
    bound_cycles: int
    cycles: int | None
    bound: float
    value: float | None


@dataclass(frozen=True, slots=True)
class Contender:
    """A schedule among several that the cost model chose from, and what it says of it."""

    schedule: Schedule
    price: Price


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything `isamap map` knows about a kernel on a machine.

    `bound_cycles` holds for every covering of the chosen layout class under the closed-form model,
    and so does `bound` for what `aim` minimises; `status` is OPTIMAL when the chosen schedule
    reaches it. `fastest`: a schedule that is better but repacks buffers, if any. `contenders`: what
    the cost model chose from, if it was asked about several, in the order of the closed form.
    `most`: chosen where less than that was asked for; of what takes more, something more natural
    might be chosen. `is_ended`: by its time limit, before all coverings were looked at.
    """

    kernel: Kernel
    aim: Aim
    best: Schedule
    fastest: Schedule | None
    status: Status
    bound_cycles: int
    bound: float
    alternatives: tuple[Alternative, ...]
    mismatches: tuple[Mismatch, ...]
    num_coverings: int
    is_complete: bool
    seconds: float
    contenders: tuple[Contender, ...] = ()
    most: float = inf
    is_ended: bool = False

    @property
    def program(self) -> Program:
        """The chosen schedule's."""
        return self.best.program

    @property
    def cycles(self) -> int:
        """Of the chosen schedule, under the closed form."""
        return self.best.estimate.cycles

    @property
    def answers(self) -> tuple["Answer", ...]:
        """One, as a plan has several."""
        return (self,)
