"""Hints for caches: which reads get them, and that they change nothing.

Oracle: the interpreter; lines and distances counted by hand.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pytest

from isamap.codegen import generate_c
from isamap.codegen.c import prefetch, shares
from isamap.codegen.c.calls import CallWriter
from isamap.codegen.c.nodes import CCall, CHint, CLoop, CNode, CTurn
from isamap.errors import SpecErrors
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import Affine, interpret, load_kernel
from isamap.mapper import coverings
from isamap.native import execute_c, whole_arrays
from isamap.program import Address, Issue, Operand, Program, Span, issues
from isamap.resources import find_hardware
from isamap.scheduler import lower
from tests.codegen.test_c_programs import needs_compiler
from tests.costmodels.test_caches import machine, product, tiled
from tests.costmodels.test_lost_lines import with_cache

FORM = 'prefetch: {ahead: 12 cycles, c: "__builtin_prefetch({line});"}'
WALK = FORM.replace("{ahead", '{walk: "__builtin_prefetch({line}, 0, 3);", ahead', 1)


def asking(folder: Path, form: str = FORM, kind: str = "granule: 16 bytes\n    ports") -> Hardware:
    """vec4 with a cache of 16-byte lines that takes hints."""
    machine(folder, 512)
    text = (folder / "vec4.yaml").read_text()
    (folder / "vec4.yaml").write_text(text.replace(kind, f"{form}\n    {kind}", 1))
    return load_hardware(folder / "vec4.yaml")


def slow_machine() -> Hardware:
    """Zen 4, were its prefetchers to follow no rows, and hints to come at any pace."""
    hw = load_hardware(find_hardware("x86_avx512"))
    return with_cache(hw, "l2", asked_cycles=0.0, prefetched_lines=0)


def program(hw: Hardware, outer: str, k: int = 20) -> Program:
    """A product of 4 x 40 elements; registers hold 2 x 8 of them."""
    covering = product(hw, 4, 40, k)
    found = lower(covering, tiled(covering, 2, 2, tuple(outer)), hw)
    assert found is not None
    return found


def blocks(text: str) -> list[str]:
    """What loops over p do before each four iterations."""
    end = r"\s*for \(const int64_t p_tile_end = p_tile \+ 4(?! <)"
    return re.findall(r"for \(int64_t p_tile = 0; p_tile < \d+;\) \{([^{}]*)" + end, text)


def hints(text: str) -> list[str]:
    return re.findall(r"__builtin_prefetch\((.*)\);", text)


def test_each_line_of_a_row_is_asked_for_once(tmp_path: Path) -> None:
    """One step of p takes 4 cycles (2 x 2 products), in which two lines enter in 8, and moves by a
    row of 160 bytes: 2 ahead."""
    hw = asking(tmp_path)
    found = hints(generate_c(program(hw, "ijp"), hw).text)
    assert len(found) == 2 and all("(uintptr_t)B" in place for place in found)
    offsets = [int(place.rpartition("+ ")[2].rstrip(")")) for place in found]
    assert offsets == [2 * 160, 2 * 160 + 16]


def test_more_lines_than_anyone_reads_are_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hw = asking(tmp_path)
    monkeypatch.setattr(prefetch, "MAX_HINTS", 1)
    assert not hints(generate_c(program(hw, "ijp"), hw).text)


@pytest.mark.parametrize(
    ("vectors", "asked"), [(2, [2 * 152, 2 * 152 + 16, 2 * 152 + 31]), (1, [16, 16 + 15])]
)
def test_rows_that_begin_within_a_line_may_touch_one_line_more(
    tmp_path: Path, vectors: int, asked: list[int]
) -> None:
    """Rows of B are 38 floats apart: 16 bytes of each per vector, and the last of them; 2 steps
    ahead of 20 for two vectors, which enter in 8 cycles; 3 would be for one: of ten vectors of each
    row the next one is asked for, so that fewer are missed."""
    hw = asking(tmp_path)
    covering = product(hw, 4, 38, 20)
    found = lower(covering, tiled(covering, 2, vectors, tuple("ijp")), hw)
    assert found is not None
    offsets = [place.rpartition("+ ")[2] for place in hints(generate_c(found, hw).text)]
    assert offsets[: len(asked)] == [f"{place})" for place in asked]


def test_of_what_lies_side_by_side_new_lines_are_asked_for(tmp_path: Path) -> None:
    """One step of j loads eight times in as many cycles and moves by two lines, which enter in as
    many, of B and by four of C: 1 step ahead."""
    hw = asking(tmp_path)
    text = generate_c(program(hw, "pij"), hw).text
    inside = text[text.rindex("for (int64_t j_tile") :]
    places = [place.rpartition("+ ")[2] for place in hints(inside) if ")B" in place]
    assert places == ["32)", "48)"]


def test_a_walk_faster_than_lines_that_are_asked_for_is_left_to_the_hardware(
    tmp_path: Path,
) -> None:
    """One step of j takes 8 cycles and two lines."""
    for form, asked, is_left in ((FORM, 4, False), (FORM, 5, True), (WALK, 5, False)):
        hw = asking(tmp_path, f"{form}\n    asked: {asked} cycles")
        text = generate_c(program(hw, "pij"), hw).text
        inside = text[text.rindex("for (int64_t j_tile") :]
        assert is_left != any(")B" in place for place in hints(inside))


@pytest.mark.parametrize(("pace", "steps"), [(4, 2), (1, 1)])
def test_a_single_row_is_asked_for_by_a_form_of_its_own_no_earlier_than_it_enters(
    tmp_path: Path, pace: int, steps: int
) -> None:
    """One step of j takes 8 cycles, in which two lines of 16 bytes enter at 4 bytes a cycle, and
    32 at one byte; it needs them 12 cycles ahead. Rows that lie apart are asked for as ever."""
    asking(tmp_path, WALK)
    text = (tmp_path / "vec4.yaml").read_text()
    text = text.replace("{write: 4 bytes/cycle}", f"{{write: {pace} bytes/cycle}}")
    (tmp_path / "vec4.yaml").write_text(text)
    hw = load_hardware(tmp_path / "vec4.yaml")
    text = generate_c(program(hw, "pij"), hw).text
    inside = text[text.rindex("for (int64_t j_tile") :]
    found = [place.rpartition("+ ")[2] for place in hints(inside) if ")B" in place]
    assert found == [f"{32 * steps + line}), 0, 3" for line in (0, 16)]
    rows = hints(generate_c(program(hw, "ijp"), hw).text)
    assert rows and not any(", 0, 3" in place for place in rows)


@pytest.mark.parametrize(("asked", "units", "is_left"), [(3, 1, False), (4, 1, True), (3, 2, True)])
def test_of_rows_that_are_walked_side_by_side_every_line_takes_its_time(
    tmp_path: Path, asked: int, units: int, is_left: bool
) -> None:
    """One step of j loads twelve times in as many cycles, half of them on two units, and moves by
    two lines in each of two rows."""
    hw = asking(tmp_path, f"{FORM}\n    asked: {asked} cycles")
    hw = replace(hw, units=tuple(replace(unit, count=units) for unit in hw.units))
    covering = product(hw, 4, 40, 20)
    found = lower(covering, tiled(covering, 2, 2, tuple("pij")).with_tile("p", 2), hw)
    assert found is not None
    text = generate_c(found, hw).text
    inside = text[text.rindex("for (int64_t j_tile") :]
    assert is_left != any(")B" in place for place in hints(inside))


def test_what_stays_in_a_line_or_walks_outside_is_not_asked_for(tmp_path: Path) -> None:
    hw = asking(tmp_path)
    assert not any(")A" in place for place in hints(generate_c(program(hw, "ijp"), hw).text))
    assert len(hints(generate_c(program(hw, "ijp"), hw).text)) == 2  # B over p, not over j


def test_rows_of_the_next_round_are_asked_for_line_by_line_unless_followed_or_kept(
    tmp_path: Path,
) -> None:
    """p moves A by 4 of a line's 16 bytes; i by two rows of 4 k bytes, twice; 512 are kept. Rows of
    16 lines are followed, those of 15 are not, nor two where only one can be told apart, nor any
    where the machine does not say so."""
    lines = f"{FORM}\n    prefetched_lines: 16"
    rows = f"{lines}\n    prefetched_rows:"
    for form, k, is_followed in (
        (lines, 64, True), (f"{rows} 2", 64, True), (f"{rows} 2", 60, False),
        (f"{rows} 1", 64, False), (FORM, 64, False),
    ):  # fmt: skip
        hw = asking(tmp_path, form)
        assert is_followed == (not blocks(generate_c(program(hw, "jip", k=k), hw).text))
    hw = asking(tmp_path)
    text = generate_c(program(hw, "jip", k=40), hw).text
    (turn,) = blocks(text)
    assert [place.rpartition("+ ")[2] for place in hints(turn)] == ["320)", "480)"]
    assert not blocks(generate_c(program(hw, "jip", k=24), hw).text)  # 384 bytes
    assert not blocks(generate_c(program(hw, "ijp", k=40), hw).text)  # five rounds of j use them


@pytest.mark.parametrize("is_worth_it", [False, True])
def test_the_next_of_single_rows_is_asked_for_where_that_is_worth_it_along_one(
    tmp_path: Path, is_worth_it: bool
) -> None:
    """As above, of one row of 16 lines at a time."""
    hw = asking(tmp_path, f"{WALK if is_worth_it else FORM}\n    prefetched_lines: 16")
    covering = product(hw, 4, 40, 64)
    found = lower(covering, tiled(covering, 1, 2, tuple("jip")), hw)
    assert found is not None
    assert is_worth_it == bool(blocks(generate_c(found, hw).text))


def test_short_loops_over_rows_ask_for_what_lies_next_in_each(tmp_path: Path) -> None:
    """Three steps of p take 12 cycles; j goes on by 32 bytes of each row: 1 ahead. Not where all
    that both walk over, 640 bytes, stays."""
    hw = asking(tmp_path)
    found = hints(generate_c(program(hw, "ijp", k=3), hw).text)
    assert len(found) == 2 and all("160 * p_tile" in place for place in found)
    assert [place.rpartition("+ ")[2] for place in found] == ["32)", "48)"]
    larger = replace(hw.caches[0], size_bytes=640)
    memories = tuple(larger if one.name == larger.name else one for one in hw.memories)
    assert not hints(generate_c(program(hw, "ijp", k=3), replace(hw, memories=memories)).text)


def test_what_stays_from_one_run_to_the_next_is_not_asked_for(tmp_path: Path) -> None:
    """A, B and C take 320, 3200 and 640 bytes."""
    for size_bytes, is_asked in ((4160, True), (4176, False)):
        asking(tmp_path)
        text = (
            (tmp_path / "vec4.yaml")
            .read_text()
            .replace("size: 512 bytes", f"size: {size_bytes} bytes")
        )
        (tmp_path / "vec4.yaml").write_text(text)
        hw = load_hardware(tmp_path / "vec4.yaml")
        assert is_asked == bool(hints(generate_c(program(hw, "ijp"), hw).text))


@pytest.mark.parametrize(
    ("step", "lines", "counts"),
    [(64, 1, (100, 5)), (192, 3, (100, 14)), (192, 3, (50, 2)), (4096, 2, (40, 3))],
)
@pytest.mark.parametrize("first", [0, 1])
def test_each_round_asks_for_its_share_of_what_all_read_next(
    step: int, lines: int, counts: tuple[int, int], first: int
) -> None:
    """Rounds of j over lines of a panel, for each i those of another one: what is asked for during
    one i holds all that the next one reads, and at most twice as many lines; where the first i
    stands apart, too."""
    hw = load_hardware(find_hardware("x86_avx512"))
    length, rounds = counts
    far = step * length
    calls = tuple(_load(Affine.of([("i", far), ("p", step)], 64 * n)) for n in range(lines))
    nest = CLoop("i", first, 50, (CLoop("j", 0, rounds, (CLoop("p", 0, length, calls * 9),)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    values = [{"i": 3, "j": j, "p": p} for j in range(rounds) for p in range(length)]
    asked = [line for value in values for line in _asked(outer, value)]
    wanted = {4 * far + step * p + 64 * n for p in range(length) for n in range(lines)}
    assert wanted <= set(asked) and len(asked) <= 2 * len(wanted)


@pytest.mark.parametrize(
    ("rows", "pitch", "length", "rounds"),
    [(19, 1024, 256, 4), (5, 4160, 64, 2), (40, 2048, 512, 3), (3, 256, 48, 6)],
)
def test_each_round_asks_for_some_of_the_rows_that_all_walk_along_next(
    rows: int, pitch: int, length: int, rounds: int
) -> None:
    """Rounds of j along rows of elements, for each i those of others: what is asked for during one
    i holds all that the next one reads, at most twice as many lines, few at once."""
    hw = load_hardware(find_hardware("x86_avx512"))
    far = rows * pitch
    calls = tuple(_element(Affine.of([("i", far), ("p", 4)], pitch * n)) for n in range(rows))
    nest = CLoop("i", 0, 50, (CLoop("j", 0, rounds, (CLoop("p", 0, length, calls),)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    values = [{"i": 3, "j": j, "p": p} for j in range(rounds) for p in range(length)]
    asked = [list(_asked(outer, value)) for value in values]
    wanted = {4 * far + pitch * n + 4 * p for n in range(rows) for p in range(0, length, 16)}
    assert {place // 64 * 64 for place in wanted} <= {line for some in asked for line in some}
    assert sum(map(len, asked)) <= 2 * len(wanted)
    assert max(map(len, asked)) <= shares.TOGETHER


@pytest.mark.parametrize(
    ("rows", "rounds", "is_asked"),
    [
        (range(0, 10 * 1024, 1024), 2, True),
        ([0, 1024, 4096], 2, False),
        (range(0, 3 * 1024, 1024), 7, False),
        (range(0, 10 * 1024, 1024), 8, False),
        (range(0, 10 * 8192, 8192), 2, False),
        (range(0, 40 * 8192, 8192), 2, True),
    ],
)
def test_rows_that_rounds_need_not_or_cannot_share_out_are_not_asked_for(
    rows: Sequence[int], rounds: int, is_asked: bool
) -> None:
    """Not as far from each other, fewer than half as many as rounds, read by many rounds, or each
    on pages of its own, which prefetchers follow, of up to 32."""
    hw = load_hardware(find_hardware("x86_golden_cove"))
    far = 2 * rows[-1]
    calls = tuple(_element(Affine.of([("i", far), ("p", 4)], row)) for row in rows)
    nest = CLoop("i", 0, 50, (CLoop("j", 0, rounds, (CLoop("p", 0, 256, calls),)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    values = [{"i": 3, "j": j, "p": p} for j in range(rounds) for p in range(256)]
    assert is_asked == any(line for value in values for line in _asked(outer, value))


@pytest.mark.parametrize(("strips", "step"), [(4, "q"), (400, "i")])
def test_short_loops_over_rows_ask_for_what_a_later_iteration_around_them_reads(
    strips: int, step: str
) -> None:
    """Strips of 4 lines of 8 rows, as many as there are along the rows: further on in the rows, or,
    where these are short, in those that the loop around goes on to; each line once."""
    hw = slow_machine()
    row = 256 * strips
    at = [("q", 8 * row), ("i", 256), ("p", row)]
    calls = tuple(_load(Affine.of(at, 64 * n)) for n in range(4))
    nest = CLoop("q", 0, 500, (CLoop("i", 0, strips, (CLoop("p", 0, 8, calls),)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    wanted = {64 * n + row * p for p in range(8) for n in range(4)}
    asked = [line for p in range(8) for line in _asked(outer, {"q": 0, "i": 0, "p": p})]
    assert len(asked) == len(wanted)
    (far,) = {line - place for line, place in zip(sorted(asked), sorted(wanted), strict=True)}
    pitch, most = (8 * row, 500) if step == "q" else (256, strips)
    assert far % pitch == 0 and 0 < far < most * pitch


@pytest.mark.parametrize(
    ("calls", "strips", "strip_rows", "is_asked"),
    [
        (2, 400, 50, False),  # 4 cycles a line are asked for, and 2 lines take 1
        (20, 400, 50, True),
        (20, 400, 5000, False),  # from memory, where 2 lines take 14
        (40, 400, 5000, True),
        (2, 20, 50, False),  # rows of 2560 bytes, which are not followed
        (20, 20, 50, True),
        (2, 20, 5000, True),  # those from memory
    ],
)
def test_rows_that_calls_read_faster_than_hints_bring_them_are_left_to_the_hardware(
    calls: int, strips: int, strip_rows: int, is_asked: bool
) -> None:
    """Strips of 2 lines of 8 rows, read by so many calls, two of which take a cycle, in arrays of
    1 to 20 MiB, or that no cache holds."""
    hw = with_cache(load_hardware(find_hardware("x86_avx2")), "l2", asked_cycles=4.0)
    row = 128 * strips
    at = [("q", 8 * row), ("i", 128), ("p", row)]
    reads = tuple(_load(Affine.of(at, 64 * (n % 2))) for n in range(calls))
    nest = CLoop("q", 0, strip_rows, (CLoop("i", 0, strips, (CLoop("p", 0, 8, reads),)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    assert is_asked == any(_asked(outer, {"q": 0, "i": 0, "p": 0}))


def test_sums_that_stay_in_the_cache_are_not_asked_for_by_each_of_many_rounds() -> None:
    """A line of each of 2 rows of sums in each iteration of i, again in each of 50 of q, beside
    lines that are new."""
    hw = slow_machine()
    sums = tuple(_load(Affine.of([("i", 64)], 2**14 * n)) for n in range(2))
    for rounds, is_asked in ((50, False), (2, True)):
        new = CLoop("p", 0, 8, (_load(Affine.of([("q", 2**14), ("i", 64), ("p", 2**20)])),))
        nest = CLoop("q", 0, rounds, (CLoop("i", 0, 256, (*sums * 8, new)),))
        (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
        hints = (x for x in outer.body[0].body if isinstance(x, CHint))
        found = {dict(x.operand.address.offset.terms).get("q", 0) for x in hints}
        assert is_asked == (0 in found)


def test_at_the_end_of_rows_the_begin_of_those_that_follow_is_asked_for() -> None:
    """Strips of 4 lines of 8 rows: in each of them the lines of a later one, through all of 40
    strips and on to the next rows, 8 by 8; none twice, and none but the first ones not at all."""
    hw = slow_machine()
    row, rows = 256 * 400, 3
    at = [("q", 8 * row), ("i", 256), ("p", row)]
    calls = tuple(_load(Affine.of(at, 64 * n)) for n in range(4))
    nest = CLoop("q", 0, rows, (CLoop("i", 0, 400, (CLoop("p", 0, 8, calls),)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    asked = [
        line
        for q in range(rows)
        for i in range(400)
        for p in range(8)
        for line in _asked(outer, {"q": q, "i": i, "p": p})
    ]
    read = {64 * n for n in range(8 * rows * row // 64)}
    assert len(asked) == len(set(asked)) == len(read)
    missing = sorted(read - set(asked))
    assert len({line // row for line in missing}) == 8 and max(missing) < 8 * row
    assert {line % row < len(missing) * 8 for line in missing} == {True}


def test_where_memory_sets_the_pace_lines_are_asked_for_as_far_ahead_as_they_take() -> None:
    """A line of each of 8 rows enters in 8 * 64 / 9 cycles, whose loads take 8: 1000 cycles are 18
    iterations; of rows that the last cache holds, 125."""
    hw = slow_machine()
    distance = {}
    for rows in (64, 80_000):
        at = [("q", 8 * 64 * 500), ("i", 64), ("p", 64 * 500)]
        inner = CLoop("p", 0, 8, (_load(Affine.of(at)),))
        nest = CLoop("q", 0, rows // 8, (CLoop("i", 0, 500, (inner,)),))
        (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
        distance[rows] = min(_asked(outer, {"q": 0, "i": 0, "p": 0})) // 64
    assert distance == {64: 125, 80_000: 18}


def test_what_comes_next_is_what_the_nest_behind_reads() -> None:
    """Rows 0 to 3 and 4 to 7 of 10 in two iterations of q, the last two by a nest of their own;
    behind which comes the first one, 10 rows on."""
    hw = load_hardware(find_hardware("x86_avx512"))

    def rounds_of(rows: range, at: list[tuple[str, int]]) -> CLoop:
        calls = tuple(_element(Affine.of([*at, ("i", 10240), ("p", 4)], 1024 * n)) for n in rows)
        return CLoop("j", 0, 2, (CLoop("p", 0, 256, calls),))

    first, last = (
        CLoop("q", 0, 2, (rounds_of(range(4), [("q", 4096)]),)),
        rounds_of(range(8, 10), []),
    )
    (outer,) = prefetch.add_prefetches((CLoop("i", 0, 50, (first, last)),), hw, 2**40)
    assert isinstance(outer, CLoop)
    values = [{"i": 3, "q": 1, "j": j, "p": 0} for j in range(2)]
    found = [[line for value in values for line in _asked(x, value)] for x in outer.body]
    start = 3 * 10240
    assert found[0] == [start + 8192 + 1024 * n for n in range(4)]
    assert found[1] == [start + 10240 + 1024 * n for n in range(2)]


def _element(offset: Affine) -> CCall:
    """Of a row of elements."""
    operands = (
        Operand("S", "dram", Address(offset), (4,)),
        Operand("D", "zmm", Address(Affine()), (4,)),
    )
    return CCall(Issue("broadcast_f32", operands, (("j", Span(16)),)))


@pytest.mark.parametrize(
    ("lines", "others", "is_shared"),
    [(4800, 0, True), (6400, 0, False), (4800, 300, False), (4, 0, False)],
)
def test_what_comes_next_must_find_room_beside_what_is_read(
    lines: int, others: int, is_shared: bool
) -> None:
    """768 KiB hold two panels of 300 KiB, but not two of 400, nor what 10 rounds read once, of
    18 KiB each, beside them; and of 4 lines ten rounds would ask for 10."""
    hw = load_hardware(find_hardware("x86_avx512"))
    panel = _load(Affine.of([("i", 64 * lines), ("p", 64)]))
    other = _load(Affine.of([("j", 64 * others), ("p", 4)], 2**40)) if others else panel
    nest = CLoop("i", 0, 50, (CLoop("j", 0, 10, (CLoop("p", 0, lines, (panel, other)),)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**41)
    asked = [line for p in range(16) for line in _asked(outer, {"i": 0, "j": 0, "p": p})]
    assert is_shared == (64 * lines in asked)


def _load(offset: Affine) -> CCall:
    """Of a line."""
    operands = (
        Operand("S", "dram", Address(offset), (4,)),
        Operand("D", "zmm", Address(Affine()), (4,)),
    )
    return CCall(Issue("load_f32", operands, (("j", Span(16)),)))


def _asked(node: CNode, values: dict[str, int]) -> Iterator[int]:
    """Lines that one iteration of all loops asks for."""
    match node:
        case CLoop():
            yield from (line for inner in node.body for line in _asked(inner, values))
        case CTurn(name, period, first, body):
            if values[name] % period == first % period:
                yield from (line for inner in body for line in _asked(inner, values))
        case CHint(operand, ahead, _, behind):
            is_behind = behind is not None and values[behind.name] >= behind.first
            more = behind.more_bytes if behind is not None and is_behind else 0
            yield (operand.address.value(values) + ahead + more) // 64 * 64


@pytest.mark.parametrize(
    ("rounds", "parts", "is_asked"), [(7, 64, True), (8, 64, False), (8, 2048, True)]
)
def test_parts_of_rows_that_many_rounds_find_in_the_cache_are_not_asked_for(
    rounds: int, parts: int, is_asked: bool
) -> None:
    """17 * 12 rows 64 KiB apart, more side by side than prefetchers follow, of which as many steps
    of 16 bytes are read in each round: 204 or 6528 KiB. Fewer rounds than 8 gain by what is asked
    for in the first one."""
    hw = slow_machine()
    at = [("i", 17 * 2**16), ("p", 16), ("s", 16 * parts)]
    rows = tuple(_load(Affine.of(at, row * 2**16)) for row in range(17))
    inner = CLoop("i", 0, 12, (CLoop("p", 0, parts, rows),))
    nest = CLoop("s", 0, 4, (CLoop("j", 0, rounds, (inner,)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    asked = list(_asked(outer, {"s": 0, "j": 0, "i": 0, "p": 0}))
    assert bool(asked) == is_asked


@needs_compiler
def test_hints_change_nothing(tmp_path: Path) -> None:
    hw = asking(tmp_path)
    covering = product(hw, 4, 40, 40)
    arrays = whole_arrays(covering.kernel, 1)
    got = execute_c(program(hw, "jip", k=40), hw, arrays)["C"]
    np.testing.assert_array_equal(got, interpret(covering.kernel, arrays)["C"])


@pytest.mark.parametrize(
    "form, kind, message",
    [
        (FORM, "kind: managed", "only caches have 'prefetch'"),
        (WALK.replace("{line}, 0", "{lime}, 0"), "granule: 16 bytes\n    ports", "lime"),
        (FORM.replace("{line}", "{lime}"), "granule: 16 bytes\n    ports", "lime"),
        (FORM.replace("cycles", "bytes"), "granule: 16 bytes\n    ports", "bytes"),
    ],
)
def test_mistakes_are_named(form: str, kind: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SpecErrors, match=message):
        asking(tmp_path, form, kind)


def test_rows_that_one_call_reads_are_asked_for_one_by_one() -> None:
    """Two rows of 4096 bytes are read at once in strips of 48 pairs, the last at the rows' end."""
    hw = load_hardware(find_hardware("x86_avx512"))
    sizes = {"m": 8, "n": 2048, "k": 1200}
    kernel = load_kernel(Path(__file__).parent / "c_kernels.py", sizes, "bgemm")
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        if covering.instruction == "dot_pair_bf16" and covering.loop("j").units == 2048 // 16:
            break
    tiling = tiled(covering, 8, 3, tuple("ijp"))
    found = lower(covering, replace(tiling, stays=tiling.stays[1:]), hw)
    assert found is not None
    assert any(issue.instruction.endswith("pairs_rows") for issue in issues(found.body))
    text = generate_c(found, hw).text
    places = re.findall(r"_mm_prefetch\(\(const void \*\)\(\(uintptr_t\)B .*\+ (\d+)\)", text)
    assert places and all(abs((int(place) + 2048) % 4096 - 2048) < 512 for place in places)


def test_copies_that_stay_in_no_cache_are_asked_for_as_well() -> None:
    """64 bytes of a panel per step of p, in rows of 64 KiB: 4 of them stay, 64 do not."""
    hw = load_hardware(find_hardware("x86_avx512"))
    place = Address(Affine.of([("i", 2**16), ("p", 64)], 128))
    operands = (
        Operand("S", "panel", place, (4, 2)),
        Operand("D", "zmm", Address(Affine()), (4, 2)),
    )
    call = CCall(Issue("load_packed_pairs", operands, (("j", Span(16)), ("q", Span(2)))))
    for rows, count in ((4, 0), (64, 1)):
        nest = CLoop("i", 0, rows, (CLoop("p", 0, 2**10, (call,) * 30),))
        writer = CallWriter(hw, (), frozenset({"zmm"}))
        (outer,) = prefetch.add_prefetches((nest,), hw, 2**30)
        assert isinstance(outer, CLoop) and isinstance(outer.body[0], CLoop)
        asked = [node for node in outer.body[0].body if isinstance(node, CHint)]
        assert len(asked) == count
        lines = [line for hint in asked for line in writer.hint(hint)]
        ahead = -(-1000 // 30) * 64  # steps of 30 loads, a cycle each
        assert all(f"(uintptr_t)panel + 65536 * i + 64 * p + {128 + ahead})" in x for x in lines)


@pytest.mark.parametrize(
    ("lengths", "rows", "lines", "at_once"),
    [
        ((4,), 12, 1, 3), ((5,), 12, 1, 3), ((3,), 12, 1, 4), ((2,), 12, 1, 6), ((24,), 12, 1, 1),
        ((), 12, 1, 12), ((23,), 12, 1, 1), ((3, 3, 64), 14, 2, 2), ((3, 3, 128), 10, 3, 3),
        ((2, 7), 9, 3, 15), ((512,), 14, 2, 2), ((40, 4), 4, 2, 8), ((2, 3), 3, 3, 3),
    ],
)  # fmt: skip
def test_many_hints_are_shared_out_among_the_iterations_of_loops(
    lengths: tuple[int, ...], rows: int, lines: int, at_once: int
) -> None:
    """So many rows, each of some lines, for each step of i, read before nested loops: each line is
    asked for once, few in vain, few in the same iteration; where there is no loop, all at once."""
    hw = load_hardware(find_hardware("x86_avx512"))
    pitch = 2**13
    places = [row * pitch + 64 * line for row in range(rows) for line in range(lines)]
    reads = [load(Address(Affine.of([("i", rows * pitch)], place)), "dram") for place in places]
    nest: tuple[CNode, ...] = (load(Address(Affine()), "panel"),) * 300
    for depth, length in reversed([*enumerate(lengths)]):
        nest = (CLoop(f"j{depth}", depth + 1, depth + 1 + length, nest),)
    (outer,) = prefetch.add_prefetches((CLoop("i", 0, 2**10, (*reads, *nest)),), hw, 2**30)
    assert isinstance(outer, CLoop)
    ahead = -(-1000 // (len(places) + 300 * prod(lengths))) * rows * pitch  # a load takes a cycle
    asked = [*_asked_together(outer.body, {"i": 0})]
    in_all = [line for some in asked for line in some]
    assert {ahead + place for place in places} <= set(in_all)
    assert len(in_all) == len(set(in_all)) <= 1.25 * len(places)
    assert max(map(len, asked)) == at_once


def _asked_together(nodes: Sequence[CNode], values: dict[str, int]) -> Iterator[list[int]]:
    """Lines that each iteration of each loop asks for before loops within it begin."""
    yield [line for node in nodes if not isinstance(node, CLoop) for line in _asked(node, values)]
    for node in nodes:
        if isinstance(node, CLoop) and isinstance(node.stop, int):
            for value in range(node.first, node.stop):
                yield from _asked_together(node.body, {**values, node.name: value})


@pytest.mark.parametrize(("steps", "is_asked"), [(16, True), (32, False), (1, False)])
def test_rows_too_short_for_prefetchers_are_asked_for_where_they_go_on(
    steps: int, is_asked: bool
) -> None:
    """14 rows 4 KiB apart, of which each step reads the two lines behind those of the one before:
    of rows of 64 lines prefetchers know what comes next."""
    hw = load_hardware(find_hardware("x86_avx512"))
    at = [("i", 14 * 2**12), ("j", 128)]
    rows = (Address(Affine.of(at, 2**12 * n + 64 * m)) for n in range(14) for m in range(2))
    inner = CLoop("p", 0, 64, (load(Address(Affine()), "panel"),) * 30)
    nest = CLoop("j", 0, steps, (*(load(row, "dram") for row in rows), inner))
    (outer,) = prefetch.add_prefetches((CLoop("i", 0, 2**10, (nest,)),), hw, 2**30)
    asked = {line for p in range(64) for line in _asked(outer, {"i": 0, "j": 0, "p": p})}
    wanted = {128 + 2**12 * n + 64 * m for n in range(14) for m in range(2)}
    assert (wanted <= asked) == is_asked


@pytest.mark.parametrize(
    ("pitch", "far"), [(2048, 13 * 2048), (8192, 13 * 8192), (8192, 2048)], ids=str
)
@pytest.mark.parametrize("lines", [1, 2])
def test_lines_of_rows_that_a_short_loop_walks_along_are_asked_for_where_the_one_around_goes_on(
    pitch: int, far: int, lines: int
) -> None:
    """2 KiB of each of 13 rows, some lines per step: one strip ahead, in other rows or further on
    in the same ones, each line once, few at a time."""
    hw = slow_machine()
    (outer,) = prefetch.add_prefetches((_strip(13, pitch, far, 32 // lines, lines),), hw, 2**40)
    asked = [[*_asked(outer, {"q": 5, "i": i})] for i in range(32 // lines)]
    in_all = [line for some in asked for line in some]
    ahead = {line - 5 * far for line in in_all}
    start = min(ahead)
    assert start % far == 0 and 0 < start <= 2 * far
    assert ahead == {start + pitch * n + 64 * m for n in range(13) for m in range(32)}
    assert len(in_all) == len(ahead) and {len(some) for some in asked} == {13 * lines}


@pytest.mark.parametrize(
    ("rows", "pitch", "far", "steps", "strips"),
    [
        (13, 4096, 13 * 4096, 64, 10_000),  # prefetchers follow 64 lines
        (1, 2048, 2048, 32, 10_000),  # and a single row
        (13, 1024, 13 * 1024, 32, 10_000),  # the second half of a row is the first of the next one
        (13, 2048, 13 * 2048, 32, 29),  # all of it stays
        (65, 2048, 65 * 2048, 8, 10_000),  # too many for an iteration
    ],
)
def test_lines_of_rows_that_are_followed_or_kept_or_overlap_are_not_asked_for_by_strips(
    rows: int, pitch: int, far: int, steps: int, strips: int
) -> None:
    hw = load_hardware(find_hardware("x86_avx512"))
    nest = _strip(rows, pitch, far, steps, 1, strips)
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**40)
    assert not [*_asked(outer, {"q": 5, "i": 0})]


def _strip(rows: int, pitch: int, far: int, steps: int, lines: int, strips: int = 10_000) -> CLoop:
    """Some lines of each row at a time; from strip to strip so far on."""
    at = [("q", far), ("i", 64 * lines)]
    places = [pitch * row + 64 * line for row in range(rows) for line in range(lines)]
    calls = tuple(_load(Affine.of(at, place)) for place in places)
    return CLoop("q", 0, strips, (CLoop("i", 0, steps, calls),))


def test_each_row_of_a_strided_read_is_asked_for_where_the_loop_around_goes_on() -> None:
    """A copy of a column of 16 rows, 6 KiB apart, in steps of 4 bytes: the next 16 rows."""
    hw = load_hardware(find_hardware("x86_avx512"))
    pitch = 6 * 2**10
    place = Address(Affine.of([("i", 16 * pitch), ("p", 4)], 64))
    operands = (
        Operand("S", "dram", place, (pitch,)),
        Operand("D", "panel", Address(Affine.of([("p", 64)])), (4,)),
    )
    call = CCall(Issue("pack_strided_f32", operands, (("j", Span(16)),)))
    nest = CLoop("i", 0, 2**10, (CLoop("p", 0, 1500, (call,)),))
    (outer,) = prefetch.add_prefetches((nest,), hw, 2**30)
    asked = {line for p in range(16) for line in _asked(outer, {"i": 0, "p": p})}
    assert asked == {(16 + row) * pitch + 64 for row in range(16)}


def load(place: Address, memory: str) -> CCall:
    operands = (Operand("S", memory, place, (4, 2)), Operand("D", "zmm", Address(Affine()), (4, 2)))
    name = "load_packed_pairs" if memory == "panel" else "load_pairs"
    return CCall(Issue(name, operands, (("j", Span(16)), ("q", Span(2)))))
