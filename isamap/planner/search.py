"""One schedule for a kernel, or a plan of several: whatever serves the aim.

In: a kernel, a machine, wishes. Out: an answer or a plan. Not its job: either of them, checking.
"""

import time
from dataclasses import replace
from functools import partial
from math import inf

from isamap.costmodels import (
    ANALYTICAL,
    Aim,
    Costs,
    CountsPrograms,
    Metric,
    host_costs,
)
from isamap.errors import LimitError, MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.scheduler import (
    Answer,
    Status,
    Wishes,
    find_schedule,
    limit_error,
    rarely_collected,
    with_nearest,
)

from .best_plan import find_best_plan
from .compare_tasks import compare_tasks
from .plan import Plan, is_single
from .spread_plan import spread_plan
from .uses_little import uses_little

MIXES = 3  # weightings between two costs that are tried where an aim is no sum over tasks


@rarely_collected()
def search(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Answer | Plan:
    """One schedule where the kernel is one statement and an instruction serves it well; else a
    plan.

    Raises:
        LimitError: the aim's limits cannot be kept; the hint names what comes nearest.
        MappingError: nothing computes the kernel.
    """
    begin = time.perf_counter()
    deadline = wishes.clock.now() + wishes.time_limit_s
    wishes.cost.check(hw)  # a plan asks it last, of what the closed form has chosen
    try:
        found = _search(kernel, hw, wishes, deadline)
    except LimitError as error:
        raise with_nearest(error, wishes.aim, partial(_least, kernel, hw, wishes)) from None
    if isinstance(found, Plan):
        return found
    return replace(found, seconds=time.perf_counter() - begin)  # plans that it beat included


def _least(kernel: Kernel, hw: Hardware, wishes: Wishes, aim: Aim) -> tuple[Costs, bool]:
    """What the best by another aim costs, and whether it is proven best."""
    deadline = wishes.clock.now() + wishes.time_limit_s
    found = _search(kernel, hw, replace(wishes, aim=aim), deadline)
    return costs_of(found, hw), found.status is Status.OPTIMAL


def costs_of(found: Answer | Plan, hw: Hardware) -> Costs:
    """Under the closed form."""
    return found.costs if isinstance(found, Plan) else found.best.estimate.costs(hw)


def _search(kernel: Kernel, hw: Hardware, wishes: Wishes, deadline: float) -> Answer | Plan:
    if not is_single(kernel):
        return _plan(kernel, hw, wishes, deadline)
    closed_form = replace(wishes, cost=ANALYTICAL)
    spread = spread_plan(kernel, hw, closed_form)
    if spread is not None and _is_least(spread, kernel, hw, closed_form):
        return spread if wishes.cost.num_candidates == 1 else compare_tasks(spread, hw, wishes)
    try:
        answer = find_schedule(kernel, hw, wishes)
    except MappingError as failure:
        try:
            return _plan(kernel, hw, wishes, deadline)
        except LimitError:
            raise  # something computes it, if not within the limits
        except MappingError:
            raise failure from None  # the other forms of the kernel fail for reasons of their own
    on_host = host_costs(kernel, hw, num_calls=len(kernel.statements))
    is_faster = wishes.aim.rank(on_host) < wishes.aim.rank(answer.best.estimate.costs(hw))
    if is_faster or (uses_little(answer, hw) and not wishes.watch.is_stopped):
        try:
            plan = _plan(kernel, hw, wishes, deadline)
        except LimitError:  # plans are sought by other aims, so none of them may keep the limits
            return answer
        is_better = _is_below(plan, answer, hw, wishes)
        if is_better and (is_faster or plan.steps):
            return plan
    return answer


def _is_below(plan: Plan, answer: Answer, hw: Hardware, wishes: Wishes) -> bool:
    """Does a plan take less than the answer, under a cost model that can tell?"""
    if not isinstance(wishes.cost, CountsPrograms) or not wishes.aim.is_fastest:
        return True
    return wishes.cost.program_cycles(plan.program, hw) < answer.best.cost_cycles


def _is_least(plan: Plan, kernel: Kernel, hw: Hardware, wishes: Wishes) -> bool:
    """Does the kernel as it is take no less than the plan of another form of it?"""
    most = wishes.aim.value(plan.costs) if wishes.aim.is_fastest else inf
    try:
        answer = find_schedule(kernel, hw, wishes, most=most)
    except MappingError:
        return True
    return wishes.aim.rank(plan.costs) <= wishes.aim.rank(answer.best.estimate.costs(hw))


def _plan(kernel: Kernel, hw: Hardware, wishes: Wishes, deadline: float) -> Plan:
    wishes = replace(wishes, ahead=(), uncopied=wishes.ahead)  # tasks agree on layouts
    if wishes.cost.num_candidates == 1:
        return _best_plan(kernel, hw, wishes, deadline)
    model = wishes.cost
    if not isinstance(model, CountsPrograms):
        plan = _best_plan(kernel, hw, replace(wishes, cost=ANALYTICAL), deadline)
        return compare_tasks(plan, hw, wishes)
    plan = _best_plan(kernel, hw, replace(wishes, cost=model.one_by_one()), deadline)
    plans = plan, compare_tasks(plan, hw, wishes)  # each task by itself, not the whole
    return min(plans, key=lambda plan: model.program_cycles(plan.program, hw))


def _best_plan(kernel: Kernel, hw: Hardware, wishes: Wishes, deadline: float) -> Plan:
    left_s = max(0.0, deadline - wishes.clock.now())
    if wishes.aim.is_separable:
        return find_best_plan(kernel, hw, replace(wishes, time_limit_s=left_s))
    return _mixed_plan(kernel, hw, replace(wishes, time_limit_s=left_s / (2 + MIXES)))


def _mixed_plan(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Plan:
    """The best of plans that each minimise a sum over tasks: a product of sums, or limits on them,
    cannot be shared out among tasks, so that the best found is not proven best.

    Raises:
        LimitError: none of them keeps the limits.
    """
    aim = wishes.aim
    used = [metric for metric, _ in (*aim.weights, *aim.limits)]
    parts = [m for m in used if m is not Metric.EDP]
    parts += [Metric.CYCLES, Metric.ENERGY] if Metric.EDP in used else []
    plans = []
    for metric in dict.fromkeys(parts):
        plans.append(find_best_plan(kernel, hw, replace(wishes, aim=Aim.least(metric))))
    first, last = plans[0].costs, plans[-1].costs
    one, other = parts[0], parts[-1]
    gain, price = last.of(one) - first.of(one), first.of(other) - last.of(other)
    for number in range(1, MIXES + 1) if gain > 0 and price > 0 else ():
        share = number / (1 + MIXES)
        mix = Aim(((one, (1 - share) / gain), (other, share / price)))
        plans.append(find_best_plan(kernel, hw, replace(wishes, aim=mix)))
    best = min(plans, key=lambda plan: aim.rank(plan.costs))
    if not aim.allows(best.costs):
        raise limit_error(kernel.name, hw.name, aim)
    return replace(best, aim=aim, status=Status.FEASIBLE)
