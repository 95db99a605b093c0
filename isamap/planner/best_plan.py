"""The best plan over all rewritten forms of a kernel.

In: a kernel, a machine, limits. Out: the plan of the form that the aim likes best, and what
was not looked at. Not its job: the rewrites themselves, scheduling one form (`plan_form`).
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from math import inf

from isamap.costmodels import Aim, Costs
from isamap.errors import LateError, MappingError, TooSlowError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, is_copy
from isamap.mapper import (
    Task,
    candidates,
    cut_tasks,
    flatten,
    fused_values,
    may_gain_by_halves,
    number_operations,
    spread_factors,
)
from isamap.rewrites import (
    FORMS,
    OPERATIONS,
    SPLIT_FLOATS,
    Rewrite,
    Search,
    Step,
    Variant,
    dtypes_of,
    neutral_by,
    numbers_by,
    spread_by,
    variants,
)
from isamap.scheduler import Wishes

from .clear_on_chip import clear_on_chip
from .find_plan import all_cuts, overlapped, plan_near, plan_whole
from .host_calls import may_run_on_host
from .may_leave_host import may_leave_host
from .plan import Plan, TaskKey, host_task_cycles, task_key
from .schedule_tasks import ALONE, Known

MAX_VARIANTS = 60
MAX_STEPS = 3
MAX_PLANS = 4  # forms that are scheduled, beside the kernel as it is
CLEAR_GAIN = 0.9  # a form is worth its temporaries when it takes at most this share
FAR = 2.0  # times what the best form takes: what `plan_near` gains seldom makes up for more


def find_best_plan(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Plan:
    """Schedule the kernel and the forms of it that promise less of what the aim minimises, those of
    the fewest cycles first; then let those that take least keep more on chip, and the like.

    No plan of a form is below the sum of its tasks' least compute bounds. Tasks that the best plan
    so far has as well take what they take there. One form after the other all the way took most of
    the time for what other forms beat at once.

    Raises:
        MappingError: no form can be mapped; the error is that of the kernel as it is.
    """
    begin = wishes.clock.now()
    known = Known()
    deadline = _Deadline(wishes, begin + wishes.time_limit_s)
    forms = _Forms(_variants(kernel, hw, wishes), _Prices(hw), deadline)
    plans = _plan_forms(forms, known)
    best = _best_near(plans, hw, deadline, known, forms.cut)
    best = _searched_on(best, hw, deadline, known)
    best = replace(best, cut=all_cuts(best.cut, *forms.cut))
    best = overlapped(best, hw, deadline.soon(), known)
    return replace(best, num_forms=forms.num_listed, seconds=wishes.clock.now() - begin)


@dataclass(frozen=True, slots=True)
class _Deadline:
    """Wishes that hold `until` a time (by their clock)."""

    wishes: Wishes
    until: float

    def soon(self, share: float = 1.0, begun_s: float = 0.0) -> Wishes:
        """The wishes, with this share of the time that is left, and what was taken before."""
        left = max(0.0, self.until - self.wishes.clock.now())
        return replace(self.wishes, time_limit_s=share * left + begun_s)

    @property
    def is_late(self) -> bool:
        """Is there no time left, or shall the search stop?"""
        return self.wishes.clock.now() >= self.until or self.wishes.watch.is_stopped


@dataclass(frozen=True, slots=True)
class _Prices:
    """Cycles of tasks on a machine. `least`: no plan of the task takes fewer. `expected`: what it
    is taken to take, as far as plans have told."""

    hw: Hardware
    least: dict[TaskKey, float] = field(default_factory=dict)
    expected: dict[TaskKey, float] = field(default_factory=dict)

    def look_at(self, task: Task) -> TaskKey:
        """The task's key; its prices are known from now on."""
        key = task_key(task, frozenset())
        if key not in self.least:
            self.least[key] = _least(task, self.hw)
            self.expected[key] = _expected(task, self.hw, self.least[key])
        return key

    def learn_from_failure(self, form: "_Form", known: Known) -> None:
        """Expect no end of tasks that the host cannot run and that had no schedule."""
        failed = {
            replace(key, handed_on=frozenset())
            for key, answers in known.answers.items()
            if isinstance(found := answers.get(ALONE), MappingError)
            and not isinstance(found, TooSlowError)
        }
        for task in flatten(cut_tasks(form.variant.kernel)):
            key = task_key(task, frozenset())
            if key in failed and not may_run_on_host(task):
                self.expected[key] = inf

    def learn_from(self, plan: Plan) -> None:
        """Expect what copies take there, and tasks that no instruction computes as they are."""
        for one in plan.tasks:
            if one.answer is None or is_copy(one.task.statement):
                self.expected[task_key(one.task, frozenset())] = float(one.cycles)


def _plan_forms(forms: "_Forms", known: Known) -> list[Plan]:
    """Plans of the kernel as it is and of forms that promise less, as `plan_whole` finds them, each
    in half of the time that is left. The forms' `cut` and what is expected grow.

    What an instruction matches may still need copies that cannot be scheduled. Where a plan left a
    task to the host, no form with that task promises less than it takes there; that may be too
    much, where it is joined with others, so it decides which form is next, and rules none out. So
    do promises of copies (`_expected`), until a plan says what they take. Forms that only promise
    again what another one did, such as bands along the other axis of an image, come last. What the
    host runs only because a sum is not kept on chip comes off it first: it takes nearly all of the
    time, and other forms of the sum leave it there.
    """
    deadline, prices = forms.deadline, forms.prices
    aim = deadline.wishes.aim
    form = forms.plain
    rest: list[_Form] = []
    plans: list[Plan] = []
    tried = {form.bounds}
    best: Plan | None = None
    failure: MappingError | None = None
    for number in count():
        most = FAR * best.cycles if best and aim.is_fastest else inf
        try:
            soon = deadline.soon(1 / 2 if rest or (not number and forms.others) else 1.0)
            until = deadline.until if best else inf
            plan = plan_whole(form.variant.kernel, prices.hw, soon, known, most, until)
            prices.learn_from(plan)
            plan = replace(plan, steps=form.variant.steps)
            if not number and any(p.on_host and may_leave_host(p, prices.hw) for p in plan.tasks):
                soon = deadline.soon(1 / 2, begun_s=plan.seconds)
                plan = plan_near(plan, prices.hw, soon, known, (clear_on_chip,))
            plans.append(plan)
            best = min(plans, key=lambda plan: aim.value(plan.costs))
        except LateError:
            rest.append(form)
        except MappingError as error:
            failure = failure or error
            prices.learn_from_failure(form, known)
        if not number:
            rest = [other for other in forms.listed(best) if other.least < inf]
        rest = [other for other in rest if best is None or _may_win(other, best, aim, prices.least)]
        if not rest:
            break
        if number == MAX_PLANS or (best is not None and deadline.is_late):
            forms.cut.append(f"{len(rest)} promising forms were not scheduled")
            break
        form = min(rest, key=lambda form: (form.bounds in tried, _sum(form.tasks, prices.expected)))
        rest.remove(form)
        tried.add(form.bounds)
    if not plans:
        assert failure is not None, "a form is scheduled or fails"
        raise failure
    return plans


def _may_win(form: "_Form", best: Plan, aim: Aim, least_of: dict[TaskKey, float]) -> bool:
    """May a plan of the form be clearly better than the best one so far?"""
    if aim.value(Costs(form.least, 0, 0)) >= CLEAR_GAIN * aim.value(best.costs):
        return False
    return not aim.is_fastest or may_gain(form.tasks, best, least_of)


def _best_near(
    plans: list[Plan], hw: Hardware, deadline: _Deadline, known: Known, cut: list[str]
) -> Plan:
    """The best of the plans and what is near them (`plan_near`), looked for from the best on; a
    form only where it gains clearly. `cut` grows."""
    aim = deadline.wishes.aim
    ranked = sorted(plans, key=lambda plan: _price(plan, plan.steps, aim))
    far = FAR * _price(ranked[0], ranked[0].steps, aim)
    best = plan_near(ranked[0], hw, deadline.soon(begun_s=ranked[0].seconds), known)
    least = _price(best, ranked[0].steps, aim)
    for number, plan in enumerate(ranked[1:], 1):
        if _price(plan, plan.steps, aim) > far:
            break
        if deadline.is_late:
            cut.append(f"{len(ranked) - number} forms were scheduled, and not improved")
            break
        near = plan_near(plan, hw, deadline.soon(begun_s=plan.seconds), known)
        price = _price(near, plan.steps, aim)
        if price < least:
            best, least = near, price
    return best


def _searched_on(best: Plan, hw: Hardware, deadline: _Deadline, known: Known) -> Plan:
    """The plan, or one of the same tasks: searches that ended with a task's share of the time go on
    in what all have left of it."""
    is_ended = any(one.answer is not None and one.answer.is_ended for one in best.tasks)
    if not is_ended or deadline.is_late:
        return best
    known.forget_ended()
    try:
        found = plan_whole(best.kernel, hw, deadline.soon(), known, inf, deadline.until)
    except LateError:
        return best
    found = replace(found, steps=best.steps)
    aim = deadline.wishes.aim
    return min(best, found, key=lambda plan: aim.rank(plan.costs))


def _price(plan: Plan, steps: tuple[Step, ...], aim: Aim) -> float:
    """What the plan takes; more, for its temporaries, where these steps led to its form."""
    return aim.value(plan.costs) / (CLEAR_GAIN if steps else 1.0)


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of the kernel, its tasks, and bounds of each, in cycles, sorted: infinite when a task
    has no match and the machine has no host."""

    variant: Variant
    tasks: Counter[TaskKey]
    bounds: tuple[float, ...]

    @property
    def least(self) -> float:
        """Cycles below which no plan of it can be."""
        return sum(self.bounds)


def _variants(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Search:
    return variants(
        kernel,
        rewrites=_worth_trying(kernel, hw, wishes.aim),
        max_steps=MAX_STEPS,
        max_variants=MAX_VARIANTS,
        may_reassociate=wishes.may_reassociate,
    )


class _Forms:
    """The kernel as it is (`plain`) and its other forms, listed when that has a plan or none.

    `others`: is there another one? `cut`: what was not looked at; it and `prices` grow.
    """

    def __init__(self, search: Search, prices: _Prices, deadline: _Deadline) -> None:
        self.search = search
        self.prices = prices
        self.deadline = deadline
        first, *self.others = islice(search, 2)
        self.plain = self._form(first)
        self.num_listed = 1
        self.cut: list[str] = []

    def listed(self, plan: Plan | None) -> "list[_Form]":
        """The other forms. None are looked for beyond one that differs from the plan only in what
        takes little of its time: of the few steps that lead to a form that gains clearly, one
        changes what takes more, and comes first elsewhere."""
        wishes = self.deadline.wishes
        now = wishes.clock.now()
        until = now + max(0.0, self.deadline.until - now) / 2
        found = []
        for variant in chain(self.others, self.search):
            if wishes.watch.is_stopped or wishes.clock.now() > until:
                self.cut.append("stopped before all forms were listed")
                break
            form = self._form(variant)
            found.append(form)
            if plan is not None and wishes.aim.is_fastest and not _leads_on(form, plan):
                self.search.pass_over()
        self.cut += [self.search.cut] if self.search.cut else []
        self.num_listed += len(found)
        return found

    def _form(self, variant: Variant) -> "_Form":
        tasks = Counter(self.prices.look_at(task) for task in flatten(cut_tasks(variant.kernel)))
        bounds = tuple(sorted(self.prices.least[key] for key in tasks.elements()))
        return _Form(variant, tasks, bounds)


def _leads_on(form: _Form, plan: Plan) -> bool:
    """May forms that are reached from this one gain clearly by what it changed?"""
    differing, _ = _differing(form.tasks, plan)
    return differing > (1 - CLEAR_GAIN) / MAX_STEPS * _own(plan)


def _worth_trying(kernel: Kernel, hw: Hardware, aim: Aim) -> tuple[Rewrite, ...]:
    """The rewrites that may gain something for the kernel on the machine: of cycles, products of
    halves may not (of energy, any may)."""
    is_split = not aim.is_fastest or may_gain_by_halves(hw)
    dtypes = dtypes_of(kernel) | ({"bf16"} if is_split else set())
    factors = spread_factors(hw, dtypes)
    rows = tuple(row for row in FORMS if row is not SPLIT_FLOATS or is_split)
    if operations := tuple(op for op in number_operations(hw) if op in OPERATIONS):
        rows = (*rows, numbers_by(operations))
    if values := fused_values(hw):
        rows = (*rows, neutral_by(values))
    return (spread_by(factors), *rows) if factors else rows


def may_gain(tasks: Counter[TaskKey], best: Plan, least_of: dict[TaskKey, float]) -> bool:
    """May a form with these tasks gain clearly in those in which it differs from the best plan's
    form? One after the other: that some would run side by side is no reason to try a form.
    """
    differing, others = _differing(tasks, best)
    return differing - _sum(others, least_of) > (1 - CLEAR_GAIN) * _own(best)


def _differing(tasks: Counter[TaskKey], plan: Plan) -> tuple[float, Counter[TaskKey]]:
    """Cycles of what the plan does beside these tasks, and those of them that it does not do."""
    differing = float(plan.repack_cycles)
    for planned in plan.tasks:
        parts = Counter(task_key(p, frozenset()) for p in planned.task.parts or (planned.task,))
        if parts <= tasks:
            tasks = tasks - parts
        else:
            differing += planned.cycles
    return differing, tasks


def _own(plan: Plan) -> float:
    return plan.repack_cycles + sum(planned.cycles for planned in plan.tasks)


def _sum(tasks: Counter[TaskKey], cycles: dict[TaskKey, float]) -> float:
    return sum(cycles[key] * count for key, count in tasks.items())


def _least(task: Task, hw: Hardware) -> float:
    found = candidates(task.kernel, 0, hw, held=task.held, copies=not task.begins)
    on_unit = min((candidate.bound_cycles for candidate in found), default=inf)
    if hw.host is None or not may_run_on_host(task):
        return on_unit
    return min(on_unit, host_task_cycles(task, hw.host))


def _expected(task: Task, hw: Hardware, least: float) -> float:
    """What the task is taken to take before it is scheduled: its bound; a copy, what it takes on
    the host. The bound of a copy is one of full calls, but bands, diagonals and windows are moved
    row by row, if at all: forms with several of them would come before all others.
    """
    if hw.host is None or not is_copy(task.statement):
        return least
    return host_task_cycles(task, hw.host)
