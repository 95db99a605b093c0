"""Tiles in memories inside other memories, of another size there.

In: products on machines whose blocks pass two or three memories on chip. Out: failures. Not its
job: single blocks there (`test_deep_slots`).
"""

import random
from pathlib import Path

import pytest

from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.emulator import time_program
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings
from isamap.scheduler import find_schedule
from isamap.scheduler.legality import breaches, is_legal
from isamap.scheduler.lower import lower
from isamap.scheduler.options import level_options
from tests.scheduler.cases import first_coverings, machine
from tests.scheduler.execution import assert_correct
from tests.scheduler.exhaustive import model_cycles
from tests.scheduler.small import Case, compare
from tests.scheduler.tilings import random_legal_tiling, with_less_memory

FOLDER = Path(__file__).parent.parent / "specs" / "machines"
HW = load_hardware(FOLDER / "two_scratchpads.yaml")
THREE = load_hardware(FOLDER / "three_in_a_row.yaml")
DIM = {HW.name: 16, THREE.name: 6}
# blocks of a product whose whole space takes less than seconds to search
SMALL = {HW.name: ((1, 2, 3), (3, 1, 2), (2, 3, 1), (2, 1, 2)), THREE.name: ((1, 1, 2), (1, 2, 1))}


def covering_of(hw: Hardware, m: int, n: int, k: int) -> Covering:
    """The natural covering of a product of these sizes."""
    kernel = load_kernel("kernels/gemm.py", {"m": m, "n": n, "k": k}, "gemm")
    return next(coverings(kernel, hw, []))


def tiling(inner_level: int, kept: str = "", kept_inside: str = "") -> Tiling:
    """A and W in both scratchpads; W keeps tiles of the loops named in `kept`."""
    stays = (
        Stay("A", 0, inner_level, 2), Stay("A", 1, 1, 2, ("p",)),
        Stay("W", 0, inner_level, 2, tuple(kept_inside)), Stay("W", 1, 1, 1, tuple(kept)),
        Stay("C", 0, 1, 2),
    )  # fmt: skip
    return Tiling((("i", 4), ("j", 2), ("p", 4)), ("i", "j", "p"), tuple("pij"), stays)


def emulated(covering: Covering, chosen: Tiling) -> int:
    """Cycles that the emulator counts."""
    program = lower(covering, chosen, HW)
    assert program is not None
    return time_program(program, HW).cycles


def test_inner_memories_with_room_for_several_blocks_may_hold_tiles_of_inputs() -> None:
    covering = covering_of(HW, 64, 64, 64)
    found = {p.name: level_options(covering, p, HW) for p in covering.operands}
    assert found == {"A": ((1, 1), (0, 1)), "W": ((1, 1), (0, 1)), "C": ((1,),)}
    small = with_less_memory(HW, covering, {"small": 2})
    assert level_options(covering, covering.operand("A"), small) == ((0, 1),)
    three = covering_of(THREE, 13, 9, 11)
    assert level_options(three, three.operand("x"), THREE) == ((1, 1, 1), (0, 1, 1), (0, 0, 1))


def test_registers_for_one_block_hold_no_tiles() -> None:
    sizes = (("m", 64), ("n", 64), ("k", 64))
    covering = first_coverings("gemm", "gemm", sizes, "gemmini", 1)[0]
    weights = covering.operand("W")
    assert [r.memory for r in weights.residences] == ["weights", "scratchpad"]
    assert level_options(covering, weights, machine("gemmini")) == ((0, 1),)


def test_what_an_inner_memory_keeps_the_one_outside_keeps_too() -> None:
    covering = covering_of(HW, 256, 256, 256)
    assert next(breaches(covering, tiling(1, kept="jp", kept_inside="p"), HW), None) is None
    broken = [(b.residence, b.message) for b in breaches(covering, tiling(1, "", "p"), HW)]
    assert broken == [(0, "W keeps tiles of p that the memory outside replaces")]


def test_tiles_inside_save_what_the_emulator_says() -> None:
    """A tile of each comes once, where single blocks of one of them come once per call."""
    covering = covering_of(HW, 256, 256, 2048)
    work = count_work(covering, HW)
    for kept in ("p", "jp"):
        blocks, tiles = tiling(0, kept), tiling(1, kept)
        assert is_legal(covering, tiles, HW)
        counted = emulated(covering, tiles)
        assert counted < 0.9 * emulated(covering, blocks)
        assert estimate(covering, work, tiles, HW).cycles == pytest.approx(counted, rel=0.1)


def test_a_tile_waits_where_its_queue_brings_single_blocks_too() -> None:
    """Eight blocks of A per sweep come in twice the time of the calls on them, and the queue has
    one block of W ahead: an eighth more than without the wait, of which the emulator sees a third,
    as A stands before W."""
    covering = covering_of(HW, 512, 512, 2048)
    stays = (
        Stay("A", 0, 1, 1), Stay("A", 1, 1, 1, ("p",)),
        Stay("W", 0, 0, 2), Stay("W", 1, 1, 2), Stay("C", 0, 1, 1),
    )  # fmt: skip
    chosen = Tiling((("i", 8), ("j", 4), ("p", 4)), ("i", "j", "p"), tuple("pji"), stays)
    work = count_work(covering, HW)
    counted = emulated(covering, chosen)
    assert estimate(covering, work, chosen, HW).cycles == pytest.approx(counted, rel=0.09)


def test_what_a_queue_brings_once_in_many_turns_of_sums_comes_on_top() -> None:
    """Two places of sums take turns, and the link that fills them also brings rows of A in the
    first sweep over them, columns of W at the first of each: without that the closed form is
    13 % low, and takes this for the best."""
    covering = covering_of(HW, 484, 832, 318)
    stays = (
        Stay("A", 0, 0, 2), Stay("A", 1, 1, 1, ("i",)),
        Stay("W", 0, 1, 1), Stay("W", 1, 1, 1, ("j",)), Stay("C", 0, 1, 2),
    )  # fmt: skip
    chosen = Tiling((("i", 1), ("j", 3), ("p", 20)), ("j", "i", "p"), tuple("pji"), stays)
    work = count_work(covering, HW)
    counted = emulated(covering, chosen)
    assert estimate(covering, work, chosen, HW).cycles == pytest.approx(counted, rel=0.07)
    found = find_schedule(covering.kernel, HW)
    assert time_program(found.program, HW).cycles < 0.9 * counted


@pytest.mark.parametrize(
    ("hw", "seed"), [*((HW, seed) for seed in range(6)), (THREE, 1)],
    ids=lambda x: x.name if isinstance(x, Hardware) else str(x),
)  # fmt: skip
def test_nothing_found_by_trying_all_is_better(hw: Hardware, seed: int) -> None:
    generator = random.Random(seed)
    blocks = generator.choice(SMALL[hw.name])
    sizes = [DIM[hw.name] * n - generator.choice((0, 0, 5)) for n in blocks]
    covering = covering_of(hw, *sizes)
    room = {m.name: generator.choice((2, 4, 8)) for m in hw.memories if m.name != "far"}
    case = Case(covering, with_less_memory(hw, covering, room), f"{sizes} {room}")
    both = compare(case, solve_limit_s=60)
    assert both is not None, "too many tilings"
    if both.best is None:
        assert both.solution.tiling is None
        return
    assert both.solution.value <= both.best + 1, both.best_text
    assert both.solution.bound <= both.best + 1


@pytest.mark.parametrize("hw", [HW, THREE], ids=lambda hw: hw.name)
@pytest.mark.parametrize("seed", range(6))
def test_the_model_prices_and_allows_random_tilings_as_the_closed_form_does(
    hw: Hardware, seed: int
) -> None:
    generator = random.Random(seed)
    sizes = [DIM[hw.name] * generator.randint(1, 6) - generator.choice((0, 3)) for _ in range(3)]
    covering = covering_of(hw, *sizes)
    chosen = random_legal_tiling(covering, hw, generator, any_tile=False, attempts=1000)
    assert chosen is not None
    work = count_work(covering, hw)
    priced = model_cycles(covering, work, hw, chosen)
    expected = estimate(covering, work, chosen, hw).cycles
    assert priced is not None, chosen
    # both round up: the model each flow's share, the closed form the sum
    assert abs(priced - expected) <= 1 + len(work.flows), chosen
    assert_correct(covering.kernel, covering, chosen, hw)


def test_blocks_need_not_come_from_the_large_scratchpad_for_every_call() -> None:
    kernel = load_kernel("kernels/gemm.py", {"m": 512, "n": 512, "k": 2048}, "gemm")
    found = find_schedule(kernel, HW)
    calls = 4 * (512 // 16) ** 2 * (2048 // 16)
    cycles = time_program(found.program, HW).cycles
    # blocks alone: one of 256 bytes per call at 32 bytes a cycle, twice as long as the call
    assert calls <= cycles <= 1.4 * calls
    assert found.bound_cycles <= found.best.estimate.cycles
