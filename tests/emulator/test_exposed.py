"""Machines that wait for nothing: start cycles are checked rule by rule, and the earliest are
found."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isamap.emulator import run, set_starts, time_program
from isamap.emulator.set_starts import find_runs
from isamap.errors import ProgramError
from isamap.hwdesc import Synchronisation
from isamap.program import Edge, For, Issue, Run, Span, When, from_json, listing, to_json
from tests.emulator.exposed_programs import HW, Row, issue_cycles, least_distance, program

BOTH = pytest.mark.parametrize("compiled", [True, False])
PRODUCT = [
    Row("get", 4),
    Row("fetch", tile=0),
    Row("mul_first", 4, 0, 0, 0),
    Row("act", 4, 0, 8),
    Row("put", 4, 8, 0),
]


def starts_of(rows: list[Row], compiled: bool) -> list[int]:
    """The earliest starts that the emulator finds."""
    timed = set_starts(program(rows), HW, compiled=compiled)
    return [node.starts[0].first for node in timed.body if isinstance(node, Issue)]


def rejected(rows: list[Row], starts: list[int], compiled: bool) -> str:
    """What the emulator says about these starts."""
    with pytest.raises(ProgramError) as error:
        time_program(program(rows, starts), HW, compiled=compiled)
    return error.value.message


@BOTH
def test_one_product_starts_as_early_as_its_rows_come(compiled: bool) -> None:
    # get holds the dram port for 4 cycles; the tile is there 9 after its fetch; row l of the sums
    # is visible l + 9 after the product begins, and act, put follow row by row
    assert starts_of(PRODUCT, compiled) == [0, 4, 13, 22, 23]
    timed = program(PRODUCT, [0, 4, 13, 22, 23])
    assert time_program(timed, HW, compiled=compiled).cycles == 28
    assert time_program(timed, HW, compiled=compiled).calls == (
        ("get", 1), ("fetch", 1), ("mul_first", 1), ("act", 1), ("put", 1),
    )  # fmt: skip


@BOTH
@pytest.mark.parametrize(
    ("position", "early", "message"),
    [
        (1, 3, "fetch[]: port 'both' of 'dram' is taken"),
        (2, 12, "mul_first[]: hazard with fetch[]: operand 'W' touches tiles[0]"),
        (3, 21, "act[]: hazard with mul_first[]: operand 'S' touches sums[0]"),
        (4, 22, "put[]: hazard with act[]: operand 'S' touches rows[32]"),
    ],
)
def test_a_call_that_starts_too_early_is_named_with_its_rule(
    position: int, early: int, message: str, compiled: bool
) -> None:
    starts = [0, 4, 13, 22, 23]
    starts[position] = early
    when = f" when started in cycle {early}, cycle {early + 1} is the earliest"
    assert rejected(PRODUCT, starts, compiled) == message + when


@BOTH
def test_a_unit_runs_one_call_at_a_time(compiled: bool) -> None:
    rows = [Row("get", 4), Row("get", 2, 8, 8)]
    assert rejected(rows, [0, 3], compiled) == (
        "get[]: unit 'in' still runs get[] when started in cycle 3, cycle 4 is the earliest"
    )


@BOTH
def test_no_call_starts_before_cycle_0(compiled: bool) -> None:
    message = rejected([Row("get", 4)], [-1], compiled)
    assert message == "call of 'get': 1 starts from cycle -1 to -1"


@BOTH
def test_one_call_starts_per_cycle(compiled: bool) -> None:
    rows = [Row("get", 4), Row("act", 4, 0, 8)]
    assert "1 calls start in this cycle already when started in cycle 0" in rejected(
        rows, [0, 0], compiled
    )
    wide = replace(HW, issue_width=2)
    assert time_program(program(rows, [0, 0]), wide, compiled=compiled).cycles == 4


TILES = [
    Row("get", 2), Row("fetch", tile=0), Row("fetch", tile=1),
    Row("mul_first", 2, 0, 0, 0), Row("mul", 2, 0, 0, 1),
]  # fmt: skip


@BOTH
def test_new_tiles_keep_their_distance(compiled: bool) -> None:
    assert starts_of(TILES, compiled) == [0, 2, 6, 11, 22]
    message = rejected(TILES, [0, 2, 6, 11, 21], compiled)
    assert "too close to mul_first[]: the distance from 'mul_first' to 'mul' (new_entry) is 11" in (
        message
    )
    assert message.endswith("cycles; when started in cycle 21, cycle 22 is the earliest")
    same = [*TILES[:4], Row("mul", 2, 0, 0, 0)]
    assert starts_of(same, compiled) == [0, 2, 6, 11, 14], "the unit is busy for 3 cycles"


@BOTH
def test_entries_are_read_in_the_order_in_which_they_were_written(compiled: bool) -> None:
    skips = [*TILES[:3], Row("mul_first", 2, 0, 0, 1)]
    assert "entry 1 of 'tiles' is neither the one read last" in rejected(
        skips, [0, 2, 6, 30], compiled
    )
    back = [*TILES, Row("mul", 2, 0, 0, 0)]
    assert "entry 0 of 'tiles' is neither" in rejected(back, [0, 2, 6, 11, 22, 90], compiled)
    unread = [*TILES[:3], Row("fetch", tile=2)]
    assert "entry 0 of 'tiles' was not read yet" in rejected(unread, [0, 2, 6, 90], compiled)


@BOTH
def test_an_entry_must_not_come_too_late(compiled: bool) -> None:
    starts = [0, 2, 15, 11, 30]  # there at 24, latest is 11 + 14
    assert time_program(program(TILES, starts), HW, compiled=compiled).cycles == 40
    message = rejected(TILES, [0, 2, 17, 11, 30], compiled)
    assert "entry 1 of 'tiles' is there in cycle 26, cycle 25 is the latest" in message


@BOTH
def test_an_entry_waits_to_be_read_until_the_next_is_near(compiled: bool) -> None:
    gets = [Row("get", 8, 8 * n, 8 + 8 * n) for n in range(4)]  # the port is theirs until 38
    rows = [*TILES[:2], TILES[3], *gets, TILES[2], TILES[4]]
    assert starts_of(rows, compiled) == [0, 2, 33, 6, 14, 22, 30, 38, 47]  # 47 = 33 + 14
    full = [*TILES[:3], Row("fetch", tile=2)]
    assert "entry 0 of 'tiles' was not read yet" in rejected(full, [0, 2, 6, 90], compiled)
    third = [*TILES[:3], TILES[3], Row("fetch", tile=2), TILES[4]]
    assert starts_of(third, compiled)[4] == 12, "in the cycle after entry 0 is read, or later"
    assert "operand 'D': 'tiles' is full when started in cycle 10, cycle 11 is" in rejected(
        third, [0, 2, 6, 11, 10, 22], compiled
    )


@BOTH
def test_every_execution_needs_one_start(compiled: bool) -> None:
    untimed = program(PRODUCT)
    with pytest.raises(ProgramError, match="every call needs the cycle in which it starts"):
        time_program(untimed, HW, compiled=compiled)
    timed = program(PRODUCT, [0, 4, 13, 22, 23])
    put = timed.body[-1]
    assert isinstance(put, Issue)
    some = replace(timed, body=(*timed.body[:-1], replace(put, starts=())))
    with pytest.raises(ProgramError, match="more often than the 0 times"):
        time_program(some, HW, compiled=compiled)
    more = replace(timed, body=(*timed.body[:-1], replace(put, starts=(Run(23, 5, 2),))))
    with pytest.raises(ProgramError, match="6 start cycles for 5 executions"):
        time_program(more, HW, compiled=compiled)


@BOTH
def test_loops_start_in_runs_and_values_do_not_depend_on_them(compiled: bool) -> None:
    fetch, get = Row("fetch", tile=0).issue(), Row("get", 4).issue()
    first, later = Row("mul_first", 4, 0, 0).issue(), Row("mul", 4, 0, 0).issue()
    body = (
        fetch,
        get,
        For(
            "k",
            Span(5),
            (When((("k", Edge.FIRST),), (first,)), When((("k", Edge.LATER),), (later,))),
        ),
        Row("act", 4, 0, 8).issue(),
        Row("put", 4, 8, 0).issue(),
    )
    timed = set_starts(replace(program([]), body=body), HW, compiled=compiled)
    (loop,) = (node for node in timed.body if isinstance(node, For))
    calls = [call for when in loop.body if isinstance(when, When) for call in when.body]
    runs = [call.starts for call in calls if isinstance(call, Issue)]
    assert runs == [(Run(9, 0, 1),), (Run(14, 5, 4),)]
    assert from_json(to_json(timed)) == timed
    assert "at 14 + 5*[0..3]" in listing(timed)
    assert time_program(timed, HW, compiled=compiled).cycles == 9 + 4 * 5 + 9 + 1 + 5
    rng = np.random.default_rng(0)
    a, w = rng.integers(-9, 9, (64, 4), np.int8), rng.integers(-9, 9, (16, 4, 4), np.int8)
    arrays = {"A": a, "W": w, "C": np.zeros((64, 4), np.int8)}
    found = run(timed, HW, arrays, compiled=compiled).outputs["C"][:4]
    np.testing.assert_array_equal(found, (5 * (a[:4].astype(np.int32) @ w[0])).astype(np.int8))


def earliest(rows: list[Row]) -> list[int]:
    """Starts by the distances between all pairs, one call per cycle, calls placed in order."""
    starts: list[int] = []
    for number, row in enumerate(rows):
        pairs = ((least_distance(rows[n], row), starts[n]) for n in range(number))
        start = max([0, *(start + least for least, start in pairs if least is not None)])
        while start in starts:
            start += 1
        starts.append(start)
    return starts


ROWS = st.builds(
    Row,
    st.sampled_from(["get", "act", "mul_first", "mul"]),
    st.integers(1, 5),
    st.integers(0, 6),
    st.integers(0, 6),
)
NO_PORTS = replace(HW, memories=(replace(HW.external, ports=()), *HW.memories[1:]))


@settings(max_examples=60)
@given(st.lists(ROWS, min_size=1, max_size=7))
def test_starts_are_those_of_the_distances_between_all_pairs(rows: list[Row]) -> None:
    rows = [Row("fetch"), *rows]
    timed = set_starts(program(rows), NO_PORTS, compiled=False)
    assert [node.starts[0].first for node in timed.body if isinstance(node, Issue)] == (
        expected := earliest(rows)
    )
    for position, row in enumerate(rows):
        pairs = [(least_distance(r, row), s) for r, s in zip(rows[:position], expected)]
        floor = max([0, *(s + least for least, s in pairs if least is not None)])
        if floor > 0:
            early = [*expected[:position], floor - 1, *expected[position + 1 :]]
            with pytest.raises(ProgramError):
                time_program(program(rows, early), NO_PORTS, compiled=False)


@settings(max_examples=25)
@given(st.lists(ROWS, min_size=1, max_size=2))
def test_no_start_is_possible_before_the_one_found(rows: list[Row]) -> None:
    """Against all starts of the calls before it, on a machine that starts any number at once."""
    rows = [Row("fetch"), *rows]
    wide = replace(NO_PORTS, issue_width=None)
    timed = set_starts(program(rows), wide, compiled=False)
    starts = [node.starts[0].first for node in timed.body if isinstance(node, Issue)]
    least = {
        (a, b): distance
        for a, b in combinations(range(len(rows)), 2)
        if (distance := least_distance(rows[a], rows[b])) is not None
    }
    for tried in product(*(range(start + 1) for start in starts)):
        is_legal = all(tried[b] - tried[a] >= distance for (a, b), distance in least.items())
        assert is_legal == (tried == tuple(starts)), (rows, tried)


@given(st.lists(st.integers(0, 50), max_size=20))
def test_runs_list_what_they_were_made_of(cycles: list[int]) -> None:
    runs = find_runs(cycles)
    assert [r.first + r.step * n for r in runs for n in range(r.count)] == cycles


def test_the_units_time_is_what_the_oracle_says() -> None:
    for row in (Row("get", 3), Row("mul", 5), Row("fetch"), Row("act", 2), Row("put", 4)):
        values = {"l": row.rows, "c": 4, "k": 4, "j": 4}
        assert HW.instruction(row.name).issue_cycles.evaluate(values) == issue_cycles(row)


def test_where_the_hardware_waits_there_are_no_starts() -> None:
    timed = program([Row("get", 4)], [0])
    waiting = replace(
        HW, synchronisation=Synchronisation.INTERLOCKED, distances=(), issue_width=None
    )
    assert set_starts(program([Row("get", 4)]), waiting).body[0] == Row("get", 4).issue()
    with pytest.raises(ProgramError, match="has start cycles, but 'tiny_exposed' waits"):
        time_program(timed, waiting)
