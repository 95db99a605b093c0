"""No covering is more natural than `least_rank` says, and searches stop there."""

from itertools import islice

import pytest

from isamap.mapper import KnownCoverings
from isamap.scheduler import Wishes, find_schedule, rank_of
from isamap.scheduler.natural import least_rank
from tests.scheduler.cases import kernel, machine

MACHINES = ("x86_avx512", "gemmini", "vta", "conv_engine")
LOOKED_AT = 300  # coverings of a kernel


@pytest.mark.parametrize("hw_name", MACHINES)
@pytest.mark.parametrize("pad, least", [(0, 0), (1, 1)])
def test_no_covering_is_more_natural(hw_name: str, pad: int, least: int) -> None:
    name = "conv2d_f32" if hw_name == "x86_avx512" else "conv2d"
    sizes = (("h", 6), ("w", 5), ("c", 3), ("k", 18), ("r", 3), ("s", 3), ("pad", pad))
    subject = kernel("conv2d", name, sizes)
    assert least_rank(subject) == least
    assert least_rank(subject, {"x"}) == 0
    found = KnownCoverings().find(subject, machine(hw_name), may_reassociate=True)
    ranks = [rank_of(covering) for covering in islice(found, LOOKED_AT)]
    assert min(ranks) >= least


def test_nothing_more_natural_is_looked_for_where_there_is_none() -> None:
    """Other coverings of a padded layer take more calls: none is priced, the answer is whole."""
    sizes = (("h", 9), ("w", 8), ("c", 16), ("k", 32), ("r", 3), ("s", 3), ("pad", 1))
    subject = kernel("conv2d", "conv2d_f32", sizes)
    hw = machine("x86_avx512")
    answer = find_schedule(subject, hw, Wishes(time_limit_s=60, may_reassociate=True))
    assert rank_of(answer.best.covering) == 1
    assert answer.is_complete
    assert answer.num_coverings < 20
