"""Coverings on several cores: every way to share loops out, right programs, the best of all."""

import random
from dataclasses import replace
from itertools import product

import pytest

from isamap.costmodels import count_work, estimate
from isamap.hwdesc import Expression, Hardware, Synchronisation
from isamap.mapper import Covering, coverings, spread, spread_coverings, why_one_core
from isamap.scheduler import Status, Wishes, find_schedule
from tests.scheduler.cases import kernel, machine
from tests.scheduler.core_cases import grid_of, random_core_case
from tests.scheduler.execution import assert_computes, assert_correct
from tests.scheduler.tilings import all_tilings, random_legal_tiling, with_less_memory

GEMM = (("m", 33), ("n", 70), ("k", 20))  # 3 x 5 x 2 units


def first(file: str, name: str, sizes: tuple[tuple[str, int], ...], hw: Hardware) -> Covering:
    return next(coverings(kernel(file, name, sizes), hw, []))


def shares_of(covering: Covering) -> tuple[tuple[str, str, int, int], ...]:
    return tuple((s.loop, s.axis, s.count, s.step) for s in covering.shares)


def test_every_factorisation_of_an_axis_is_offered_once() -> None:
    hw = grid_of(1, 4)
    found = {shares_of(c) for c in spread(first("gemm", "gemm", GEMM, hw), hw)}
    # four shares of five units are as large as three; sums over k are never shared out
    alone = [("i", 2), ("i", 3), ("j", 2), ("j", 3)]
    both = (("i", "column", 2, 2), ("j", "column", 2, 1))
    assert found == {((loop, "column", count, 1),) for loop, count in alone} | {both}


def test_both_axes_of_a_grid_may_go_to_one_loop() -> None:
    hw = grid_of(2, 2)
    found = {shares_of(c) for c in spread(first("gemm", "gemm", GEMM, hw), hw)}
    one = (None, "i", "j")
    expected = {
        tuple((loop, axis, 2, 1) for loop, axis in ((a, "row"), (b, "column")) if loop)
        for a, b in product(one, one)
    } - {()}
    expected.discard((("i", "row", 2, 1), ("i", "column", 2, 1)))  # three units on four cores
    assert found == expected


OVERLAPPING = (("h", 3), ("w", 3), ("c", 3), ("k", 2))


@pytest.mark.parametrize("sizes", [OVERLAPPING, (("h", 5), ("w", 5), ("c", 20), ("k", 20))])
def test_overlapping_outputs_are_not_shared_out(sizes: tuple[tuple[str, int], ...]) -> None:
    """No core may bring home sums that another one adds to, whether y's axes slide or not."""
    hw = grid_of(2, 2)
    for covering in coverings(kernel("transposed_conv", "transposed_conv", sizes), hw, []):
        shared = {share.loop for c in spread(covering, hw) for share in c.shares}
        assert not shared & {"p", "q", "u", "v"}


def test_a_transposed_convolution_on_several_cores_is_right() -> None:
    hw, subject = grid_of(2, 2), kernel("transposed_conv", "transposed_conv", OVERLAPPING)
    answer = find_schedule(subject, hw, Wishes(time_limit_s=3))
    assert_computes(subject, answer.best.program, hw, "transposed_conv")


def test_compute_bounds_of_spread_coverings_ascend() -> None:
    hw = grid_of(2, 2)
    stream = coverings(kernel("gemm", "gemm", GEMM), hw, [])
    work = [count_work(c, hw).compute_cycles for c in spread_coverings(stream, hw)]
    assert work == sorted(work)
    assert work[0] * 4 >= count_work(first("gemm", "gemm", GEMM, hw), hw).compute_cycles


@pytest.mark.parametrize("seed", range(14))
def test_spread_tilings_compute_the_kernel(seed: int) -> None:
    case = random_core_case(seed)
    tiling = random_legal_tiling(case.covering, case.hw, random.Random(seed), any_tile=True)
    if tiling is None:
        return
    timing = assert_correct(case.kernel, case.covering, tiling, case.hw)
    if not any(loop.is_ragged for loop in case.covering.loops):
        moved = estimate(case.covering, count_work(case.covering, case.hw), tiling, case.hw).moved
        read, written = dict(moved.read_bytes), dict(moved.written_bytes)
        for row in timing.traffic:
            assert read.get(row.memory, 0) == pytest.approx(row.read_bytes), case.text
            assert written.get(row.memory, 0) == pytest.approx(row.written_bytes), case.text
        assert moved.energy_pj == pytest.approx(timing.energy_pj), case.text


SMALL = (
    ("gemm", "gemm", (("m", 33), ("n", 20), ("k", 5))),
    ("gemm", "gemm", (("m", 5), ("n", 50), ("k", 3))),
    ("gemv", "gemv", (("m", 35), ("k", 20))),
)


@pytest.mark.parametrize("grid", [(2, 2), (1, 3)])
@pytest.mark.parametrize("subject", SMALL, ids=lambda subject: subject[1])
def test_nothing_beats_the_split_that_is_chosen(
    subject: tuple[str, str, tuple[tuple[str, int], ...]], grid: tuple[int, int]
) -> None:
    hw = grid_of(*grid)
    single = first(*subject, hw)
    hw = with_less_memory(hw, single, {"scratchpad": 3, "accumulator": 2})
    answer = find_schedule(kernel(*subject), hw, Wishes(layouts="packed", time_limit_s=60))
    assert answer.status is Status.OPTIMAL
    best = answer.best.estimate.cycles
    for covering in (single, *spread(single, hw)):
        work = count_work(covering, hw)
        for tiling in all_tilings(covering, hw):
            found = estimate(covering, work, tiling, hw).cycles
            assert best <= found, (shares_of(covering), tiling)
    assert_computes(kernel(*subject), answer.best.program, hw, str(subject))


def with_issue(hw: Hardware, name: str, cycles: int) -> Hardware:
    """The machine with an instruction that takes so many cycles."""
    slow = Expression.constant(cycles)
    return replace(
        hw,
        instructions=tuple(
            replace(x, issue_cycles=slow, latency_cycles=slow) if x.name.startswith(name) else x
            for x in hw.instructions
        ),
    )


def test_what_cores_need_alike_is_multicast_where_that_is_cheaper() -> None:
    big = kernel("gemm", "gemm", (("m", 64), ("n", 64), ("k", 64)))
    hw = grid_of(1, 4)
    found = find_schedule(big, hw, Wishes(time_limit_s=60)).best
    assert found.covering.shares
    fills = {p.residences[-1].fill.instruction for p in found.covering.operands if
             p.residences[-1].fill}  # fmt: skip
    assert fills & {"load_row", "load_all"}
    dear = find_schedule(big, with_issue(hw, "load_", 200), Wishes(time_limit_s=60)).best
    fills = {p.residences[-1].fill.instruction for p in dear.covering.operands if
             p.residences[-1].fill}  # fmt: skip
    assert not fills & {"load_row", "load_all", "load_column"}


def test_four_cores_are_nearly_four_times_as_fast() -> None:
    big = kernel("gemm", "gemm", (("m", 256), ("n", 256), ("k", 256)))
    four = find_schedule(big, grid_of(2, 2), Wishes(time_limit_s=60))
    one = find_schedule(big, grid_of(1, 1), Wishes(time_limit_s=60))
    assert four.best.estimate.cycles < one.best.estimate.cycles / 3.5


def test_a_single_row_runs_on_one_core_and_says_why() -> None:
    tiny = first("gemm", "gemm", (("m", 5), ("n", 3), ("k", 70)), machine("mesh"))
    assert why_one_core(tiny, machine("mesh")) == "no loop of several units moves the output alone"
    assert list(spread(tiny, machine("mesh"))) == []
    tokens = replace(machine("mesh"), synchronisation=Synchronisation.TOKENS)
    covering = first("gemm", "gemm", GEMM, machine("mesh"))
    assert "synchronise by tokens" in why_one_core(covering, tokens)
    assert list(spread(covering, tokens)) == []
