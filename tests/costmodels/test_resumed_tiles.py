"""What tiles of sums wait for that are loaded, added to and stored again.

Oracle: addresses written out one by one, tiles and stores counted by hand.
"""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.costmodels.caches import refill_cycles
from isamap.costmodels.missing_share import missing_share
from isamap.costmodels.resumed_tiles import is_aliased
from isamap.hwdesc import Hardware, load_hardware
from isamap.resources import find_hardware
from tests.costmodels.test_caches import along_rows
from tests.costmodels.test_lost_lines import with_cache

STAYS = (Stay("A", 0, 0, 1), Stay("B", 0, 0, 1), Stay("C", 0, 1, 1))


def nearest(**changed: float) -> Hardware:
    """A processor of whose nearest cache none of this is said, but for what is given."""
    nothing = {"crowded_cycles": 0.0, "aliased_cycles": 0.0, "stores_shown_share": 0.0}
    return with_cache(load_hardware(find_hardware("x86_avx2")), "l1", **(nothing | changed))


def waits(hw: Hardware, sizes: tuple[int, int, int], tiling: Tiling) -> float:
    covering = along_rows(hw, "fma_f32", sizes)
    return refill_cycles(covering, tiling, hw)[0].waiting_cycles


@given(
    dims=st.lists(st.tuples(st.integers(1, 6000), st.integers(2, 5)), max_size=2),
    width=st.integers(1, 24),
    step=st.integers(1, 20000),
)
def test_bytes_of_one_tile_and_the_next_are_compared_in_their_lowest_bits(
    dims: list[tuple[int, int]], width: int, step: int
) -> None:
    rows = [sum(at) for at in product(*(range(0, s * n, s) for s, n in dims), range(width))]
    before, after = ({(row + by) % 4096 for row in rows} for by in (0, step))
    told = is_aliased(tuple(sorted(((1, width), *dims))), 1, step)
    if all(stride > 24 for stride, _ in dims):  # no row runs on into the next one
        assert told == bool(before & after)
    else:
        assert told or not before & after


@pytest.mark.parametrize(
    ("n", "outer", "expected"),
    [
        (1024, "pji", 10),  # the next four rows lie 16 KiB further on
        (1024, "pij", 0),  # the next columns lie beside these
        (1040, "pji", 0),
        (1000, "pij", 10),  # rows 96 bytes short of 4 KiB apart, columns 64 further on
    ],
)
def test_tiles_that_look_like_the_one_stored_before_wait(n: int, outer: str, expected: int) -> None:
    tiling = Tiling((("i", 4), ("j", 2), ("p", 16)), tuple(outer), tuple("pij"), STAYS)
    sizes = (64, n, 256)
    more = waits(nearest(aliased_cycles=10.0), sizes, tiling) - waits(nearest(), sizes, tiling)
    assert more == pytest.approx(expected * 16 * 16 * n / 16)


@pytest.mark.parametrize(("n", "ways"), [(4096, 24), (1040, 0)])
def test_rows_that_share_sets_are_driven_out_before_they_are_used(n: int, ways: int) -> None:
    """Tiles that read 24 rows of B of a line each: 16 KiB apart they are in one set of 8 lines,
    4160 bytes apart in as many sets."""
    tiling = Tiling((("i", 6), ("j", 2), ("p", 24)), tuple("pij"), tuple("pij"), STAYS)
    sizes = (48, n, 240)
    more = waits(nearest(crowded_cycles=3.0), sizes, tiling) - waits(nearest(), sizes, tiling)
    share = missing_share(ways / 8) if ways else 0.0
    assert more == pytest.approx(3.0 * share * 24 * 8 * 10 * n / 16, rel=0.1)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_a_share_of_storing_sums_adds_to_computing(share: float) -> None:
    """Tiles of 12 vectors, each loaded and stored 16 times, one a cycle."""
    tiling = Tiling((("i", 6), ("j", 2), ("p", 16)), tuple("pij"), tuple("pij"), STAYS)
    cycles = []
    for hw in (nearest(), nearest(stores_shown_share=share)):
        covering = along_rows(hw, "fma_f32", (48, 1040, 256), name="sgemm_adds")
        cycles.append(estimate(covering, count_work(covering, hw), tiling, hw).cycles)
    stores = 48 * 130 * 16
    assert cycles[1] - cycles[0] == pytest.approx(share * stores * 1.125, rel=0.15)
