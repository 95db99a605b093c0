"""How often Python looks for cycles: more rarely inside, as before behind."""

import gc
from collections.abc import Iterator

import pytest

from isamap.scheduler.rarely_collected import THRESHOLDS, rarely_collected


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Whatever a test sets goes."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_whoever_closes_last_gives_back_what_was_found_first() -> None:
    """As threads do that search at once."""
    gc.set_threshold(700, 10, 10)
    one, other = rarely_collected(), rarely_collected()
    for opened in (one, other):
        opened.__enter__()
    for closed, left in ((one, THRESHOLDS), (other, (700, 10, 10))):
        closed.__exit__(None, None, None)
        assert gc.get_threshold() == left


@pytest.mark.parametrize(
    ("before", "inside"),
    [
        ((700, 10, 10), THRESHOLDS),
        ((90_000, 10, 70), (90_000, THRESHOLDS[1], 70)),
        ((0, 10, 10), (0, 10, 10)),
    ],
)
def test_thresholds_are_raised_inside_and_given_back(
    before: tuple[int, int, int], inside: tuple[int, int, int]
) -> None:
    gc.set_threshold(*before)
    with pytest.raises(KeyError), rarely_collected():
        assert gc.get_threshold() == inside
        with rarely_collected():
            assert gc.get_threshold() == inside
        raise KeyError
    assert gc.get_threshold() == before
