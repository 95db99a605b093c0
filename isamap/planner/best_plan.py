"""The best plan over all rewritten forms of a kernel.

In: a kernel, a machine, limits. Out: the plan of the form that the aim likes best, and what
was not looked at. Not its job: the rewrites themselves, scheduling one form (`plan_form`).
"""

import time
from collections import Counter
from dataclasses import dataclass, replace
from math import inf

from isamap.costmodels import Costs
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import Task, candidates, cut_tasks, flatten, spread_factors
from isamap.rewrites import FORMS, Variant, spread_by, variants
from isamap.scheduler import Wishes

from .find_plan import all_cuts, overlapped, plan_near, plan_whole
from .plan import Plan, TaskKey, host_task_cycles, task_key
from .schedule_tasks import Known

MAX_VARIANTS = 60
MAX_STEPS = 3
MAX_PLANS = 4  # forms that are scheduled, beside the kernel as it is
CLEAR_GAIN = 0.9  # a form is worth its temporaries when it takes at most this share


def find_best_plan(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Plan:
    """Schedule the kernel and the forms of it that promise less of what the aim minimises, those of
    the fewest cycles first.

    A form's promise is the sum of its tasks' least compute bounds; no plan of it is below. Tasks
    that the best plan so far has as well take what they take there.

    Raises:
        MappingError: no form can be mapped; the error is that of the kernel as it is.
    """
    begin = time.perf_counter()
    aim = wishes.aim
    least_of: dict[TaskKey, float] = {}
    known = Known()
    forms, cut = _list_forms(kernel, hw, wishes, least_of)
    rated = sorted((form for form in forms[1:] if form.least < inf), key=lambda form: form.least)
    best: Plan | None = None
    plain: Plan | None = None  # of the best one's form, before `plan_near`
    failure: MappingError | None = None
    for number, form in enumerate((forms[0], *rated)):
        left = wishes.time_limit_s - (time.perf_counter() - begin)
        limit = CLEAR_GAIN * aim.value(best.costs) if best else inf
        if best and aim.value(Costs(form.least, 0, 0)) >= limit:
            break
        is_like = best and plain and not may_gain(form.tasks, best, plain, least_of)
        if is_like and aim.is_fastest:
            continue
        is_late = left <= 0 or wishes.watch.is_stopped
        if number > MAX_PLANS or (best is not None and is_late):
            cut.append(f"{len(rated) + 1 - number} promising forms were not scheduled")
            break
        try:
            soon = replace(wishes, time_limit_s=max(left, 0.0))
            own = plan_whole(form.variant.kernel, hw, soon, known)
            plan = plan_near(own, hw, soon, known)
        except MappingError as error:
            failure = failure or error
            continue
        if aim.value(plan.costs) < limit:
            best, plain = replace(plan, steps=(*form.variant.steps, *plan.steps)), own
    if best is None:
        assert failure is not None, "a form is scheduled or fails"
        raise failure
    best = replace(best, cut=all_cuts(best.cut, *cut))
    left = wishes.time_limit_s - (time.perf_counter() - begin)
    best = overlapped(best, hw, replace(wishes, time_limit_s=left), known)
    return replace(best, num_forms=len(forms), seconds=time.perf_counter() - begin)


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of the kernel, its tasks, and cycles below which no plan of it can be: infinite when a
    task has no match and the machine has no host."""

    variant: Variant
    tasks: Counter[TaskKey]
    least: float


def _list_forms(
    kernel: Kernel, hw: Hardware, wishes: Wishes, least_of: dict[TaskKey, float]
) -> tuple[list[_Form], list[str]]:
    """The kernel as it is and its other forms, and what was not looked at; `least_of` grows."""
    until = time.perf_counter() + wishes.time_limit_s / 2
    factors = spread_factors(hw)
    search = variants(
        kernel,
        rewrites=(spread_by(factors), *FORMS) if factors else FORMS,
        max_steps=MAX_STEPS,
        max_variants=MAX_VARIANTS,
        may_reassociate=wishes.may_reassociate,
    )
    forms: list[_Form] = []
    cut = []
    for variant in search:
        if forms and (wishes.watch.is_stopped or time.perf_counter() > until):
            cut.append("stopped before all forms were listed")
            break
        tasks: Counter[TaskKey] = Counter()
        for task in flatten(cut_tasks(variant.kernel)):
            key = task_key(task, frozenset())
            if key not in least_of:
                least_of[key] = _least(task, hw)
            tasks[key] += 1
        forms.append(_Form(variant, tasks, _sum(tasks, least_of)))
    return forms, cut + ([search.cut] if search.cut else [])


def may_gain(
    tasks: Counter[TaskKey], best: Plan, plain: Plan, least_of: dict[TaskKey, float]
) -> bool:
    """May a form with these tasks gain clearly in those in which it differs from the best plan's
    form, whose plan is `plain` before `plan_near`?

    What `plan_near` gains in the others, it would gain in this form as well. One after the other:
    that some would run side by side is no reason to try a form.
    """
    differing = best.repack_cycles
    for planned in plain.tasks:
        parts = Counter(task_key(p, frozenset()) for p in planned.task.parts or (planned.task,))
        if parts <= tasks:
            tasks = tasks - parts
        else:
            differing += planned.cycles
    own = best.repack_cycles + sum(planned.cycles for planned in best.tasks)
    return differing - _sum(tasks, least_of) > (1 - CLEAR_GAIN) * own


def _sum(tasks: Counter[TaskKey], least_of: dict[TaskKey, float]) -> float:
    return sum(least_of[key] * count for key, count in tasks.items())


def _least(task: Task, hw: Hardware) -> float:
    found = candidates(task.kernel, 0, hw, held=task.held)
    on_unit = min((candidate.bound_cycles for candidate in found), default=inf)
    return on_unit if hw.host is None else min(on_unit, host_task_cycles(task, hw.host))
