"""Two independent answers to hold the solver against: brute force, and the model at one point.

In: a covering, its work, the machine. Out: the best tiling there is; what the model says about one
given tiling. Not its job: which cases (`tilings`, `cases`).
"""

from dataclasses import dataclass
from itertools import islice

from ortools.sat.python import cp_model

from isamap.costmodels import FASTEST, Aim, Tiling, Work, estimate
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.scheduler.algebra import SCALE
from isamap.scheduler.model import TilingModel
from tests.scheduler.tilings import all_tilings

MANY = 100_000  # tilings, minutes


@dataclass(frozen=True, slots=True)
class Best:
    """The best of all legal tilings within the limits: `tiling` is None when there is none.

    `value`: of what the aim minimises.
    """

    tiling: Tiling | None
    value: float
    num_tilings: int


def search_exhaustively(
    covering: Covering, work: Work, hw: Hardware, *, most_tilings: int = MANY, aim: Aim = FASTEST
) -> Best | None:
    """Price every tiling of the solver's space with the closed form; None where there are more than
    so many (a number, not a time: the same cases are left out on every machine)."""
    tilings = list(islice(all_tilings(covering, hw), most_tilings + 1))
    if len(tilings) > most_tilings:
        return None
    best, value = None, 0.0
    for tiling in tilings:
        costs = estimate(covering, work, tiling, hw).costs(hw)
        if aim.allows(costs) and (best is None or aim.value(costs) < value):
            best, value = tiling, aim.value(costs)
    return Best(best, value, len(tilings))


def model_cycles(covering: Covering, work: Work, hw: Hardware, tiling: Tiling) -> float | None:
    """The model's objective for exactly this tiling, or None when the model forbids it."""
    built = TilingModel(covering, work, hw)
    variables, model = built.vars, built.model
    for name in variables.loops:
        model.add(variables.tile[name] == tiling.tile(name))
    orders = ((tiling.outer, variables.outside), (tiling.inner, variables.outside_inner))
    for order, outside in orders:
        active = [name for name in order if name in variables.loops]
        for position, first in enumerate(active):
            for second in active[position + 1 :]:
                model.add_bool_and([outside[first, second]])
    stays = {(stay.operand, stay.residence): stay for stay in tiling.stays}
    for stay in variables.stays:
        wanted = stays[stay.plan.name, stay.number]
        if wanted.slots not in stay.slots:
            return None
        decisions = (
            (stay.is_low, wanted.level == 0),
            (stay.is_double, wanted.slots > 1),
            (stay.is_deep, wanted.slots > 2),
        )
        for variable, value in decisions:
            if not isinstance(variable, int):
                model.add(variable == int(value))
            elif variable != int(value):
                return None
        for name, kept in stay.kept.items():
            model.add(kept == int(name in wanted.kept))
        if not set(wanted.kept) <= set(stay.kept):
            return None
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = 20
    status = solver.solve(model)
    assert status in (cp_model.OPTIMAL, cp_model.INFEASIBLE), solver.status_name(status)
    return solver.objective_value / SCALE if status == cp_model.OPTIMAL else None
