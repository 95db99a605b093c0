"""Check a program of several tasks against the kernel that it was made from.

In: a plan, the kernel, the machine. Out: a Verification. Not its job: single coverings
(`run_quick`), making things small (`shrink_plan`).
"""

from dataclasses import replace
from functools import partial

from isamap.errors import IsamapError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.planner import Plan, Wishes, plan_form
from isamap.program import Program
from isamap.rewrites import replay

from .loop_classes import Need
from .run_full import KernelFile, execute_on, is_quick, num_iterations, with_reference
from .run_quick import LIMITS
from .shrink_plan import shrink_kernel, shrink_plan
from .tolerance import plan_tolerance, telling_inputs
from .verification import Check, Verification

MAX_ITERATIONS = 2**26  # of the kernel, a few seconds of emulation
OTHER_SCHEDULE = "another schedule of a cut-down kernel"
# where schedules are made anew, loops lose multiples of the first and keep their rests, or of the
# second where that is still too large
PERIODS = (32, 8)
REPLAN_SECONDS = 5.0


def verify_plan(
    plan: Plan,
    kernel: Kernel,
    hw: Hardware,
    check: Check,
    *,
    seed: int = 0,
    may_reassociate: bool = False,
    file: KernelFile | None = None,
) -> Verification:
    """Execute the whole program if asked to or if it is small enough; else a cut-down one.

    The cut-down program has the plan's coverings and its tilings' structure; where there is none
    such, or where the plan is of a rewritten form, the cut-down kernel is scheduled anew, and
    `Verification.subject` says so.
    """
    if check is Check.OFF:
        return Verification(Check.OFF)
    if check is Check.FULL or is_quick(kernel, MAX_ITERATIONS):
        found = _execute(plan, plan.program, kernel, hw, Check.FULL, seed)
    else:
        found = _execute_small(plan, kernel, hw, seed, may_reassociate)
    return with_reference(found, kernel, file, seed)


def _execute(
    plan: Plan, program: Program, kernel: Kernel, hw: Hardware, check: Check, seed: int
) -> Verification:
    inputs = partial(telling_inputs, kernel, seed, partial(plan_tolerance, plan, kernel))
    return execute_on(inputs, program, kernel, hw, check)


def _execute_small(
    plan: Plan, kernel: Kernel, hw: Hardware, seed: int, may_reassociate: bool
) -> Verification:
    reason = "the plan is of a rewritten form"
    for limits in LIMITS if not plan.steps else ():
        found = shrink_plan(plan, hw, limits, may_reassociate)
        if isinstance(found, str):
            reason = found
            continue
        small, program = found
        if not is_quick(small, MAX_ITERATIONS):
            reason = f"cut down to {num_iterations(small)} iterations it is still too large"
            continue
        return _execute(replace(plan, kernel=small), program, small, hw, Check.QUICK, seed)
    return _replan(plan, kernel, hw, seed, may_reassociate, reason)


def _replan(
    plan: Plan, kernel: Kernel, hw: Hardware, seed: int, may_reassociate: bool, reason: str
) -> Verification:
    """Schedule a cut-down kernel anew, in the same form."""
    small = _cut_down(kernel)
    if isinstance(small, str):
        return Verification(Check.QUICK, failure=f"quick check not possible: {reason}; {small}")
    form = replay(small, plan.steps)
    if form is None or not is_quick(small, MAX_ITERATIONS):
        why = "it is still too large" if form else "the rewrites do not apply to it"
        failure = f"quick check not possible: {reason}; of a cut-down kernel, {why}"
        return Verification(Check.QUICK, failure=failure)
    wishes = Wishes(time_limit_s=REPLAN_SECONDS, seed=seed, may_reassociate=may_reassociate)
    try:
        other = replace(plan_form(form, hw, wishes), steps=plan.steps)
    except IsamapError as error:
        failure = f"quick check not possible: {reason}; cut down: {error.message}"
        return Verification(Check.QUICK, failure=failure)
    found = _execute(other, other.program, small, hw, Check.QUICK, seed)
    return replace(found, subject=f"{OTHER_SCHEDULE} ({reason})")


def _cut_down(kernel: Kernel) -> Kernel | str:
    """The kernel at the first `PERIODS` at which it is small, or at the last; or why there is
    none."""
    loops = [loop for statement in kernel.statements for loop in statement.loops]
    small: Kernel | str = kernel
    for period in PERIODS:
        needs = {loop.name: Need(min(loop.extent, period), period) for loop in loops}
        small = shrink_kernel(kernel, needs)
        if isinstance(small, str) or is_quick(small, MAX_ITERATIONS):
            break
    return small
