"""Rounds of loops that tasks share, against the closed form of all of them together."""

import pytest

from isamap.costmodels import Tiling, count_work, estimate, find_span, one_round
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings
from isamap.resources import find_hardware
from tests.native.test_x86 import KERNELS
from tests.scheduler.tilings import packed_once

STEPS = 50


def kept_over_steps(hw: Hardware) -> tuple[Covering, Tiling]:
    """A product of 4 MiB of weights with one row after the other, packed with the first one."""
    kernel = load_kernel(KERNELS, {"m": STEPS, "n": 1024, "k": 1024}, "sgemm")
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        packed = [p.name for p in covering.operands if any(r.is_packed for r in p.residences)]
        if packed == ["B"] and dict(covering.binding)["j"] == ("j",):
            return covering, packed_once(covering, 4)
    raise AssertionError("B may be packed")


def test_what_was_packed_in_the_first_round_is_not_copied_again() -> None:
    """One round that packs and the others are all of it; a round is not much of that."""
    hw = load_hardware(find_hardware("x86_golden_cove"))
    covering, tiling = kept_over_steps(hw)
    whole = estimate(covering, count_work(covering, hw), tiling, hw).cycles
    one = one_round(covering, hw, frozenset("i"))
    first, later = (find_span(one, tiling, hw, frozenset(f)).cycles for f in ("i", ""))
    assert first + (STEPS - 1) * later == pytest.approx(whole, rel=0.05)
    assert first > 1.5 * later
