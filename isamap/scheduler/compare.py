"""Let a cost model choose among more schedules than the best of each covering.

In: solved coverings, wishes. Out: what the model saw, with its prices. Not its job: which schedules
are worth seeing (`pool`), how many and what they cost (the model), the answer made of it.
"""

from collections.abc import Sequence
from dataclasses import replace

from isamap.costmodels import Aim, Candidate, CountsPrograms, Price, Work, estimate, open_contest
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.program import Program, in_use_order

from .ahead import to_reorder
from .answer import Contender, Schedule
from .lower import lower
from .pool import Listed, Pool
from .solution import Solution, Status
from .wishes import Wishes


def compare(
    solved: Sequence[Schedule], hw: Hardware, wishes: Wishes, reach: float
) -> tuple[Contender, ...]:
    """In the order of the closed form, in which the first is its best one. The model is asked until
    it has seen enough, nothing is left, or the search is stopped."""
    contest = open_contest(wishes.cost, solved[0].covering.kernel, hw)
    pool = Pool(solved, hw, wishes.aim, reach)
    shown: dict[Program, Listed] = {}
    made: list[Schedule] = []
    found: list[Contender] = []
    # what is priced without candidates is among them, so that more are never worse
    asked = pool.solutions() if isinstance(wishes.cost, CountsPrograms) else ()
    while count := contest.wanted:
        values = [c.schedule.cost if c.price.cycles is not None else None for c in found]
        priced = list(zip(shown.values(), values, strict=True))
        new: list[Schedule] = []
        while asked or len(new) < count:
            more, asked = asked or pool.propose(count - len(new), priced), ()
            if not more:
                break
            for listed in more:
                solution = _solution(listed)
                schedule = make(
                    listed.solved.covering, listed.solved.work, solution, hw, wishes.aim
                )
                if schedule.program not in shown:  # tilings may differ in what makes no difference
                    shown[schedule.program] = listed
                    new.append(schedule)
        if not new:
            break
        made += new
        prices = contest.see([_as_called(candidate(s), hw, wishes.ahead) for s in new])
        found = _contenders(made, prices, hw, wishes.aim)
        if wishes.watch.is_stopped:
            break
    if not wishes.watch.is_stopped:
        found = _contenders(made, contest.settle(), hw, wishes.aim)
    return tuple(sorted(found, key=lambda contender: contender.schedule.solution.value))


def make(covering: Covering, work: Work, solution: Solution, hw: Hardware, aim: Aim) -> Schedule:
    """The schedule of a solution, priced by the closed form."""
    assert solution.tiling is not None, "a schedule has a tiling"
    program = lower(covering, solution.tiling, hw)
    assert program is not None, "a legal tiling was placed before"
    parts = estimate(covering, work, solution.tiling, hw)
    value = aim.value(parts.costs(hw))
    return Schedule(covering, work, solution, parts, program, parts.cycles, value)


def at_price(schedule: Schedule, cycles: int | None, hw: Hardware, aim: Aim) -> Schedule:
    """The schedule at the cost model's price."""
    assert cycles is not None, "a price without cycles is no choice"
    costs = replace(schedule.estimate.costs(hw), cycles=cycles)
    return replace(schedule, cost_cycles=cycles, cost=aim.value(costs))


def candidate(schedule: Schedule) -> Candidate:
    """What a cost model sees of it."""
    return Candidate(schedule.covering, schedule.work, schedule.tiling, schedule.program)


def _as_called(found: Candidate, hw: Hardware, ahead: tuple[str, ...]) -> Candidate:
    """With inputs that are packed ahead as they will lie for this program."""
    names = to_reorder((found.covering,), ahead)
    return replace(found, program=in_use_order(found.program, hw, names)) if names else found


def _contenders(
    made: Sequence[Schedule], prices: Sequence[Price], hw: Hardware, aim: Aim
) -> list[Contender]:
    return [
        Contender(
            schedule if price.cycles is None else at_price(schedule, price.cycles, hw, aim), price
        )
        for schedule, price in zip(made, prices, strict=True)
    ]


def _solution(listed: Listed) -> Solution:
    """The covering's solution if it is that; else another tiling below the same bound."""
    solution = listed.solved.solution
    if listed.tiling == solution.tiling:
        return solution
    cycles = round(listed.value)
    return replace(
        solution, status=Status.FEASIBLE, tiling=listed.tiling, cycles=cycles, value=listed.value
    )
