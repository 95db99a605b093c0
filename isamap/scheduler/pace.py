"""What sets the pace, as CP-SAT constraints (formulas: costmodels/analytical, costmodels/ends).

In: busy times of units, ports and rounds, each with what lies around it. Out: the total. Not its
job: the busy times (`objective`, `turns`, `stalls`).
"""

from math import ceil

from ortools.sat.python import cp_model

from isamap.costmodels import Ends

from .algebra import SCALE, Algebra, Linear


class Pace:
    """Collects busy times; one variable for all with the same ends.

    `computing`: of the unit that computes, between the whole startup and the whole finish.
    """

    def __init__(self, cp: Algebra, horizon: int) -> None:
        self.cp = cp
        self.horizon = horizon
        self.computing = self.cp.model.new_int_var(0, horizon, "computing")
        self.others: dict[Ends, cp_model.IntVar] = {}

    def behind(self, ends: Ends) -> cp_model.IntVar:
        """A variable that is at least every busy time with these ends."""
        if ends not in self.others:
            label = f"busy_{len(self.others)}"
            self.others[ends] = self.cp.model.new_int_var(0, self.horizon, label)
        return self.others[ends]

    def add(self, count: int, load: Linear, ends: Ends) -> None:
        """A load on so many instances."""
        self.cp.model.add(count * self.behind(ends) >= load)

    def total(self, startup: Linear, finish: Linear, losses: Linear) -> cp_model.IntVar:
        """The least total, losses on top."""
        total = self.cp.model.new_int_var(0, 2 * self.horizon, "total")
        self.cp.model.add(total >= self.computing + startup + finish + losses)
        for ends, busy in self.others.items():
            edge = finish if ends.is_before_finish else 0
            self.cp.model.add(total >= busy + ceil(SCALE * ends.cycles) + edge + losses)
        return total
