"""Calls along a sliding window that a tile does not fill are paid in full.

In: an image of one channel, whose windows fill calls of gemmini's loads. Out: failures. Not its
job: windows whose calls cost what their positions do.
"""

import random

import pytest

from isamap.costmodels import count_work, estimate
from isamap.emulator import time_program
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.scheduler import lower
from tests.scheduler.cases import first_coverings, machine
from tests.scheduler.exhaustive import model_cycles
from tests.scheduler.tilings import random_legal_tiling

SIZES = (("n", 5), ("h", 6), ("w", 21), ("c", 1), ("k", 7), ("r", 3), ("s", 3), ("pad", 0))


def short_coverings(hw: Hardware) -> list[Covering]:
    """The coverings in which a load's call holds positions of a window."""
    found = first_coverings("conv2d", "conv2d", SIZES, "gemmini", 200)
    return [c for c in found if any(flow.short for flow in count_work(c, hw).flows)]


@pytest.mark.parametrize("seed", range(4))
def test_the_load_unit_is_busy_as_long_as_the_closed_form_and_the_model_say(seed: int) -> None:
    hw = machine("gemmini")
    generator = random.Random(seed)
    covering = generator.choice(short_coverings(hw))
    work = count_work(covering, hw)
    tiling = random_legal_tiling(covering, hw, generator, any_tile=False, attempts=200)
    assert tiling is not None
    found = estimate(covering, work, tiling, hw)
    timing = time_program(lower(covering, tiling, hw), hw, compiled=False)
    busy = {unit.unit: unit.busy_cycles for unit in timing.unit_busy}["load"]
    # the last tile of a loop, which may be shorter, is taken for a whole one
    assert busy <= dict(found.unit_cycles)["load"] <= 1.1 * busy
    priced = model_cycles(covering, work, hw, tiling)
    assert priced is not None and abs(priced - found.cycles) <= 1 + len(work.flows)
