"""Single blocks in more than two slots, where their fetch takes longer than the calls on one.

In: products on a machine whose blocks pass two memories on chip. Out: failures. Not its job: two
slots (`test_short_tiles`).
"""

import random
from pathlib import Path

import pytest

from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.emulator import time_program
from isamap.hwdesc import load_hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings
from isamap.scheduler import find_schedule
from isamap.scheduler.legality import breaches, is_legal
from isamap.scheduler.lower import lower
from isamap.scheduler.options import slot_options
from tests.scheduler.execution import assert_correct
from tests.scheduler.exhaustive import model_cycles
from tests.scheduler.small import Case, compare
from tests.scheduler.tilings import random_legal_tiling, with_less_memory

HW = load_hardware(Path(__file__).parent.parent / "specs" / "machines" / "far_memory.yaml")
DIM = 16


def covering_of(m: int, n: int, k: int) -> Covering:
    """The natural covering of a product of these sizes."""
    kernel = load_kernel("kernels/gemm.py", {"m": m, "n": n, "k": k}, "gemm")
    return next(coverings(kernel, HW, []))


def tiling(slots: int, tiles: tuple[int, int, int], inner: str = "pji") -> Tiling:
    """Blocks of both factors in so many slots."""
    stays = (
        Stay("A", 0, 0, slots), Stay("A", 1, 1, 2), Stay("W", 0, 0, slots), Stay("W", 1, 1, 2),
        Stay("C", 0, 1, 2),
    )  # fmt: skip
    return Tiling(tuple(zip("ijp", tiles, strict=True)), ("j", "i", "p"), tuple(inner), stays)


def emulated(covering: Covering, chosen: Tiling) -> int:
    """Cycles that the emulator counts."""
    program = lower(covering, chosen, HW)
    assert program is not None
    return time_program(program, HW).cycles


def test_as_many_slots_are_tried_as_hide_a_fetch() -> None:
    # 36 cycles from the start of a fetch, 16 of a call: three calls on other blocks hide it.
    covering = covering_of(64, 64, 64)
    work = count_work(covering, HW)
    tried = {
        (plan.name, number): slot_options(covering, work, plan, number, HW)
        for plan in covering.operands
        for number in range(len(plan.residences))
    }
    few, many = (1, 2), (1, 2, 4)
    assert tried == {("A", 0): many, ("A", 1): few, ("W", 0): many, ("W", 1): few, ("C", 0): few}
    small = with_less_memory(HW, covering, {"near": 3})
    assert slot_options(covering, work, covering.operand("A"), 0, small) == many  # 6 blocks of both


@pytest.mark.parametrize("slots", [3, 4])
def test_more_slots_save_what_the_emulator_says(slots: int) -> None:
    covering = covering_of(256, 256, 256)
    work = count_work(covering, HW)
    few, more = tiling(2, (4, 2, 4)), tiling(slots, (4, 2, 4))
    assert is_legal(covering, more, HW)
    expected = estimate(covering, work, few, HW).cycles - estimate(covering, work, more, HW).cycles
    assert expected == pytest.approx(emulated(covering, few) - emulated(covering, more), rel=0.01)


def test_fetches_of_blocks_hide_behind_the_calls() -> None:
    kernel = load_kernel("kernels/gemm.py", {"m": 256, "n": 256, "k": 256}, "gemm")
    found = find_schedule(kernel, HW)
    calls = (256 // DIM) ** 3 * DIM  # cycles; with two slots two thirds as many again are waited
    assert calls <= time_program(found.program, HW).cycles <= 1.02 * calls
    assert found.bound_cycles <= found.best.estimate.cycles


def test_slots_do_not_take_turns_around_a_short_tile() -> None:
    covering = covering_of(9 * DIM, 2 * DIM, 4 * DIM)  # 9 blocks of i: two tiles of 5 lack one
    assert is_legal(covering, tiling(3, (3, 2, 4)), HW)
    broken = [b.message for b in breaches(covering, tiling(4, (5, 2, 4)), HW)]
    assert broken == ["4 slots of single blocks of A do not take turns around shorter tiles"]


@pytest.mark.parametrize(
    ("sizes", "blocks"),
    [
        ((32, 16, 48), (8, 4, 8)),
        ((11, 48, 27), (8, 1, 1)),
        ((48, 32, 16), (2, 8, 4)),
        ((32, 27, 16), (1, 4, 1)),
        ((48, 16, 32), (3, 8, 4)),  # one of the factors may have four, the other one two
        ((16, 48, 32), (3, 8, 4)),
    ],
)
def test_nothing_found_by_trying_all_is_better(
    sizes: tuple[int, int, int], blocks: tuple[int, int, int]
) -> None:
    covering = covering_of(*sizes)
    room = dict(zip(("near", "large", "acc"), blocks, strict=True))
    case = Case(covering, with_less_memory(HW, covering, room), f"{sizes} {room}")
    both = compare(case, solve_limit_s=60)
    assert both is not None and both.best is not None
    assert both.solution.value <= both.best + 1, both.best_text
    assert both.solution.bound <= both.best + 1


@pytest.mark.parametrize("seed", range(12))
def test_the_model_prices_and_allows_random_tilings_as_the_closed_form_does(seed: int) -> None:
    generator = random.Random(seed)
    sizes = [DIM * generator.randint(1, 6) - generator.choice((0, 3)) for _ in range(3)]
    covering = covering_of(*sizes)
    chosen = random_legal_tiling(covering, HW, generator, any_tile=False)
    assert chosen is not None
    work = count_work(covering, HW)
    priced = model_cycles(covering, work, HW, chosen)
    expected = estimate(covering, work, chosen, HW).cycles
    assert priced is not None
    # both round up: the model each flow's share, the closed form the sum
    assert abs(priced - expected) <= 1 + len(work.flows), chosen
    assert_correct(covering.kernel, covering, chosen, HW)
