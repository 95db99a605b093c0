"""What a model has proven is not asked of the solver again.

In: one covering, its solution. Out: failures. Not its job: what the solver finds.
"""

from dataclasses import replace

import pytest

from isamap.costmodels import count_work
from isamap.mapper import Covering
from isamap.scheduler import KnownModels, Solution, Status, solve
from isamap.scheduler.model import TilingModel
from tests.scheduler.cases import first_coverings, machine
from tests.scheduler.tilings import with_less_memory

HW = machine("gemmini")
PRODUCT = ("gemm", "gemm_nt", (("m", 37), ("n", 53), ("k", 41)))


def covering() -> Covering:
    return first_coverings(*PRODUCT, "gemmini", 1)[0]


def find(known: KnownModels, cutoff: float | None = None) -> Solution:
    one = covering()
    return solve(one, count_work(one, HW), HW, time_limit_s=60.0, cutoff=cutoff, known=known)


def test_a_model_that_is_known_gives_its_solution_again() -> None:
    known: KnownModels = {}
    first = find(known)
    assert first.status is Status.OPTIMAL and len(known) == 1
    assert find(known) == first and find(known, cutoff=first.value + 1) == first


def test_nothing_below_the_best_is_looked_for() -> None:
    known: KnownModels = {}
    first = find(known)
    again = find(known, cutoff=first.value)
    assert again.status is Status.INFEASIBLE and again.bound == first.value
    unaided = find({}, cutoff=first.value)
    assert unaided.status is Status.INFEASIBLE and unaided.bound == first.value


def test_a_bound_that_is_too_low_does_not_end_the_search() -> None:
    known: KnownModels = {}
    best = find({}).value
    assert find(known, cutoff=best).status is Status.INFEASIBLE
    assert find(known).value == best
    assert find(known, cutoff=best + 1).value == best


def test_loops_that_decide_nothing_tell_models_apart() -> None:
    one = first_coverings("gemm", "gemm", (("m", 37), ("n", 53), ("k", 5)), "gemmini", 1)[0]
    loops = tuple(
        replace(loop, extent=loop.extent - 1) if loop.units == 1 else loop for loop in one.loops
    )
    assert loops != one.loops
    other = replace(one, loops=loops)
    work = count_work(one, HW)
    assert TilingModel(one, work, HW).digest != TilingModel(other, work, HW).digest


@pytest.mark.parametrize("room", [1, 2])
def test_another_room_is_another_model(room: int) -> None:
    one = covering()
    work = count_work(one, HW)
    small = with_less_memory(HW, one, {memory.name: room for memory in HW.memories})
    assert TilingModel(one, work, HW).digest == TilingModel(one, work, HW).digest
    assert TilingModel(one, work, HW).digest != TilingModel(one, work, small).digest
