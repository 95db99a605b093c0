"""What programs of several tasks may differ by.

In: plans. Out: verdicts. Not its job: rounding errors themselves (`test_rounding`).
"""

from dataclasses import replace

import numpy as np
import pytest

from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel, random_arrays
from isamap.planner import Plan, Wishes, find_plan
from isamap.resources import find_hardware, find_kernel
from isamap.rewrites import Step
from isamap.verify import Check, compare, plan_tolerance, telling_arrays, verify_plan
from isamap.verify.tolerance import is_bounded, keeps_order, largest


def plan_of(text: str, hw: Hardware, **sizes: int) -> Plan:
    """A bundled kernel on a machine."""
    path, name = find_kernel(text)
    return find_plan(load_kernel(path, sizes, name), hw, Wishes(time_limit_s=3))


@pytest.fixture(scope="module")
def gemmini() -> Hardware:
    """A machine whose host runs floats."""
    return load_hardware(find_hardware("gemmini"))


def test_the_host_keeps_the_order_so_nothing_is_tolerated(gemmini: Hardware) -> None:
    plan = plan_of("softmax", gemmini, m=5, n=7)
    assert keeps_order(plan)
    assert plan_tolerance(plan, plan.kernel, random_arrays(plan.kernel)) == 0.0
    found = verify_plan(plan, plan.kernel, gemmini, Check.FULL)
    assert found.is_verified
    assert found.tolerance == 0.0


def test_a_float_sum_on_a_unit_or_a_reassociating_step_has_a_tolerance(gemmini: Hardware) -> None:
    plan = plan_of("softmax", gemmini, m=5, n=7)
    on_unit = replace(plan, tasks=tuple(replace(p, on_host=False) for p in plan.tasks))
    assert not keeps_order(on_unit)
    stepped = replace(plan, steps=(Step("factor", "anywhere"),))
    assert not keeps_order(stepped)
    arrays = random_arrays(plan.kernel)
    tolerance = plan_tolerance(on_unit, plan.kernel, arrays)
    assert not isinstance(tolerance, float)
    assert is_bounded(tolerance)
    assert 0 < largest(tolerance) < 1e-5


def test_integers_keep_no_order_but_are_exact(gemmini: Hardware) -> None:
    plan = plan_of("gemm_epilogue", gemmini, m=5, n=7, k=9)
    assert keeps_order(replace(plan, steps=(Step("factor", "anywhere"),)))


def test_limits_hold_element_by_element() -> None:
    right = {"y": np.array([1.0, 2.0, np.inf], np.float32)}
    limits = {"y": np.array([0.0, 0.5, 0.5])}
    assert compare({"y": np.array([1.0, 2.5, np.inf], np.float32)}, right, "oracle", limits) is None
    for wrong in ([1.1, 2.0, np.inf], [1.0, 2.6, np.inf], [1.0, 2.0, 9.0], [1.0, np.nan, np.inf]):
        got = {"y": np.array(wrong, np.float32)}
        assert compare(got, right, "oracle", limits) is not None


def test_biases_do_not_drown_the_sums() -> None:
    path, name = find_kernel("gemm_epilogue")
    kernel = load_kernel(path, {"m": 8, "n": 32, "k": 16}, name)
    bias = telling_arrays(kernel)["bias"]
    assert np.abs(bias[::2].astype(np.int64)).max() <= 2**15
    assert np.abs(bias[1::2].astype(np.int64)).max() > 2**24
