"""One schedule or a plan."""

import time

from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.planner import search
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler import Answer, Wishes


def test_the_time_of_a_schedule_counts_the_plans_that_it_was_compared_with() -> None:
    """Those took most of it: the schedule uses little of the machine, so plans are looked at."""
    kernel = load_kernel(find_kernel("gemv")[0], {"m": 3, "k": 20})
    hw = load_hardware(find_hardware("gemmini"))
    begin = time.perf_counter()
    found = search(kernel, hw, Wishes())
    took_s = time.perf_counter() - begin
    assert isinstance(found, Answer)
    assert 0.9 * took_s < found.seconds <= took_s
