"""Kernels of several statements on machines with a host: programs compute what the kernels say.

In: bundled kernels at odd small sizes. Out: verdicts. Not its job: quality of schedules.
"""

from dataclasses import replace

import pytest

import isamap
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel, parse_semantics
from isamap.mapper import cut_tasks, flatten
from isamap.resources import find_hardware, find_kernel
from tests.ir.kernel_sizes import ODD_SIZES, Sizes

TIME_LIMIT_S = 0.2  # any legal schedule will do


def several() -> list[tuple[str, Sizes]]:
    """Kernels of several statements or held loops, each at its second odd sizes."""
    found = []
    for (file, name), every in ODD_SIZES.items():
        path, _ = find_kernel(file)
        kernel = load_kernel(path, every[1], name)
        tasks = tuple(flatten(cut_tasks(kernel)))
        if len(tasks) > 1 or tasks[0].held:
            found.append((f"{file}:{name}", every[1]))
    return found


MACHINES = ("gemmini", "vta", "outer", "gemmini", "vta", "vecdot")  # take turns: a short run
CASES = [
    (MACHINES[number % len(MACHINES)], name, sizes)
    for number, (name, sizes) in enumerate(several())
]


@pytest.mark.parametrize(("machine", "name", "sizes"), CASES)
def test_whole_programs_compute_what_the_kernels_say(machine: str, name: str, sizes: Sizes) -> None:
    found = isamap.map(name, machine, sizes=sizes, verify="full", time_limit_s=TIME_LIMIT_S)
    assert found.verification.is_verified, found.verification
    assert found.verification.tolerance == 0.0, "the host keeps the order of float sums"
    if isinstance(found, isamap.PlanResult):
        assert found.timing is not None
        assert found.plan.bound_cycles <= found.timing.cycles


@pytest.mark.parametrize("name", ["softmax", "gru:gru_i8", "prefix_sum"])
def test_machines_without_a_host_say_which_statement_they_lack(name: str) -> None:
    hw = replace(load_hardware(find_hardware("outer")), host=None)
    with pytest.raises(isamap.IsamapError) as caught:
        isamap.map(name, hw, may_reassociate=True)
    text = str(caught.value)
    assert "no instruction of outer computes\n" in text or "carries a dependence:\n" in text
    assert caught.value.loc is not None


FALLING = [
    """
x, w, y = In(f32, 11), In(f32, 4), Out(f32, 11)
for i, p in grid(11, 4):
  y[i] += x.at(i - p, pad=0) * w[p]
""",
    """
a, b, c = In(f32, 6), In(f32, 3), Out(f32, 9)
for i, j in grid(6, 3):
  c[i - j + 3] += a[i] * b[j]
""",
    """
h, x = InOut(f32, 5, 6), In(f32, 4, 6)
for s in range(4):
  for j in range(6):
    h[3 - s, j] = tanh(h[4 - s, 5 - j] + x[3 - s, j])
""",
]


@pytest.mark.parametrize("machine", ["gemmini", "vta"])
@pytest.mark.parametrize("text", FALLING)
def test_the_host_reads_and_writes_at_indices_that_fall(text: str, machine: str) -> None:
    found = isamap.map(parse_semantics(text, "falling"), machine, verify="full")
    assert isinstance(found, isamap.PlanResult) and found.timing is not None
    assert found.verification.is_verified and found.verification.tolerance == 0.0
