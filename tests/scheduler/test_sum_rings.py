"""Sums that another unit brings than the one that adds are in order by tokens alone.

In: random tilings, schedules and plans for machines whose sums go round in a ring of units. Out:
failures. Not its job: sums that the computing unit brings (`test_tokens`), rows of units
(`test_unit_chains`).
"""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

import isamap
from isamap.costmodels import Stay, Tiling, count_work, drains_late, estimate
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel, parse_semantics
from isamap.mapper import Covering, coverings
from isamap.scheduler import Wishes, find_schedule, lower
from isamap.scheduler.options import must_stay_whole, slot_options, why_unordered
from tests.scheduler.cases import kernel
from tests.scheduler.execution import assert_correct
from tests.scheduler.exhaustive import model_cycles
from tests.scheduler.test_tokens import rules_without_one_token
from tests.scheduler.test_unit_chains import SHORT, SIZES, moved
from tests.scheduler.tilings import draw_until_found, random_legal_tiling, with_any_memory

MACHINES = Path(__file__).parents[1] / "specs" / "machines"
Make = Callable[[], Hardware]
TWICE = """
A, B, D, C = In(i8, 3, 5, 7), In(i8, 7, 6), Out(i32, 3, 5, 6), InOut(i32, 5, 6)
for t in range(3):
  for i, j, k in grid(5, 6, 7):
    C[i, j] += i32(A[t, i, k]) * i32(B[k, j])
  for i, j in grid(5, 6):
    D[t, i, j] = C[i, j]
"""
SCATTERED = """
x, w, y = In(i8, 2, 8), In(i8, 2, 8, 9), InOut(i32, 4, 9)
for i, j, s, p in grid(2, 9, 2, 8):
  y[i + s, j] += i32(x[i, p]) * i32(w[s, p, j])
"""


@cache
def chained() -> Hardware:
    """Sums pass a memory in and out, and its unit brings them and takes them out."""
    return load_hardware(MACHINES / "chained_sums.yaml")


@cache
def in_memory() -> Hardware:
    """One unit brings sums, a second adds, a third takes them out."""
    return load_hardware(MACHINES / "in_memory.yaml")


def with_channels(hw: Hardware, *ends: tuple[str, str]) -> Hardware:
    """With more channels between units."""
    more = (
        replace(hw.channels[0], name="_to_".join(pair), source_unit=pair[0], target_unit=pair[1])
        for pair in ends
    )
    return replace(hw, channels=(*hw.channels, *more))


def by_feed() -> Hardware:
    """The unit that takes sums out of the chip fetches them, too; two others lie between."""
    hw = moved(chained(), {"load_sums": "feed", "fetch_sums": "store"})
    ways = (("vector", "feed"), ("store", "feed"), ("feed", "store"))
    return with_channels(hw, *ways)


def one_queue() -> Hardware:
    """All that is loaded and stored is one unit's."""
    return moved(in_memory(), {"store_sums": "in"})


def cleared() -> Hardware:
    """Sums begin at zero, which the unit writes that takes them out."""
    return moved(chained(), {"clear": "vector"})


def own() -> Hardware:
    """The computing unit brings sums, two others take them out."""
    found = []
    for rule in chained().instructions:
        if rule.name == "fetch_sums":
            source, target = rule.operands
            align = chained().memory("l0c").granule_bytes
            target = replace(target, memory="l0c", align_bytes=align)
            rule = replace(rule, unit="cube", operands=(source, target))
        if rule.name != "load_sums":
            found.append(rule)
    return replace(chained(), instructions=tuple(found))


def product(hw: Hardware, m: int, n: int, k: int) -> Kernel:
    """A product that is added to what is there, or begins at zero where another unit clears."""
    sizes = {"m": m, "n": n, "k": k}
    if hw.instruction("clear").unit == hw.instruction("multiply").unit:
        return kernel("gemm", "gemm", tuple(sizes.items()))
    return load_kernel(SHORT, sizes, "fresh_product")


def random_case(
    hw: Hardware, seed: int, *, is_odd: bool = True
) -> tuple[Kernel, Covering, Tiling, Hardware]:
    """A legal tiling on a machine with all or little of its memory and channels; `is_odd`: also one
    that no solver would try."""
    generator = random.Random(f"ring {seed}")

    def draw() -> tuple[Kernel, Covering, Tiling, Hardware] | None:
        subject = product(hw, *(generator.choice(SIZES) for _ in "mnk"))
        covering = generator.choice(list(islice(coverings(subject, hw, []), 2)))
        less = with_any_memory(hw, covering, generator)
        depth = generator.choice((2, 8) if hw.name == one_queue().name else (1, 2, 8))
        less = replace(less, channels=tuple(replace(c, depth=depth) for c in less.channels))
        tiling = random_legal_tiling(covering, less, generator, any_tile=is_odd, attempts=20)
        return None if tiling is None else (subject, covering, tiling, less)

    return draw_until_found(draw)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("make", [chained, in_memory, by_feed, one_queue, cleared, own])
def test_random_tilings_add_to_what_is_there(make: Make, seed: int) -> None:
    assert_correct(*random_case(make(), seed))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("make", [chained, in_memory, by_feed])
def test_the_model_prices_rings_like_the_closed_form(make: Make, seed: int) -> None:
    _, covering, tiling, hw = random_case(make(), seed, is_odd=False)
    work = count_work(covering, hw)
    found = model_cycles(covering, work, hw, tiling)
    if found is None:  # a second slot that is not offered
        assert 2 in {stay.slots for stay in tiling.stays}
        return
    expected = estimate(covering, work, tiling, hw).cycles
    assert abs(found - expected) <= 1 + len(work.flows), str(tiling)


@pytest.mark.parametrize("sizes", [(13, 17, 19), (32, 32, 32), (5, 101, 3), (61, 1, 99)])
@pytest.mark.parametrize(("make", "share"), [(chained, 0.1), (in_memory, 0.125)])
def test_the_closed_form_is_near_what_is_emulated(
    make: Make, share: float, sizes: tuple[int, int, int]
) -> None:
    """Of the schedules that it chooses."""
    best = find_schedule(product(make(), *sizes), make(), Wishes(time_limit_s=10)).best
    emulated = time_program(best.program, make(), compiled=False).cycles
    assert abs(best.solution.cycles - emulated) <= share * emulated


@pytest.mark.parametrize("make", [chained, in_memory, by_feed])
def test_two_tiles_of_sums_hide_what_is_moved_behind_the_computation(make: Make) -> None:
    hw = make()
    subject = product(hw, 16, 16, 64)
    covering = next(coverings(subject, hw, []))
    cycles = []
    for slots in (1, 2):
        stays = tuple(
            Stay(plan.name, number, 1, slots if plan.is_output else 2)
            for plan in covering.operands
            for number in range(len(plan.residences))
        )
        order = tuple(loop.name for loop in covering.loops)
        tiles = tuple((loop.name, 1 if loop.name == "j" else 2) for loop in covering.loops)
        program = lower(covering, Tiling(tiles, order, order, stays), hw)
        assert program is not None
        cycles.append(time_program(program, hw, compiled=False).cycles)
    assert cycles[1] < cycles[0]


@pytest.mark.parametrize(("make", "num_needed"), [(chained, 6), (in_memory, 3)])
def test_each_push_is_needed(make: Make, num_needed: int) -> None:
    """Some credits are never waited for: others are slower."""
    hw = make()
    program = find_schedule(product(hw, 9, 10, 17), hw, Wishes(time_limit_s=5)).best.program
    counts = rules_without_one_token(program, hw)
    assert counts["pops", "hazard"] >= num_needed, counts
    assert counts["pushes", "deadlock"] > counts["pushes", "none"], counts
    assert not counts["pushes", "hazard"], counts


def reason(hw: Hardware, *, name: str = "gemm") -> str:
    """Why the result of the first covering cannot be put in order."""
    covering = next(coverings(kernel("gemm", name, (("m", 9), ("n", 9), ("k", 9))), hw, []))
    found = {why_unordered(covering, plan, hw) for plan in covering.operands if plan.is_output}
    return found.pop()


def without_channel(hw: Hardware, source: str, target: str) -> Hardware:
    ends = source, target
    left = (c for c in hw.channels if (c.source_unit, c.target_unit) != ends)
    return replace(hw, channels=tuple(left))


def test_what_no_token_orders_is_refused_with_a_reason() -> None:
    no_credits = without_channel(in_memory(), "out", "in")
    expected = "load_sums fills the output C on unit 'in', and no token channel leads from unit"
    assert reason(no_credits) == expected + " 'out' to unit 'in'"
    crowded = moved(chained(), {"fetch_sums": "store"})
    assert "in more ways than the tokens between them can tell apart" in reason(crowded)
    assert reason(in_memory()) == reason(chained()) == ""


def test_the_host_adds_what_no_unit_may_bring() -> None:
    hw = without_channel(in_memory(), "out", "in")
    found = isamap.map(product(hw, 9, 9, 9), hw, verify="full", time_limit_s=3)
    assert isinstance(found, isamap.PlanResult)
    assert {task.on_host for task in found.plan.tasks} == {True, False}
    assert found.verification.is_verified, found.verification.failure


def test_one_credit_or_a_queue_that_tells_in_its_channel_is_one_slot() -> None:
    """Where the next sums cannot come before those of before are out, or their place is free."""
    shallow = replace(
        in_memory(), channels=tuple(replace(c, depth=1) for c in in_memory().channels)
    )
    for hw, slots in ((in_memory(), (1, 2)), (shallow, (1,)), (one_queue(), (1,))):
        covering = next(coverings(product(hw, 9, 9, 9), hw, []))
        plan = next(plan for plan in covering.operands if plan.is_output)
        assert slot_options(covering, count_work(covering, hw), plan, 0, hw) == slots
        assert not drains_late(covering, (plan.name, 0), hw)


@pytest.mark.parametrize("make", [chained, own])
def test_sums_that_pass_a_memory_are_not_read_back_unfinished(make: Make) -> None:
    """No token says that they have arrived in the external memory."""
    for hw, is_whole in ((make(), True), (in_memory(), False)):
        covering = next(coverings(product(hw, 9, 9, 9), hw, []))
        assert [must_stay_whole(p) for p in covering.operands if p.is_output] == [is_whole]


@pytest.mark.parametrize("make", [chained, own])
def test_tiles_with_elements_in_common_pass_no_memory(make: Make) -> None:
    """The next tile would be brought before the one before has arrived outside."""
    found = isamap.map(parse_semantics(SCATTERED, "scattered"), make(), verify="full", effort=0.1)
    assert found.verification.is_verified, found.verification.failure


@pytest.mark.parametrize("make", [chained, in_memory])
def test_tasks_wait_for_the_last_sums(make: Make) -> None:
    found = isamap.map(parse_semantics(TWICE, "twice"), make(), verify="full", time_limit_s=3)
    assert isinstance(found, isamap.PlanResult)
    assert found.verification.is_verified, found.verification.failure
    assert any(not task.on_host for task in found.plan.tasks)


def test_coverings_whose_tokens_have_no_channel_leave_the_others() -> None:
    """Stores alone would copy what the first unit brings, and cannot tell it when."""
    hw = chained()
    assert hw.channel("store", "fetch") is None
    copy = "S, D = In(i32, 4, 5), Out(i32, 4, 5)\nfor i, j in grid(4, 5):\n  D[i, j] = S[i, j]"
    found = isamap.map(parse_semantics(copy, "copy"), hw, verify="full", time_limit_s=3)
    assert isinstance(found, isamap.Result), "not left to the host"
    assert found.verification.is_verified, found.verification.failure
