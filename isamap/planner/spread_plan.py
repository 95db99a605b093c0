"""A plan of a single statement whose sum is cut in two, for instructions that sum over two loops.

In: a kernel of one statement, a machine, wishes. Out: a plan of the cut form that promises most, if
any promises clearly less than the kernel as it is. Not its job: other forms (`best_plan`).

Such instructions take the kernel as it is, too, with zeros in the place of most of their products,
or leave it to others: nothing shows there that they would do better.
"""

from dataclasses import replace
from math import inf

from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel
from isamap.mapper import candidates, spread_factors
from isamap.rewrites import Step, dtypes_of, spread_by
from isamap.scheduler import Wishes

from .best_plan import CLEAR_GAIN
from .find_plan import plan_whole
from .plan import Plan
from .schedule_tasks import Known


def spread_plan(kernel: Kernel, hw: Hardware, wishes: Wishes) -> Plan | None:
    """The plan, of the closed form's choice; None where no cut promises anything, or nothing
    schedules what does."""
    factors = spread_factors(hw, dtypes_of(kernel))
    if not factors:
        return None
    rewrite = spread_by(factors)
    least, best = CLEAR_GAIN * _least(kernel, hw), None
    for site, form in rewrite.sites(kernel):
        bound = _least(form, hw)
        if bound < least:
            least, best = bound, (site, form)
    if best is None:
        return None
    site, form = best
    try:
        plan = plan_whole(form, hw, wishes, Known())
    except MappingError:
        return None
    return replace(plan, steps=(Step(rewrite.name, site),))


def _least(kernel: Kernel, hw: Hardware) -> float:
    """Cycles below which no covering of the kernel is."""
    return min((candidate.bound_cycles for candidate in candidates(kernel, 0, hw)), default=inf)
