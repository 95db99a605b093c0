"""Check a program of several tasks against the kernel that it was made from.

In: a plan, the kernel, the machine. Out: a Verification. Not its job: single coverings
(`run_quick`).
"""

from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.scheduler import Plan

from .run_full import KernelFile, execute_on, num_iterations, with_reference
from .tolerance import plan_tolerance, telling_arrays
from .verification import Check, Verification

MAX_ITERATIONS = 2**26  # of the kernel, a few seconds of emulation


def verify_plan(
    plan: Plan,
    kernel: Kernel,
    hw: Hardware,
    check: Check,
    *,
    seed: int = 0,
    file: KernelFile | None = None,
) -> Verification:
    """Execute the whole program, if asked to or small enough for a quick check."""
    if check is Check.OFF:
        return Verification(Check.OFF)
    if check is Check.QUICK and num_iterations(kernel) > MAX_ITERATIONS:
        failure = f"quick check not possible: {num_iterations(kernel)} iterations are too many"
        return Verification(check, failure=failure)
    return with_reference(_execute(plan, kernel, hw, Check.FULL, seed), kernel, file, seed)


def _execute(plan: Plan, kernel: Kernel, hw: Hardware, check: Check, seed: int) -> Verification:
    arrays = telling_arrays(kernel, seed)
    tolerance = plan_tolerance(plan, kernel, arrays)
    return execute_on(arrays, plan.program, kernel, hw, check, tolerance)
