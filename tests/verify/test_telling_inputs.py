"""What is tolerated is small against the results, so that a wrong program shows.

In: recurrent float kernels whose rounding errors grow from step to step. Out: failures. Not its
job: the bounds themselves (`tests/ir`).
"""

import numpy as np

from isamap.hwdesc import load_hardware
from isamap.ir import Kernel, interpret, parse_semantics
from isamap.planner import Wishes, find_plan
from isamap.resources import find_hardware
from isamap.verify import Check, verify_plan
from isamap.verify.tolerance import reference_tolerance, telling_arrays, telling_inputs

STEPS = """\
x, U, h = In(f32, 30, 3, 16), In(f32, 16, 16), InOut(f32, 31, 3, 16)
S = Temp(f32, 3, 16)
for t in range(30):
  for z, j in grid(3, 16):
    S[z, j] = x[t, z, j]
  for y, i, p in grid(3, 16, 16):
    S[y, i] += h[t, y, p] * U[p, i]
  for w, k in grid(3, 16):
    h[t + 1, w, k] = {function}(S[w, k])
"""


def recurrent(function: str) -> Kernel:
    """h[t + 1] = f(x[t] + h[t] U)."""
    return parse_semantics(STEPS.format(function=function), "recurrent")


def test_weights_are_made_small_until_errors_die_out() -> None:
    kernel = recurrent("tanh")
    plain = reference_tolerance(kernel, telling_arrays(kernel))
    assert not isinstance(plain, float) and plain["h"].max() > 1, "else there is nothing to mend"
    arrays, tolerance = telling_inputs(kernel, 0, lambda found: reference_tolerance(kernel, found))
    assert not isinstance(tolerance, float)
    assert tolerance["h"].mean() < np.abs(interpret(kernel, arrays)["h"]).mean() / 16


def test_a_reordered_recurrent_sum_is_checked_for_real() -> None:
    hw = load_hardware(find_hardware("outer"))
    kernel = recurrent("tanh")
    plan = find_plan(kernel, hw, Wishes(time_limit_s=5, may_reassociate=True))
    assert any(not task.on_host for task in plan.tasks), "else no sum is reordered"
    good = verify_plan(plan, kernel, hw, Check.FULL, may_reassociate=True)
    assert good.is_verified and 0 < good.tolerance < 1e-2
    other = verify_plan(plan, recurrent("relu"), hw, Check.FULL, may_reassociate=True)
    assert other.is_wrong
