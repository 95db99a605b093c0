"""Several identical units that share their memories: `units: {matrix: {count: 4}}`."""

import random
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from isamap.costmodels import bound_cycles, count_work, estimate
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, Setting, load_hardware
from isamap.ir import Kernel, parse_semantics
from isamap.mapper import coverings
from isamap.scheduler import Status, Wishes, find_schedule, solve
from tests.scheduler.cases import kernel, machine
from tests.scheduler.core_cases import grid_of
from tests.scheduler.execution import assert_computes
from tests.scheduler.exhaustive import model_cycles, search_exhaustively
from tests.scheduler.tilings import random_legal_tiling, with_less_memory

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


@cache
def with_arrays(count: int, feed: int, flush: int = 1) -> Hardware:
    """So many arrays; cycles in which a block comes to one of the few places that they read, and in
    which two sums leave."""
    settings = Setting.of("parameters.feed", feed), Setting.of("parameters.flush", flush)
    hw = load_hardware(Path(__file__).parent / "flushed_sums.yaml", settings)
    units = tuple(replace(u, count=count) if u.name == "array" else u for u in hw.units)
    return replace(hw, units=units)


def product(m: int, n: int, k: int) -> Kernel:
    return parse_semantics(
        f"""
A, B, Y = In(i8, {m}, {k}), In(i8, {n}, {k}), Out(i32, {m}, {n})
for i, j, p in grid({m}, {n}, {k}):
  Y[i, j] += i32(A[i, p]) * i32(B[j, p])
""",
        "product",
    )


@pytest.mark.parametrize("sizes", [(7, 9, 13), (16, 32, 64)])
def test_more_units_are_not_said_to_be_slower(sizes: tuple[int, int, int]) -> None:
    """Where fetches set the pace, results are there no sooner, and leave no sooner."""
    one = find_schedule(product(*sizes), with_arrays(1, 32), Wishes(time_limit_s=60))
    for count in (2, 3):
        more = find_schedule(product(*sizes), with_arrays(count, 32), Wishes(time_limit_s=60))
        assert more.status is one.status is Status.OPTIMAL
        assert more.best.estimate.cycles <= one.best.estimate.cycles


@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("sizes", [(16, 16, 32), (16, 32, 64)])
def test_a_block_is_in_the_way_until_its_last_call_is_over(
    sizes: tuple[int, int, int], count: int
) -> None:
    hw = with_arrays(count, 8)
    best = find_schedule(product(*sizes), hw, Wishes(time_limit_s=60)).best
    emulated = time_program(best.program, hw).cycles
    assert abs(best.estimate.cycles - emulated) <= 0.05 * emulated


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("seed", range(20))
def test_the_model_prices_shared_calls_like_the_closed_form(count: int, seed: int) -> None:
    generator = random.Random(f"{count} {seed}")
    hw = with_arrays(count, generator.choice((2, 8, 32)), generator.choice((1, 4)))
    hw = replace(hw, memories=tuple(replace(m, size_bytes=8 * m.size_bytes) for m in hw.memories))
    covering = next(coverings(product(*generator.choice(((21, 43, 100), (8, 32, 64)))), hw, []))
    tiling = random_legal_tiling(covering, hw, generator, any_tile=False, attempts=1000)
    assert tiling is not None
    work = count_work(covering, hw)
    found = model_cycles(covering, work, hw, tiling)
    expected = estimate(covering, work, tiling, hw).cycles
    assert found is not None
    assert abs(found - expected) <= 1 + len(work.flows), f"{tiling}"
