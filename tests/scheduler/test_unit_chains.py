"""Data that pass several units on their way are in order by tokens alone.

In: random tilings and plans for a machine of five units in a row, machines whose units do more than
one thing. Out: failures. Not its job: a single compute unit in the middle (`test_tokens`).
"""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

import isamap
from isamap.costmodels import (
    Exchange,
    Stay,
    Tiling,
    count_work,
    estimate,
    least_costs,
    order_places,
)
from isamap.emulator import time_program
from isamap.errors import MappingError, ProgramError
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Kernel, load_kernel, parse_semantics
from isamap.mapper import Covering, coverings
from isamap.scheduler import Wishes, find_schedule, lower
from isamap.scheduler.legality import is_legal
from isamap.scheduler.options import slot_options
from tests.scheduler.execution import assert_correct
from tests.scheduler.exhaustive import model_cycles
from tests.scheduler.test_tokens import rules_without_one_token, without_tokens
from tests.scheduler.tilings import draw_until_found, random_legal_tiling, with_any_memory

TESTS = Path(__file__).parents[1]
SHORT = TESTS / "specs" / "short_kernels.py"
SIZES = (1, 2, 3, 5, 7, 9, 13, 17)
TWO_LAYERS = """
A, B, C, D = In(i8, 7, 11), In(i8, 11, 5), In(i8, 5, 6), Out(i8, 7, 6)
S, U, T = Temp(i32, 7, 5), Temp(i8, 7, 5), Temp(i32, 7, 6)
for i, j, k in grid(7, 5, 11):
  S[i, j] += i32(A[i, k]) * i32(B[k, j])
for i, j in grid(7, 5):
  U[i, j] = sat_i8(rshift_round(S[i, j], 4))
for i, j, k in grid(7, 6, 5):
  T[i, j] += i32(U[i, k]) * i32(C[k, j])
for i, j in grid(7, 6):
  D[i, j] = sat_i8(rshift_round(T[i, j], 3))
"""
IN_STEPS = """
A, B, D, T = In(i8, 3, 5, 7), In(i8, 7, 6), Out(i8, 3, 5, 6), Temp(i32, 3, 5, 6)
for t in range(3):
  for i, j, k in grid(5, 6, 7):
    T[t, i, j] += i32(A[t, i, k]) * i32(B[k, j])
  for i, j in grid(5, 6):
    D[t, i, j] = sat_i8(rshift_round(T[t, i, j], 4))
"""


@cache
def chain() -> Hardware:
    """A machine of five units in a row, and a host."""
    return load_hardware(TESTS / "specs" / "machines" / "unit_chain.yaml")


@cache
def one_dma() -> Hardware:
    """A machine whose loads and stores are one unit's."""
    hw = load_hardware(TESTS / "codegen" / "scratch.yaml")
    return moved(hw, {"store": "load"})


def moved(hw: Hardware, units: dict[str, str]) -> Hardware:
    """The machine with some instructions on other units."""
    instructions = (replace(i, unit=units.get(i.name, i.unit)) for i in hw.instructions)
    return replace(hw, instructions=tuple(instructions))


def product(m: int, n: int, k: int) -> Kernel:
    """A product that begins at zero."""
    return load_kernel(SHORT, {"m": m, "n": n, "k": k}, "fresh_product")


def random_case(
    hw: Hardware, seed: int, *, is_odd: bool = True
) -> tuple[Kernel, Covering, Tiling, Hardware]:
    """A legal tiling of a product on a machine with all or little of its memory and channels;
    `is_odd`: also one that no solver would try."""
    generator = random.Random(f"chain {seed}")

    def draw() -> tuple[Kernel, Covering, Tiling, Hardware] | None:
        kernel = product(*(generator.choice(SIZES) for _ in "mnk"))
        covering = generator.choice(list(islice(coverings(kernel, hw, []), 2)))
        less = with_any_memory(hw, covering, generator)
        depth = generator.choice((1, 2, 8) if hw is chain() else (2, 8))
        less = replace(less, channels=tuple(replace(c, depth=depth) for c in less.channels))
        any_kept = is_odd and generator.random() < 0.3
        tiling = random_legal_tiling(
            covering, less, generator, any_tile=is_odd, any_kept=any_kept, attempts=20
        )
        return None if tiling is None else (kernel, covering, tiling, less)

    return draw_until_found(draw)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("make", [chain, one_dma])
def test_random_tilings_compute_the_product(make: Callable[[], Hardware], seed: int) -> None:
    assert_correct(*random_case(make(), seed))


@pytest.mark.parametrize("seed", range(10))
def test_the_model_prices_chains_like_the_closed_form(seed: int) -> None:
    _, covering, tiling, hw = random_case(chain(), seed, is_odd=False)
    work = count_work(covering, hw)
    expected = estimate(covering, work, tiling, hw)
    found = model_cycles(covering, work, hw, tiling)
    assert found is not None
    assert abs(found - expected.cycles) <= 1 + len(work.flows), str(tiling)
    least = least_costs(covering, work, hw)
    assert least.at_least(expected.costs(hw)) == expected.costs(hw), str(tiling)


@pytest.mark.parametrize("sizes", [(7, 5, 6), (13, 17, 19), (32, 32, 32), (5, 101, 3), (61, 1, 99)])
def test_the_closed_form_is_near_what_is_emulated(sizes: tuple[int, int, int]) -> None:
    """Of the schedules that it chooses."""
    best = find_schedule(product(*sizes), chain(), Wishes(time_limit_s=10)).best
    emulated = time_program(best.program, chain(), compiled=False).cycles
    assert abs(best.solution.cycles - emulated) <= 0.1 * emulated


def test_with_one_credit_a_second_slot_is_not_offered() -> None:
    hw = one_dma()
    covering = next(coverings(product(9, 9, 9), hw, []))
    work = count_work(covering, hw)
    assert {slot_options(covering, work, plan, 0, hw) for plan in covering.operands} == {(1,)}


def test_each_push_is_needed_and_without_tokens_units_overtake_each_other() -> None:
    """Some credits are never waited for: others are slower."""
    hw = chain()
    kernel = product(21, 14, 33)
    covering = next(coverings(kernel, hw, []))
    stays = tuple(
        Stay(plan.name, number, 1, 2)
        for plan in covering.operands
        for number in range(len(plan.residences))
    )
    order = ("i", "j", "p")
    tiling = Tiling((("i", 2), ("j", 2), ("p", 3)), order, order, stays)
    program = lower(covering, tiling, hw)
    assert program is not None
    counts = rules_without_one_token(program, hw)
    assert not {rule for field, rule in counts if field == "pushes"} - {"deadlock"}
    assert counts["pops", "hazard"] >= 6, "each of the ways on, and credits"
    with pytest.raises(ProgramError, match="hazard"):
        bare = replace(program, body=without_tokens(program.body))
        time_program(bare, hw, compiled=False)


@pytest.mark.parametrize("text", [TWO_LAYERS, IN_STEPS], ids=["two layers", "in steps"])
@pytest.mark.parametrize("share", [1, 4])
def test_tasks_wait_for_the_last_unit_of_the_chain(text: str, share: int) -> None:
    """What a task writes lies in the external memory before the next one reads it."""
    hw = chain()
    memories = (
        replace(m, size_bytes=m.size_bytes // share) if m.name != "dram" else m for m in hw.memories
    )
    less = replace(hw, memories=tuple(memories))
    found = isamap.map(parse_semantics(text, "tasks"), less, verify="full", time_limit_s=3)
    assert isinstance(found, isamap.PlanResult)
    assert not any(task.on_host for task in found.plan.tasks)
    assert found.verification.is_verified, found.verification.failure


def test_tokens_that_cannot_be_told_apart_are_refused() -> None:
    """The vector unit hands tiles back to the one that it has them from."""
    back = moved(chain(), {"store_sums": "cube"})
    with pytest.raises(MappingError, match="in more ways than the tokens between them") as caught:
        find_schedule(product(9, 9, 9), replace(back, host=None), Wishes(time_limit_s=1))
    assert "'cube' and 'vector'" in caught.value.message


def test_a_channel_that_is_missing_is_named() -> None:
    less = replace(chain(), channels=tuple(c for c in chain().channels if c.name != "feed_to_cube"))
    with pytest.raises(MappingError, match="no token channel from unit feed to unit cube"):
        find_schedule(product(9, 9, 9), less, Wishes(time_limit_s=1))


def test_places_are_filled_behind_all_that_is_handed_over_with_their_sources() -> None:
    both = Exchange("fetch", "feed", False, False, (("A", 1), ("B", 1)))
    places = (("A", 0), ("A", 1), ("B", 0), ("B", 1))
    expected = (("A", 1), ("B", 1), ("A", 0), ("B", 0))
    assert order_places((both,), places) == expected
    assert order_places((), places) == (("A", 1), ("A", 0), ("B", 1), ("B", 0))


def test_places_that_wait_for_each_other_have_no_order() -> None:
    one = Exchange("x", "y", False, False, (("A", 2), ("B", 1)))
    other = Exchange("y", "x", False, False, (("A", 1), ("B", 2)))
    places = [(operand, number) for operand in "AB" for number in range(3)]
    assert set(order_places((one, other), places)) == {("A", 2), ("B", 2)}


def test_the_model_keeps_in_inner_memories_only_what_the_next_one_keeps() -> None:
    hw = chain()
    covering = next(coverings(product(9, 9, 9), hw, []))
    for kept, is_right in (((), False), (("p",), True)):
        stays = tuple(
            Stay(plan.name, n, 1, 1, ("p",) if n == 0 else kept)
            if not plan.is_output
            else Stay(plan.name, n, 1, 1)
            for plan in covering.operands
            for n in range(len(plan.residences))
        )
        order = ("i", "j", "p")
        tiling = Tiling((("i", 1), ("j", 1), ("p", 1)), order, order, stays)
        assert is_legal(covering, tiling, hw) is is_right
        found = model_cycles(covering, count_work(covering, hw), hw, tiling)
        assert (found is not None) is is_right
