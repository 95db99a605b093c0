"""NumPy = interpreter = emulator, for every kernel on every machine, small odd shapes.

In: `cases`. Out: failures. Not its job: random tilings (`test_random_tilings`).
"""

import numpy as np
import pytest

from isamap.costmodels import (
    Tiling,
    Work,
    bound_cycles,
    count_work,
    estimate,
    roofline,
)
from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.ir import interpret, load_reference, random_arrays
from isamap.mapper import Covering, coverings
from isamap.scheduler import solve
from isamap.scheduler.greedy import schedule_greedily
from tests.scheduler.cases import KERNELS, MACHINES, first_coverings, kernel, kernel_file, machine
from tests.scheduler.execution import assert_correct

Sizes = tuple[tuple[str, int], ...]
NUM_COVERINGS = 2


@pytest.mark.parametrize(("file", "name", "sizes"), KERNELS)
def test_the_interpreter_agrees_with_numpy(file: str, name: str, sizes: Sizes) -> None:
    arrays = random_arrays(kernel(file, name, sizes), 1)
    reference = load_reference(kernel_file(file), name, dict(sizes))
    assert reference is not None
    expected = reference(**{buffer: array.copy() for buffer, array in arrays.items()})
    for buffer, array in interpret(kernel(file, name, sizes), arrays).items():
        np.testing.assert_array_equal(array, expected[buffer])


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize(("file", "name", "sizes"), KERNELS)
def test_schedules_compute_the_kernel_and_respect_every_bound(
    file: str, name: str, sizes: Sizes, hw_name: str
) -> None:
    hw, subject = machine(hw_name), kernel(file, name, sizes)
    found = first_coverings(file, name, sizes, hw_name, NUM_COVERINGS)
    assert found, f"{hw_name} can compute {name}"
    least = roofline(subject, hw).cycles
    for covering in found:
        work = count_work(covering, hw)
        greedy = schedule_greedily(covering, work, hw)
        solution = solve(covering, work, hw, time_limit_s=2)
        assert greedy is not None and solution.tiling is not None
        assert solution.cycles == estimate(covering, work, solution.tiling, hw).cycles
        assert solution.bound_cycles <= solution.cycles
        # of the second covering the solver's tiling alone: the greedy one is made alike
        tilings = (greedy, solution.tiling) if covering is found[0] else (solution.tiling,)
        for tiling in dict.fromkeys(tilings):
            timing = assert_correct(subject, covering, tiling, hw)
            assert_bounds(covering, work, tiling, hw, timing.cycles, least)
        assert solution.cycles <= estimate(covering, work, greedy, hw).cycles


def assert_bounds(
    covering: Covering, work: Work, tiling: Tiling, hw: Hardware, cycles: int, least: int
) -> None:
    """Roofline <= covering's bound <= emulated, and <= estimated."""
    bound, _ = bound_cycles(covering, work, hw)
    assert least <= cycles, "the roofline must bound every program"
    assert bound <= cycles, "the covering's bound must bound its programs"
    assert bound <= estimate(covering, work, tiling, hw).cycles


@pytest.mark.parametrize("hw_name", MACHINES)
def test_a_kernel_of_two_statements_says_why_it_cannot_be_mapped(hw_name: str) -> None:
    subject = kernel("gemm", "gemm_i8", ())
    with pytest.raises(MappingError) as caught:
        list(coverings(subject, machine(hw_name), []))
    error = caught.value
    assert error.message == "kernel gemm_i8 has 2 statements; one can be mapped so far"
    assert error.loc is not None and "i8(T[i, j])" in error.loc.text
    assert error.hint == "map one statement at a time"
