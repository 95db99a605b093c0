"""Lines of sums that are taken up again: which of them calls wait for.

Oracle: lines, tiles and pages counted by hand.
"""

from dataclasses import replace

import pytest

from isamap.costmodels import Stay, Tiling
from isamap.costmodels.awaited_sums import awaited_share
from isamap.costmodels.caches import refill_cycles
from isamap.costmodels.lines import Lines
from isamap.hwdesc import Hardware, load_hardware
from isamap.resources import find_hardware
from tests.costmodels.test_caches import along_rows
from tests.costmodels.test_lost_lines import with_cache

STAYS = (Stay("A", 0, 0, 1), Stay("B", 0, 0, 1), Stay("C", 0, 1, 1))
LATENCY = 10.0


def machine(awaited: float) -> Hardware:
    """A second cache whose first one gets all lines from it after a latency."""
    hw = load_hardware(find_hardware("x86_avx2"))
    plain = {"asked_cycles": 0.0, "strayed_cycles": 0.0, "rushed_share": 0.0, "ways": 0}
    return with_cache(hw, "l2", latency_cycles=LATENCY, awaited_share=awaited, **plain)


def waited(awaited: float, outer: str, sizes: tuple[int, int, int]) -> float:
    """What tiles of 4 rows, 16 columns and 8 products wait for in all at the second cache."""
    hw = machine(awaited)
    tiling = Tiling((("i", 4), ("j", 2), ("p", 8)), tuple(outer), tuple("pij"), STAYS)
    return refill_cycles(along_rows(hw, "fma_f32", sizes), tiling, hw)[2].waiting_cycles


def test_where_tiles_go_on_along_long_rows_few_lines_are_waited_for() -> None:
    """16 rows of 8192 sums, 512 KiB, come and go 5 times, 4 of them as unfinished ones."""
    lines = 4 * 16 * 8192 * 4 / 64
    all_of_them = waited(1.0, "pij", (16, 8192, 40))
    assert all_of_them - waited(0.25, "pij", (16, 8192, 40)) == pytest.approx(
        0.75 * lines * LATENCY, rel=0.01
    )


def test_short_rows_are_waited_for_whole() -> None:
    """Rows of 512 bytes end before prefetchers have found out."""
    assert waited(0.25, "pij", (1024, 128, 40)) == waited(1.0, "pij", (1024, 128, 40)) > 0


def test_no_fewer_lines_than_nobody_announces() -> None:
    cache = replace(machine(0.25).memory("l2"), prefetched_lines=64)
    rows = Lines(8.0, 64, 4.0, 8192, ((8192, 4.0),))
    assert awaited_share(cache, rows, 64.0) == 1.0
    assert awaited_share(cache, rows, 128.0) == 0.5
    assert awaited_share(cache, rows, 4096.0) == 0.25
    assert awaited_share(cache, replace(rows, pitch_bytes=4032), 4096.0) == 1.0
    assert awaited_share(cache, replace(rows, rows=1.0, pitch_bytes=0), 4096.0) == 0.25
    assert awaited_share(replace(cache, awaited_share=1.0), rows, 4096.0) == 1.0
