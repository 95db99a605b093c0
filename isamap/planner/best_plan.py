"""The best plan over all rewritten forms of a kernel.

In: a kernel, a machine, limits. Out: the plan of the form that the aim likes best, and what
was not looked at. Not its job: the rewrites themselves, scheduling one form (`plan_form`).
"""

import time
from dataclasses import replace
from math import inf

from isamap.costmodels import Costs
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import Task, candidates, cut_tasks, flatten, spread_factors
from isamap.rewrites import FORMS, spread_by, variants
from isamap.scheduler import Wishes

from .find_plan import all_cuts, overlapped, plan_form
from .plan import Plan, TaskKey, host_task_cycles, task_key
from .schedule_tasks import Known

MAX_VARIANTS = 60
MAX_STEPS = 3
MAX_PLANS = 4  # forms that are scheduled, beside the kernel as it is
CLEAR_GAIN = 0.9  # a form is worth its temporaries when it takes at most this share


def find_best_plan(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Plan:
    """Schedule the kernel and the forms of it that promise less of what the aim minimises, those of
    the fewest cycles first.

    A form's promise is the sum of its tasks' least compute bounds; no plan of it is below.

    Raises:
        MappingError: no form can be mapped; the error is that of the kernel as it is.
    """
    begin = time.perf_counter()
    aim = wishes.aim
    factors = spread_factors(hw)
    search = variants(
        kernel,
        rewrites=(spread_by(factors), *FORMS) if factors else FORMS,
        max_steps=MAX_STEPS,
        max_variants=MAX_VARIANTS,
        may_reassociate=wishes.may_reassociate,
    )
    original = next(search)
    least_of: dict[TaskKey, float] = {}
    known = Known()
    rated = []
    cut = []
    num_forms = 1
    for form in search:
        if wishes.watch.is_stopped or time.perf_counter() > begin + wishes.time_limit_s / 2:
            cut.append("stopped before all forms were listed")
            break
        num_forms += 1
        rated.append((promise(form.kernel, hw, least_of), form))
    rated = sorted((row for row in rated if row[0] < inf), key=lambda row: row[0])
    cut += [search.cut] if search.cut else []
    best: Plan | None = None
    failure: MappingError | None = None
    for number, (least, form) in enumerate([(0.0, original), *rated]):
        left = wishes.time_limit_s - (time.perf_counter() - begin)
        limit = CLEAR_GAIN * aim.value(best.costs) if best else inf
        if aim.value(Costs(least, 0, 0)) >= limit:
            break
        is_late = left <= 0 or wishes.watch.is_stopped
        if number > MAX_PLANS or (best is not None and is_late):
            cut.append(f"{len(rated) + 1 - number} promising forms were not scheduled")
            break
        try:
            soon = replace(wishes, time_limit_s=max(left, 0.0))
            plan = plan_form(form.kernel, hw, soon, known)
        except MappingError as error:
            failure = failure or error
            continue
        if aim.value(plan.costs) < limit:
            best = replace(plan, steps=(*form.steps, *plan.steps))
    if best is None:
        assert failure is not None, "a form is scheduled or fails"
        raise failure
    best = replace(best, cut=all_cuts(best.cut, *cut))
    left = wishes.time_limit_s - (time.perf_counter() - begin)
    best = overlapped(best, hw, replace(wishes, time_limit_s=left), known)
    return replace(best, num_forms=num_forms, seconds=time.perf_counter() - begin)


def promise(kernel: Kernel, hw: Hardware, known: dict[TaskKey, float]) -> float:
    """Cycles below which no plan of the kernel can be: its tasks' least compute bounds, summed.

    Infinite when some task has no match and the machine has no host. `known` grows.
    """
    total = 0.0
    for task in flatten(cut_tasks(kernel)):
        key = task_key(task, frozenset())
        if key not in known:
            known[key] = _least(task, hw)
        total += known[key]
    return total


def _least(task: Task, hw: Hardware) -> float:
    found = candidates(task.kernel, 0, hw, [], task.held)
    on_unit = min((candidate.bound_cycles for candidate in found), default=inf)
    return on_unit if hw.host is None else min(on_unit, host_task_cycles(task, hw.host))
