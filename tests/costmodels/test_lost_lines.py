"""Lines that rounds of loops bring and do not find again, though there is room for them.

Oracle: lines counted by hand.
"""

from dataclasses import replace

import pytest

from isamap.costmodels import Stay, Tiling, count_work, estimate
from isamap.costmodels.caches import refill_cycles
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import coverings
from isamap.resources import find_hardware
from tests.costmodels.test_caches import ROOT, along_rows

KIB = 1024
STAYS = (Stay("A", 0, 0, 1), Stay("B", 0, 0, 1), Stay("C", 0, 1, 1))


def with_cache(hw: Hardware, name: str, **changed: float) -> Hardware:
    """The machine, one of whose caches differs."""
    memories = (replace(m, **changed) if m.name == name else m for m in hw.memories)
    return replace(hw, memories=tuple(memories))


def level_2(lost: float) -> Hardware:
    """Golden Cove, whose level-2 cache takes lines in at an even pace."""
    hw = load_hardware(find_hardware("x86_golden_cove"))
    return with_cache(hw, "l2", lost_share=lost, asked_cycles=0.0, strayed_cycles=0.0)


@pytest.mark.parametrize("lost", [0.5, 1.5])
@pytest.mark.parametrize("rounds", [2, 3, 10])
def test_of_a_strip_that_rounds_read_again_some_is_gone(rounds: int, lost: float) -> None:
    """137 strips of 128 KiB of B, each read again in rounds of six rows of A, of 2 KiB each: of
    what a round touches every second line that was brought again stays for the one after."""
    covering = along_rows(level_2(lost), "fma_f32", (6 * rounds, 8768, 512))
    tiling = Tiling((("i", 6), ("j", 4), ("p", 1)), tuple("jip"), tuple("pij"), STAYS)
    found = [refill_cycles(covering, tiling, hw)[2] for hw in (level_2(0.0), level_2(lost))]
    touched = 128 * KIB + 6 * 2 * KIB + 6 * 256
    gone = lost * (touched / (1536 * KIB)) ** 1.5
    times = sum(0.5**n for n in range(rounds - 1))
    expected = 137 * 2048 * gone * times * 64 / 10  # at 10 bytes a cycle
    assert found[1].busy_cycles - found[0].busy_cycles == pytest.approx(expected, rel=0.02)
    assert found[1].waiting_cycles == found[0].waiting_cycles


def test_what_is_written_or_found_by_a_single_round_is_there() -> None:
    """Sums of 3 MiB that 32 parts of a sum take up again, one strip of A and B each: no round finds
    either of these again."""
    covering = along_rows(level_2(1.5), "fma_f32", (6, 64, 4096))
    tiling = Tiling((("i", 6), ("j", 4), ("p", 128)), tuple("pij"), tuple("pij"), STAYS)
    found = [refill_cycles(covering, tiling, hw)[2] for hw in (level_2(0.0), level_2(1.5))]
    assert found[0] == found[1]


def test_all_is_gone_at_most_once_and_again_for_half_of_what_comes_back() -> None:
    hw = level_2(40.0)
    covering = along_rows(hw, "fma_f32", (600, 8768, 512))
    tiling = Tiling((("i", 6), ("j", 4), ("p", 1)), tuple("jip"), tuple("pij"), STAYS)
    found = [refill_cycles(covering, tiling, on)[2] for on in (level_2(0.0), hw)]
    more = found[1].busy_cycles - found[0].busy_cycles
    assert more == pytest.approx(2 * 137 * 2048 * 6.4, rel=0.1)


def nearest(**changed: float) -> Hardware:
    return with_cache(load_hardware(find_hardware("x86_golden_cove")), "l1", **changed)


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_of_computing_and_refills_a_share_adds_to_the_longest(share: float) -> None:
    tiling = Tiling((("i", 6), ("j", 4), ("p", 1)), tuple("jip"), tuple("pij"), STAYS)
    cycles, beside = [], 0.0
    for hw in (nearest(), nearest(refills_shown_share=share)):
        covering = along_rows(hw, "fma_f32", (600, 8768, 512))
        work = count_work(covering, hw)
        refills = [cache.busy_cycles for cache in refill_cycles(covering, tiling, hw)]
        beside = sum(refills)
        cycles.append(estimate(covering, work, tiling, hw).cycles)
        assert max(refills) < work.shared_cycles  # calls take longest
    assert cycles[1] - cycles[0] == pytest.approx((share - 0.125) * beside, rel=0.01)


def test_what_hides_behind_refills_adds_nothing_to_them() -> None:
    """Six rows of A share 4 MiB of B, which enter more slowly than calls run: what the nearest
    cache shows of serving them is hidden, but for its part of what is beside the longest."""
    cycles, served = [], 0.0
    for shown in (0.0, 0.25):
        hw = with_cache(nearest(shown_share=shown), "l2", asked_cycles=60.0)
        covering = along_rows(hw, "fma_f32", (6, 1088, 1024))
        tiling = Tiling((("i", 6), ("j", 4), ("p", 1)), tuple("jip"), tuple("pij"), STAYS)
        work = count_work(covering, hw)
        cycles.append(estimate(covering, work, tiling, hw).cycles)
        served = work.calls * 5 / 24
    assert cycles[1] - cycles[0] == pytest.approx(0.25 * served / 8, rel=0.05)


def test_a_cache_in_which_any_line_makes_room_holds_less_and_less_of_more() -> None:
    """Strips of B up to twice its size: what enters grows with what is touched, through the size
    that others leave and all of it."""
    hw = nearest()
    found = []
    for p in range(64, 400, 8):
        covering = along_rows(hw, "fma_f32", (600, 64, p))
        tiling = Tiling((("i", 6), ("j", 4), ("p", p)), tuple("jip"), tuple("pij"), STAYS)
        found.append(refill_cycles(covering, tiling, hw)[0].busy_cycles)
    assert all(later > before for before, later in zip(found, found[1:]))
    assert found[-1] / 392 > 4 * found[6] / 112


@pytest.mark.parametrize(("n", "share"), [(5124, 0.75), (1024, 1.0), (1040, 0.0)])
def test_sums_stored_to_one_set_wait_for_each_other(n: int, share: float) -> None:
    """Vectors of 16 sums in as many rows, 20496 or 4096 bytes apart: of the fifteen behind another
    one three quarters, or all, lie in its set; 4160 apart, none."""
    hw = load_hardware(find_hardware("x86_redwood_cove"))
    kernel = load_kernel(ROOT / "c_kernels.py", {"m": 64, "n": n, "k": 64}, "sgemm")
    covering = next(
        c for c in coverings(kernel, hw, [], may_reassociate=True)
        if c.instruction == "fma_f32" and dict(c.binding)["j"] == ("i",)
        and not any(r.is_packed for x in c.operands for r in x.residences)
    )  # fmt: skip
    tiling = Tiling((("i", 1), ("j", 4), ("p", 64)), tuple("ijp"), tuple("pij"), STAYS)
    waits = []
    for cycles in (0.0, 8.0):
        on = with_cache(hw, "l1", same_set_cycles=cycles, conflict_cycles=0.0)
        waits.append(refill_cycles(covering, tiling, on)[0].waiting_cycles)
    assert waits[1] - waits[0] == pytest.approx(8 * 15 * share * 4 * n, rel=0.02)
