"""What a model has proven is not asked of the solver again.

In: one covering, its solution. Out: failures. Not its job: what the solver finds.
"""

from dataclasses import replace

import pytest

from isamap.costmodels import count_work
from isamap.ir import parse_semantics
from isamap.mapper import Covering, coverings
from isamap.scheduler import KnownModels, Solution, Status, solve
from isamap.scheduler.model import TilingModel
from isamap.scheduler.near_tilings import near_tilings
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
    known = KnownModels()
    first = find(known)
    assert first.status is Status.OPTIMAL and len(known.proven) == 1
    assert find(known) == first and find(known, cutoff=first.value + 1) == first


def test_what_loops_are_called_does_not_matter() -> None:
    text = "A, B, C = In(i8, 37, 41), In(i8, 53, 41), InOut(i32, 37, 53)\n"
    text += "for x, y, z in grid(37, 53, 41):\n  C[x, y] += i32(A[x, z]) * i32(B[y, z])\n"
    other = next(coverings(parse_semantics(text, "product"), HW, []))
    known = KnownModels()
    first = find(known)
    again = solve(other, count_work(other, HW), HW, time_limit_s=60.0, known=known)
    alone = solve(other, count_work(other, HW), HW, time_limit_s=60.0)
    assert len(known.proven) == 1 and (again.value, again.status) == (first.value, first.status)
    assert again.tiling == alone.tiling and again.tiling != first.tiling


def test_nothing_below_the_best_is_looked_for() -> None:
    known = KnownModels()
    first = find(known)
    again = find(known, cutoff=first.value)
    assert again.status is Status.INFEASIBLE and again.bound == first.value
    unaided = find(KnownModels(), cutoff=first.value)
    assert unaided.status is Status.INFEASIBLE and unaided.bound == first.value


def test_a_bound_that_is_too_low_does_not_end_the_search() -> None:
    known = KnownModels()
    best = find(KnownModels()).value
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


def sized(sizes: dict[str, int]) -> Covering:
    return first_coverings("gemm", "gemm_nt", tuple(sizes.items()), "gemmini", 1)[0]


def test_a_start_from_other_sizes_changes_neither_the_best_nor_its_proof() -> None:
    known = KnownModels()
    starts = 0
    for m, n, k in [(37, 53, 41), (150, 450, 350), (75, 450, 350), (150, 400, 380)]:
        one = sized({"m": m, "n": n, "k": k})
        starts += any(near_tilings(known, one, HW))
        found, alone = (
            solve(one, count_work(one, HW), HW, time_limit_s=60.0, known=models)
            for models in (known, KnownModels())
        )
        assert (found.status, found.value, found.bound) == (alone.status, alone.value, alone.bound)
        assert found.status is Status.OPTIMAL
    assert starts >= 2
