"""Find the best tiling of one covering, with a proof where the machine has no caches.

In: a covering, its work, the machine, an aim, limits on the search. Out: the tiling, what it costs,
the proven bound and the status. Not its job: which covering.
"""

import time
from dataclasses import replace
from math import inf

from isamap.costmodels import FASTEST, Aim, Work, estimate, is_replaced, least_costs
from isamap.hwdesc import Hardware
from isamap.mapper import Covering

from . import on_demand
from .clock import WALL, Clock
from .descend import descend
from .limits import Limits
from .options import stay_choices
from .solution import KnownModels, Solution, Status
from .watch import NOBODY, Watch


def solve(
    covering: Covering,
    work: Work,
    hw: Hardware,
    *,
    time_limit_s: float,
    workers: int = 1,
    seed: int = 0,
    aim: Aim = FASTEST,
    cutoff: float | None = None,
    effort: float | None = None,
    clock: Clock = WALL,
    watch: Watch = NOBODY,
    known: KnownModels | None = None,
) -> Solution:
    """Minimise what the aim says under the closed form; the greedy tiling is the fallback.

    `cutoff`: only tilings with a lower value are wanted; INFEASIBLE with this bound says there is
    none. `effort`: a limit in the solver's deterministic seconds; `clock`: what the time limit goes
    by. `known`: by the same aim; grows.
    """
    begin = time.perf_counter()
    if not stay_choices(covering, hw):
        return Solution(Status.INFEASIBLE, None, 0, 0, 0.0)
    least = least_costs(covering, work, hw)
    if not aim.allows(least):
        bound = aim.value(least)
        seconds = time.perf_counter() - begin
        return Solution(Status.INFEASIBLE, None, 0, round(least.cycles), seconds, 0.0, bound)
    if hw.caches:
        found = _search(covering, work, hw, aim, cutoff, begin, clock, known or KnownModels())
        return _trimmed(found, covering)
    limits = Limits(clock.now() + time_limit_s, workers, seed, effort, clock)
    found = on_demand.prove(covering, work, hw, aim, limits, watch, cutoff, known)
    return _trimmed(found, covering)


def _trimmed(found: Solution, covering: Covering) -> Solution:
    """With one slot for what is fetched once: a second one would never be used, and other tasks
    may need the room."""
    if found.tiling is None:
        return found
    tiling = found.tiling
    stays = tuple(
        stay if is_replaced(covering, tiling, stay) else replace(stay, slots=1)
        for stay in tiling.stays
    )
    return replace(found, tiling=replace(tiling, stays=stays))


def _search(
    covering: Covering,
    work: Work,
    hw: Hardware,
    aim: Aim,
    cutoff: float | None,
    begin: float,
    clock: Clock,
    known: KnownModels,
) -> Solution:
    """The best tiling near a greedy one, where caches decide: the solver's model does not count
    their refills, and what it likes best is slower (measured: never better over 36 coverings of a
    product). A sum alone, and joined with what begins and follows it, are much alike."""
    below = inf if cutoff is None else cutoff
    same = covering, hw, work.there
    most, solution = known.searched.get(same, (-inf, None))
    if solution is not None and below <= most:
        return _below(solution, below)
    least = least_costs(covering, work, hw)
    bound = aim.value(least)
    alike = _alike(covering, work)
    before = known.proven.get(alike)
    near = before.tiling if before else None
    other = known.of_loops.get(covering.loops)
    like = other.tiling if other else None
    found = descend(covering, work, hw, aim, near, below, clock, like)
    costs = estimate(covering, work, found, hw).costs(hw) if found else least
    seconds = time.perf_counter() - begin
    if found is None or not aim.allows(costs):
        return Solution(Status.UNKNOWN, None, 0, round(least.cycles), seconds, 0.0, bound)
    value = aim.value(costs)
    status = Status.OPTIMAL if value <= bound else Status.FEASIBLE
    cycles = round(costs.cycles)
    solution = Solution(
        status, found, cycles, min(round(least.cycles), cycles), seconds, value, min(bound, value)
    )
    known.proven[alike] = solution
    if other is None or value < other.value:
        known.of_loops[covering.loops] = solution
    known.searched[same] = below, solution
    return _below(solution, below)


def _below(solution: Solution, cutoff: float) -> Solution:
    """The solution, or none where it is not below what is wanted."""
    if solution.value < cutoff:
        return solution
    return replace(solution, status=Status.UNKNOWN, tiling=None, cycles=0, value=0.0)


def _alike(covering: Covering, work: Work) -> tuple[object, ...]:
    """Equal for coverings whose best tilings lie close to each other."""
    stays = tuple(
        (p.name, p.is_reordered, tuple(r.memory for r in p.residences)) for p in covering.operands
    )
    return covering.instruction, covering.loops, stays, work.compute_cycles
