"""Values that are compared in depth once: what dataclasses say, part by part."""

import pickle
from dataclasses import dataclass, field

from isamap.ir import are_equal


class Counted(int):
    """Says how often it was compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        Counted.times += 1
        return int(self) == other

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = int.__hash__


@dataclass(frozen=True, eq=False)
class Value:
    """Of two parts, and one that does not count."""

    first: int
    second: int
    note: str = field(default="", compare=False)
    _twins: object = field(default=None, compare=False)

    @property
    def _hash(self) -> int:
        return self.first  # of many alike


def test_values_are_equal_where_all_parts_are_that_count() -> None:
    values = [Value(first, second, note) for first in (1, 2) for second in (3, 4) for note in "xy"]
    for _ in range(2):  # then some are known
        for one in values:
            for other in values:
                is_alike = (one.first, one.second) == (other.first, other.second)
                assert are_equal(one, other) == is_alike


def test_what_was_compared_is_known_either_way_round() -> None:
    one, other = Value(1, Counted(3)), Value(1, Counted(3))
    assert are_equal(one, other)
    times = Counted.times
    assert times and are_equal(one, other) and are_equal(other, one)
    assert Counted.times == times


def test_one_that_is_held_against_several_is_compared_with_each_once() -> None:
    """As where the same file was read three times, and two of these are keys of two tables."""
    kept, other, third = (Value(1, Counted(3)) for _ in range(3))
    assert are_equal(kept, third) and are_equal(other, third)
    times = Counted.times
    assert are_equal(kept, third) and are_equal(other, third) and are_equal(kept, other)
    assert Counted.times == times


def test_copies_are_equal_after_their_originals_are_gone() -> None:
    one = Value(1, 3)
    assert are_equal(one, Value(1, 3))
    other = pickle.loads(pickle.dumps(one))
    assert are_equal(one, other) and not are_equal(other, Value(1, 4))
