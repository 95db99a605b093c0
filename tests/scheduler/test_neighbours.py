"""What differs a little from a tiling, in what stays.

In: a product on a machine that copies to registers. Out: failures. Not its job: tiles, orders.
"""

from dataclasses import replace
from itertools import islice

import pytest

from isamap.costmodels import Stay, Tiling
from isamap.hwdesc import load_hardware
from isamap.ir import parse_semantics
from isamap.mapper import coverings
from isamap.scheduler.neighbours import stayed_otherwise
from tests.scheduler.cases import ROOT

PRODUCT = """
A, B, C = In(i32, 6, 12), In(i32, 12, 16), InOut(i32, 6, 16)
for i, j, p in grid(6, 16, 12):
  C[i, j] += A[i, p] * B[p, j]
"""
HW = load_hardware(ROOT / "tests" / "scheduler" / "rows_and_numbers.yaml")
COVERING = next(islice(coverings(parse_semantics(PRODUCT, "product"), HW, []), 1))


@pytest.mark.parametrize(("slots", "near"), [(1, {2}), (3, {2, 4}), (4, {3}), (5, {4}), (8, {7})])
def test_slots_become_fewer_by_one_however_many_and_more_up_to_four(
    slots: int, near: set[int]
) -> None:
    order = tuple(loop.name for loop in COVERING.loops)
    places = [(p.name, n) for p in COVERING.operands for n in range(len(p.residences))]
    stays = [Stay(*place, 1, 1) for place in places]
    stays[0] = replace(stays[0], slots=slots)
    tiling = Tiling(tuple((name, 1) for name in order), order, order, tuple(stays))
    found = [other.stays for other in stayed_otherwise(COVERING, tiling, HW)]
    assert {own.slots for own, *rest in found if rest == stays[1:]} - {slots} == near
    levels = [[stay.level for stay in own].count(0) for own in found]
    assert set(levels) == {0, 1}, "a tile, or a block, of one"
