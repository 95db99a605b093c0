"""Several identical units that share their memories: `units: {matrix: {count: 4}}`."""

from dataclasses import replace

import pytest

from isamap.costmodels import bound_cycles, count_work
from isamap.emulator import time_program
from isamap.hwdesc import Hardware
from isamap.mapper import coverings
from isamap.scheduler import Status, Wishes, find_schedule, solve
from tests.scheduler.cases import kernel, machine
from tests.scheduler.core_cases import grid_of
from tests.scheduler.execution import assert_computes
from tests.scheduler.exhaustive import search_exhaustively
from tests.scheduler.tilings import with_less_memory

ODD = (("m", 33), ("n", 20), ("k", 21))


def with_units(count: int) -> Hardware:
    """One core of `hw_specs/mesh.yaml` with so many matrix units."""
    hw = grid_of(1, 1)
    units = tuple(replace(u, count=count) if u.name == "matrix" else u for u in hw.units)
    return replace(hw, units=units)


def test_four_units_share_the_calls() -> None:
    big = kernel("gemm", "gemm", (("m", 256), ("n", 256), ("k", 256)))
    one = find_schedule(big, with_units(1), Wishes(time_limit_s=60)).best
    answer = find_schedule(big, with_units(4), Wishes(time_limit_s=60))
    assert answer.status is Status.OPTIMAL
    assert answer.best.estimate.cycles < one.estimate.cycles / 3
    timing = time_program(answer.best.program, with_units(4))
    assert timing.cycles < one.estimate.cycles / 3
    assert abs(answer.best.estimate.cycles / timing.cycles - 1) < 0.15


@pytest.mark.parametrize("count", [1, 2, 3])
def test_nothing_is_better_than_what_is_found(count: int) -> None:
    subject = kernel("gemm", "gemm", ODD)
    covering = next(coverings(subject, machine("mesh"), []))
    hw = with_less_memory(with_units(count), covering, {"scratchpad": 3, "accumulator": 2})
    work = count_work(covering, hw)
    best = search_exhaustively(covering, work, hw)
    found = solve(covering, work, hw, time_limit_s=60)
    assert best is not None
    assert found.cycles <= best.value
    assert bound_cycles(covering, work, hw)[0] <= found.cycles
    answer = find_schedule(subject, hw, Wishes(time_limit_s=60))
    assert_computes(subject, answer.best.program, hw, f"{count} units")
