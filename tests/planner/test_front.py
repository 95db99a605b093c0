"""The Pareto front against every tiling there is.

In: a small product, random boxes. Out: failures. Not its job: single objectives.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.costmodels import Metric, count_work, estimate
from isamap.mapper import coverings
from isamap.planner import Wishes, find_front
from isamap.planner.front import _split
from isamap.scheduler import Answer, Progress, limit_machine
from isamap.scheduler.natural import rank_of
from tests.scheduler.cases import kernel, machine
from tests.scheduler.tilings import all_tilings

PAIR = (Metric.CYCLES, Metric.ENERGY)
SPARE = {Metric.CYCLES: 3, Metric.ENERGY: 0}  # the model tells a few cycles not apart


@pytest.mark.parametrize(
    ("hw_name", "sizes", "room"),
    [
        ("vta", (("m", 2), ("n", 40), ("k", 33)), {"acc": 512, "inp": 64}),
        ("outer", (("m", 1), ("n", 17), ("k", 8)), {}),
    ],
)
def test_no_tiling_beats_the_front_and_no_point_another(
    hw_name: str, sizes: tuple[tuple[str, int], ...], room: dict[str, int]
) -> None:
    subject, hw = kernel("gemm", "gemm", sizes), limit_machine(machine(hw_name), room)
    front = find_front(subject, hw, Wishes(time_limit_s=120), PAIR)
    assert front.is_complete, front.cut
    points = [tuple(costs.of(metric) for metric in PAIR) for costs in front.costs]
    assert points == sorted(points) and [e for _, e in points] == sorted(
        (e for _, e in points), reverse=True
    )
    fastest = front.points[0]
    assert isinstance(fastest, Answer)
    for covering in coverings(subject, hw, []):
        if rank_of(covering) > rank_of(fastest.best.covering):
            continue
        work = count_work(covering, hw)
        for tiling in all_tilings(covering, hw):
            costs = estimate(covering, work, tiling, hw).costs(hw)
            assert any(
                costs.cycles + SPARE[Metric.CYCLES] >= cycles
                and costs.energy_pj >= energy * (1 - 1e-5)
                for cycles, energy in points
            ), (costs, points)


class Stopped:
    """Ends every search with the best that it has."""

    is_stopped = True

    def see(self, progress: Progress) -> None:
        """Ignore it."""


def test_a_search_that_is_stopped_shows_the_points_that_it_has() -> None:
    subject, hw = kernel("gemm", "gemm", (("m", 2), ("n", 40), ("k", 33))), machine("vta")
    front = find_front(subject, hw, Wishes(watch=Stopped()), PAIR)
    assert not front.is_complete and front.points


@settings(max_examples=30)
@given(st.lists(st.tuples(*[st.integers(0, 9)] * 3), min_size=1, max_size=8))
def test_zones_hold_exactly_what_no_point_beats(points: list[tuple[float, ...]]) -> None:
    zones: list[tuple[float, ...]] = [(10.0,) * 3]
    for point in points:
        zones = _split(zones, point)
    for place in ((a, b, c) for a in range(10) for b in range(10) for c in range(10)):
        is_beaten = any(all(p <= x for p, x in zip(point, place, strict=True)) for point in points)
        is_inside = any(all(x < u for x, u in zip(place, zone, strict=True)) for zone in zones)
        assert is_inside != is_beaten
