"""Lines that the first of several rounds waits for.

Oracle: rounds, bytes and cycles counted by hand.
"""

from dataclasses import replace

import pytest

from isamap.costmodels import Stay, Tiling
from isamap.costmodels.caches import refill_cycles
from isamap.costmodels.first_rounds import waited_cycles
from isamap.hwdesc import Hardware, load_hardware
from isamap.resources import find_hardware
from tests.costmodels.test_caches import along_rows
from tests.costmodels.test_lost_lines import with_cache

STAYS = (Stay("A", 0, 0, 1), Stay("B", 0, 0, 1), Stay("C", 0, 1, 1))
KIB = 1024


def machine(rushed: float) -> Hardware:
    """Memory that brings 4 bytes a cycle, behind a cache of 384 KiB that programs ask early."""
    hw = load_hardware(find_hardware("x86_avx2"))
    ports = tuple(replace(port, bytes_per_cycle=4.0) for port in hw.memory("l3").ports)
    hw = with_cache(hw, "l2", size_bytes=384 * KIB)
    plain = {"asked_cycles": 0.0, "strayed_cycles": 0.0, "ways": 0, "left_bytes": 0}
    memories = (
        replace(m, ports=ports, size_bytes=1024 * KIB, rushed_share=rushed, **plain)
        if m.name == "l3"
        else m
        for m in hw.memories
    )
    return replace(hw, memories=tuple(memories))


def waited(outer: str, tiles: tuple[int, int, int], sizes: tuple[int, int, int]) -> float:
    """What the first rounds of a tiling by rows, vectors and products wait for memory."""
    tiling = Tiling(tuple(zip("ijp", tiles, strict=True)), tuple(outer), tuple("pij"), STAYS)
    found = []
    for rushed in (0.0, 1.0):
        hw = machine(rushed)
        covering = along_rows(hw, "fma_f32", sizes)
        found.append(refill_cycles(covering, tiling, hw)[3].waiting_cycles)
    return found[1] - found[0]


def test_what_enters_in_the_first_of_four_rounds_is_not_hidden_by_the_others() -> None:
    """Strips of B of 16 columns and 4096 rows, 256 KiB, each read by four tiles of six rows: two do
    not fit the cache, so all of one enters during the first tile."""
    calls = 24 * 128 * 4096 / 2  # two a cycle
    entering = 4096 * 1024 * 4 / 4
    first = calls / 4
    expected = max(entering, first) + calls - first - max(entering, calls)
    assert expected > 0.4 * calls
    assert waited("jip", (6, 2, 4096), (24, 1024, 4096)) == pytest.approx(expected, rel=0.05)


def test_rounds_that_share_what_comes_next_wait_for_nothing() -> None:
    """Strips of 64 KiB: the next one finds room beside it, and each round asks for its share."""
    assert waited("jip", (6, 2, 1024), (24, 1024, 1024)) == 0.0


def test_a_single_round_waits_for_nothing_more() -> None:
    assert waited("jip", (24, 2, 4096), (24, 1024, 4096)) == 0.0


def test_what_many_rounds_read_of_a_page_enters_beside_them() -> None:
    """Blocks of 16 columns and 32 rows, 2 KiB, while memory brings all of B once."""
    assert waited("pji", (6, 2, 32), (24, 1024, 4096)) == 0.0


def test_of_entering_and_computing_the_longer_one_is_counted_elsewhere() -> None:
    assert waited_cycles(10.0, 100.0, 4.0) == 0.0
    assert waited_cycles(60.0, 100.0, 4.0) == 60 + 75 - 100
    assert waited_cycles(150.0, 100.0, 4.0) == 75.0
    assert waited_cycles(60.0, 100.0, 1.0) == 0.0
