"""Hints for what loops walk along line by line, over several loops or again.

Oracle: lines and distances counted by hand.
"""

from collections.abc import Sequence

import pytest

from isamap.codegen.c import prefetch
from isamap.codegen.c.nodes import CLoop, CNode
from isamap.hwdesc import load_hardware
from isamap.ir import Affine
from isamap.resources import find_hardware
from tests.codegen.test_prefetch import _asked, _load

HW = load_hardware(find_hardware("x86_redwood_cove"))
LINE = 64


def walk(*steps: tuple[str, int], first: int = 0) -> CNode:
    """A call that reads a line which loops move by so many lines."""
    return _load(Affine.of([(name, LINE * lines) for name, lines in steps], first))


def asked_by(nodes: Sequence[CNode], *values: dict[str, int]) -> list[int]:
    """The lines, by number, that iterations ask for in the first of the nodes."""
    (outer, *_) = prefetch.add_prefetches(tuple(nodes), HW, 2**40)
    return [line // LINE for value in values for line in _asked(outer, value)]


@pytest.mark.parametrize(("length", "ahead"), [(4096, 256), (1600, 200), (400, 55)])
def test_long_walks_ask_as_far_ahead_as_the_machine_says(length: int, ahead: int) -> None:
    """16 KiB, or an eighth of what the loop walks along, or 500 cycles, in which 55 lines enter at
    7 bytes a cycle."""
    nest = CLoop("i", 0, 50, (CLoop("p", 0, length, (walk(("i", 2**20), ("p", 1)),) * 8),))
    assert asked_by([nest], {"i": 0, "p": 0}) == [ahead]


def test_a_walk_goes_on_over_loops_that_are_each_too_short_for_hints() -> None:
    """Two lines in each of 1000 rounds."""
    body = CLoop("p", 0, 2, (walk(("i", 2**20), ("t", 2), ("p", 1)),) * 8)
    nest = CLoop("i", 0, 50, (CLoop("t", 0, 1000, (body,)),))
    values = [{"i": 3, "t": t, "p": p} for t in range(1000) for p in range(2)]
    asked = asked_by([nest], *values)
    (far,) = {line - 3 * 2**20 - n for n, line in enumerate(asked)}
    assert len(asked) == 2000 and 0 < far <= 2000 / 8


def test_of_what_a_loop_around_another_one_reads_of_a_row_all_is_asked_for() -> None:
    """Nine lines, before a loop over what stays."""
    inner = CLoop("j", 0, 2, (walk(("j", 1), first=2**40),) * 9)
    reads = tuple(walk(("i", 9000), ("t", 9), first=LINE * n) for n in range(9))
    nest = CLoop("i", 0, 50, (CLoop("t", 0, 1000, (*reads, inner)),))
    values = [{"i": 3, "t": t, "j": j} for t in range(500) for j in range(2)]
    asked = set(asked_by([nest], *values))
    assert {3 * 9000 + 9 * 300 + n for n in range(9 * 100)} <= asked


@pytest.mark.parametrize(("tiles", "length"), [(284, 9), (100, 2), (7, 40)])
@pytest.mark.parametrize("rounds", [2, 3])
def test_rounds_over_a_walk_of_two_loops_share_what_comes_next(
    tiles: int, length: int, rounds: int
) -> None:
    panel = tiles * length
    call = walk(("i", panel), ("t", length), ("p", 1))
    inner = CLoop("t", 0, tiles, (CLoop("p", 0, length, (call,) * 32),))
    nest = CLoop("i", 0, 50, (CLoop("j", 0, rounds, (inner,)),))
    values = [
        {"i": 3, "j": j, "t": t, "p": p}
        for j in range(rounds)
        for t in range(tiles)
        for p in range(length)
    ]
    asked = asked_by([nest], *values)
    assert {4 * panel + n for n in range(panel)} <= set(asked)
    assert len(asked) <= 2 * panel


@pytest.mark.parametrize(("calls", "later"), [(8, 7), (64, 1)])
def test_what_short_rounds_share_lies_further_ahead(calls: int, later: int) -> None:
    """Two rounds over 10 lines take 80 cycles with 8 calls each, 640 with 64; a line takes 500."""
    body = CLoop("p", 0, 10, (walk(("i", 10), ("p", 1)),) * calls)
    nest = CLoop("i", 0, 900, (CLoop("j", 0, 2, (body,)),))
    values = [{"i": 3, "j": j, "p": p} for j in range(2) for p in range(10)]
    assert {(3 + later) * 10 + n for n in range(10)} <= set(asked_by([nest], *values))


def test_rows_shorter_than_lines_take_ask_for_those_that_follow() -> None:
    """Rows of 32 lines, each read in 128 cycles: four further on."""
    nest = CLoop("i", 0, 500, (CLoop("p", 0, 32, (walk(("i", 2560), ("p", 1)),) * 8),))
    asked = asked_by([nest], *({"i": 3, "p": p} for p in range(32)))
    assert asked == [(3 + 4) * 2560 + p for p in range(32)]


@pytest.mark.parametrize(
    ("first", "length", "is_there"), [(0, 2000, True), (0, 2001, False), (LINE, 2000, False)]
)
def test_what_the_nest_before_has_read_is_there(first: int, length: int, is_there: bool) -> None:
    """Rounds over a panel share what comes next; one more over the same lines asks for them into a
    nearer cache, 55 ahead; over others, as far ahead as the machine says."""
    rounds = CLoop("j", 0, 3, (CLoop("p", 0, 2000, (walk(("i", 2000), ("p", 1)),) * 8),))
    last = CLoop("p", 0, length, (walk(("i", 2000), ("p", 1), first=first),) * 8)
    (outer,) = prefetch.add_prefetches((CLoop("i", 0, 500, (rounds, last)),), HW, 2**40)
    assert isinstance(outer, CLoop)
    (line,) = _asked(outer.body[1], {"i": 3, "p": 5})
    far = (line - first) // LINE - 3 * 2000 - 5
    assert far == 55 if is_there else far >= length // 8
    values = [{"i": 3, "j": j, "p": p} for j in range(3) for p in range(2000)]
    shared = {line for value in values for line in _asked(outer.body[0], value)}
    assert first or {LINE * (4 * 2000 + n) for n in range(2000)} <= shared


@pytest.mark.parametrize(("rounds", "ahead"), [(8, 55), (16, 256)])
def test_what_is_read_between_must_leave_it_there(rounds: int, ahead: int) -> None:
    """Rounds over 2000 lines, then over 1 MiB or 2 MiB, which the level-2 cache does not hold; or
    over both at once."""
    panel, other = walk(("i", 2000), ("p", 1)), walk(("j", 2**13), ("p", 1), first=2**40)
    last = CLoop("p", 0, 2000, (panel,) * 8)
    both = (CLoop("j", 0, rounds, (CLoop("p", 0, 2000, (panel, other) * 8),)),)
    apart = tuple(
        CLoop("j", 0, n, (CLoop("p", 0, 2000, (call,) * 8),))
        for n, call in ((3, panel), (rounds, other))
    )
    for nests in (both, apart) if rounds == 16 else (both,):
        (outer,) = prefetch.add_prefetches((CLoop("i", 0, 500, (*nests, last)),), HW, 2**40)
        assert isinstance(outer, CLoop)
        asked = list(_asked(outer.body[-1], {"i": 3, "p": 5}))
        assert asked == [LINE * (3 * 2000 + 5 + ahead)]


@pytest.mark.parametrize(("strips", "ahead"), [(80, 256), (50, 55)])
def test_small_arrays_are_asked_for_from_near(strips: int, ahead: int) -> None:
    """From 8 MiB on, of strips of 2000 lines, they may lie in memory."""
    nest = CLoop("i", 0, strips, (CLoop("p", 0, 2000, (walk(("i", 2000), ("p", 1)),) * 8),))
    assert asked_by([nest], {"i": 0, "p": 0}) == [ahead]
