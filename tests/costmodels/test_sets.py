"""Ways that rows of two loops take, against rows that are counted set by set."""

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isamap.costmodels.lines import PAGE_BYTES, Lines, Stream
from isamap.costmodels.sets import lines_in_set, ways_taken
from isamap.hwdesc import Memory, MemoryKind

LINE = 64
L1 = Memory("l1", MemoryKind.CACHE, 32 * 1024, LINE, ways=8)
STREAM = Stream((), (), 4, (), 0, 1, False, PAGE_BYTES, True, False, 1.0, False)
STRIDES = st.builds(lambda odd, power: LINE * odd * 2**power, st.integers(2, 64), st.integers(0, 5))
LOOPS = st.tuples(STRIDES, st.integers(2, 9))


@given(LOOPS, LOOPS)
def test_no_more_ways_are_taken_than_lines_share_a_set(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    """Or than there are lines to a set, were they spread over those that the nearer rows lie in."""
    near, far = sorted((first, second))
    places = [i * near[0] + j * far[0] for i in range(near[1]) for j in range(far[1])]
    assume(len(set(places)) == len(places))
    count = float(len(places))
    apart = tuple((stride, float(number)) for stride, number in (near, far))
    taken = ways_taken(L1, STREAM, Lines(count, LINE, count, near[0], apart))
    way_bytes = L1.size_bytes // L1.ways
    sets = {near[0] * n % way_bytes for n in range(way_bytes)}
    shared = max(Counter(place % way_bytes for place in places).values())
    assert count * LINE / way_bytes <= taken <= max(shared, count / len(sets))


@given(st.integers(1, 6), st.integers(-20, 20).map(lambda n: 4 * n), st.integers(2, 40))
def test_rows_follow_each_other_in_a_set_as_often_as_counted(
    ways: int, off: int, rows: int
) -> None:
    """Rows near multiples of what a way holds, wherever in a line the first one begins."""
    way_bytes = L1.size_bytes // L1.ways
    pitch = ways * way_bytes + off
    found = 0
    for begin in range(0, LINE, 4):
        sets = [(begin + pitch * n) // LINE % (way_bytes // LINE) for n in range(rows)]
        found += sum(one == other for one, other in zip(sets, sets[1:]))
    block = Lines(float(rows), LINE, float(rows), pitch, ((pitch, float(rows)),))
    counted = lines_in_set(L1, [], STREAM, block)
    assert counted == pytest.approx(found / (LINE // 4))


def test_a_single_row_follows_none() -> None:
    assert not lines_in_set(L1, [], STREAM, Lines(4.0, LINE, 1.0, 4096, ()))
