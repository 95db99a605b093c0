"""A covering's tilings as a CP-SAT model: decisions, objective, and the way back to a `Tiling`.

In: a covering, its work, the machine. Out: a model to solve and to hint. Not its job: solving.
"""

import re
from dataclasses import replace
from hashlib import blake2b

from ortools.sat.python import cp_model

from isamap.costmodels import Stay, Tiling, Work
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from .algebra import Bool
from .objective import Objective
from .variables import StayVars, Variables

NAMED = re.compile(r'name: "[^"]*"')  # of variables, in a model's text
WIDE = 2**48  # of 1500 time steps of a large layer: 2**51


class TilingModel:
    """Builds the model; `cycles` is its objective, `tiling(solver)` reads a solution."""

    def __init__(self, covering: Covering, work: Work, hw: Hardware) -> None:
        self.covering = covering
        self.vars = Variables(covering, work, hw)
        self.model = self.vars.cp.model
        objective = Objective(self.vars, work, hw)
        self.cycles = objective.cycles
        self.moved = objective.moved
        self.passes = objective.passes
        self.first_tiles = objective.first_tiles()
        self.doubles = [s.is_double for s in self.vars.stays]
        self.kept = [kept for s in self.vars.stays for kept in s.kept.values()]
        self.late_sums = objective.late_sums

    @property
    def digest(self) -> bytes:
        """Equal for models of the same loops and stays, with the same constraints, objective and
        costs of first tiles; what loops are called does not matter."""
        loops = [replace(loop, name="") for loop in self.covering.loops]
        lows = [stay.is_low if isinstance(stay.is_low, int) else None for stay in self.vars.stays]
        stays = [(s.plan.name, s.number, low) for s, low in zip(self.vars.stays, lows, strict=True)]
        proto = NAMED.sub("", str(self.model.proto))
        text = f"{loops} {stays} {proto} {self.first_tiles}"
        return blake2b(text.encode()).digest()

    @property
    def is_wide(self) -> bool:
        """Do domains reach so far that OR-Tools 9.15 has taken such a model, presolved, for
        infeasible? (It never has without presolve.)"""
        domains = (variable.domain for variable in self.model.proto.variables)
        return any(max(-d[0], d[len(d) - 1]) >= WIDE for d in domains)  # of ascending ends

    def tiling(self, solver: cp_model.CpSolver) -> Tiling:
        """The tiling of the solver's current solution."""
        resting = tuple(
            loop.name for loop in self.covering.loops if loop.name not in self.vars.loops
        )
        tiles = tuple(
            (
                loop.name,
                solver.value(self.vars.tile[loop.name]) if loop.name in self.vars.loops else 1,
            )
            for loop in self.covering.loops
        )
        held = self.covering.held  # a loop of one iteration is held too, wherever it stands
        outer = [n for n in (*self._order(solver, self.vars.outside), *resting) if n not in held]
        return Tiling(
            tiles,
            (*held, *outer),
            (*self._order(solver, self.vars.outside_inner), *resting),
            tuple(self._read_stay(solver, stay) for stay in self.vars.stays),
        )

    def _order(
        self, solver: cp_model.CpSolver, outside: dict[tuple[str, str], Bool]
    ) -> tuple[str, ...]:
        def inside_count(name: str) -> int:
            return sum(
                solver.boolean_value(literal) for (a, _), literal in outside.items() if a == name
            )

        return tuple(sorted(self.vars.loops, key=lambda name: -inside_count(name)))

    def _read_stay(self, solver: cp_model.CpSolver, stay: StayVars) -> Stay:
        is_low = solver.value(stay.is_low)
        return Stay(
            stay.plan.name,
            stay.number,
            0 if is_low else 1,
            stay.slots[solver.value(stay.is_double) + solver.value(stay.is_deep)],
            tuple(name for name, kept in stay.kept.items() if solver.boolean_value(kept)),
        )

    def hint(self, tiling: Tiling) -> None:
        """Start the solver from a known tiling."""
        for name in self.vars.loops:
            self.model.add_hint(self.vars.tile[name], tiling.tile(name))
        for order, outside in (
            (tiling.outer, self.vars.outside),
            (tiling.inner, self.vars.outside_inner),
        ):
            for i, a in enumerate(order):
                for b in order[i + 1 :]:
                    if (a, b) in outside and outside[a, b].index >= 0:
                        self.model.add_hint(outside[a, b], True)
                    elif (b, a) in outside:
                        self.model.add_hint(outside[b, a], False)
        by_key = {(s.operand, s.residence): s for s in tiling.stays}
        for stay in self.vars.stays:
            known = by_key[stay.plan.name, stay.number]
            if not isinstance(stay.is_low, int):
                self.model.add_hint(stay.is_low, known.level == 0)
            if not isinstance(stay.is_double, int):
                self.model.add_hint(stay.is_double, known.slots > 1)
            if not isinstance(stay.is_deep, int):
                self.model.add_hint(stay.is_deep, known.slots > 2)
            for name, kept in stay.kept.items():
                self.model.add_hint(kept, name in known.kept)
