"""Short last tiles and resumed sums: where slots must take turns, what fetches cost.

In: hand-made tilings of matrix products on Gemmini. Out: failures of the closed form against the
emulator. Not its job: which tiling is best.
"""

import pytest

from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.emulator import time_program
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings
from isamap.scheduler.legality import is_legal
from isamap.scheduler.lower import lower
from tests.scheduler.cases import machine

GEMMINI = machine("gemmini")
DIM = 16


def covering_of(i: int, j: int, p: int) -> Covering:
    """The natural covering of a product of so many units along i, j and p."""
    kernel = load_kernel("kernels/gemm.py", {"m": DIM * i, "n": DIM * j, "k": DIM * p}, "gemm")
    return next(coverings(kernel, GEMMINI, []))


def tiling(i: int, j: int, p: int, inner: str, kept: tuple[str, ...] = ()) -> Tiling:
    """Two slots everywhere, weights block by block, the tiles of A along `kept` side by side."""
    stays = (
        Stay("A", 0, 1, 2, kept), Stay("W", 0, 0, 2), Stay("W", 1, 1, 2), Stay("C", 0, 1, 2),
    )  # fmt: skip
    return Tiling((("i", i), ("j", j), ("p", p)), ("i", "j", "p"), tuple(inner), stays)


def cycles(covering: Covering, chosen: Tiling) -> tuple[int, int]:
    """Of the closed form and of the emulator."""
    program = lower(covering, chosen, GEMMINI)
    assert program is not None
    expected = estimate(covering, count_work(covering, GEMMINI), chosen, GEMMINI).cycles
    return expected, time_program(program, GEMMINI).cycles


@pytest.mark.parametrize(
    ("tile_p", "inner", "takes_turns"),
    [(5, "jpi", False), (4, "jpi", True), (5, "pji", False), (4, "pji", False)],
)
def test_two_slots_take_turns_around_a_short_tile(
    tile_p: int, inner: str, takes_turns: bool
) -> None:
    # The last of three columns leaves one unit: 1 missing, times tile_p where p lies inside j.
    assert is_legal(covering_of(8, 3, 20), tiling(4, 2, tile_p, inner), GEMMINI) == takes_turns


def test_slots_that_do_not_take_turns_are_slower() -> None:
    covering = covering_of(8, 15, 40)
    _, colliding = cycles(covering, tiling(8, 2, 5, "jpi", ("p",)))
    _, in_turn = cycles(covering, tiling(8, 2, 8, "jpi", ("p",)))
    assert in_turn < colliding  # although its first tile is larger


def test_a_resumed_sum_is_priced_as_the_emulator_times_it() -> None:
    covering = covering_of(16, 16, 32)
    tiles = (("i", 2), ("j", 2), ("p", 10))
    stays = (
        Stay("A", 0, 1, 2), Stay("W", 0, 0, 2), Stay("W", 1, 1, 1, ("j",)), Stay("C", 0, 1, 2),
    )  # fmt: skip
    expected, emulated = cycles(covering, Tiling(tiles, ("p", "i", "j"), tuple("pji"), stays))
    # Three times the sum resumes; each time some 370 cycles, 0.26 % of the whole, are not hidden.
    assert expected == pytest.approx(emulated, rel=0.001)
