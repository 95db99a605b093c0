"""Rows that a program reads side by side: lines of others between two visits to one.

Oracle: every access in order.
"""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from isamap.costmodels import FASTEST, Stay, Tiling, count_work, estimate
from isamap.costmodels.caches import refill_cycles
from isamap.costmodels.lines import NestLoop, Stream, find_nest, find_streams, lines_by_depth
from isamap.costmodels.runs import lone_cycles, rows_beside, strayed_cycles
from isamap.costmodels.visits import lines_between, rows_abreast
from isamap.hwdesc import Hardware, load_hardware
from isamap.ir import load_kernel
from isamap.mapper import Covering, coverings
from isamap.resources import find_hardware
from isamap.scheduler.descend import descend

LINE = 64
SCALARS = "fma_scalar_f32", "fma_f32"  # of which one operand is a scalar
PRODUCT = """
from isamap.lang import In, Out, f32, grid, kernel

@kernel
def product(m=1, n=1, k=1):
    A, B, C = In(f32, k, m), In(f32, n, k), Out(f32, n, m)
    for j, i, p in grid(n, m, k):
        C[j, i] += A[p, i] * B[j, p]
"""


def counted(nest: list[tuple[int, int]]) -> int:
    """Of loops (count, stride), the innermost first: the most lines that are touched between the
    last touch of one and the first of the one behind it."""
    places = product(*(range(0, count * step, step) for count, step in reversed(nest)))
    touched = [sum(place) // LINE for place in places]
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    most = 0
    for number, line in enumerate(touched):
        if line not in first and line - 1 in last:
            most = max(most, len(set(touched[last[line - 1] + 1 : number])))
        first.setdefault(line, number)
        last[line] = number
    return most


@pytest.mark.parametrize(
    "nest",
    [
        [(64, 64), (8, 8192)],  # one row after the other
        [(8, 4096), (64, 64)],  # a line of each
        [(4, 64), (8, 4096), (16, 256)],  # four
        [(16, 4), (8, 4096), (64, 64)],  # a line of each, element by element
        [(8, 4096), (1024, 4)],  # an element of each
        [(4, 64), (8, 1024), (4, 256), (3, 8192)],  # the next rows go on where these end
        [(2, 64), (3, 4096), (2, 65536), (8, 128)],  # rows of two loops
        [(4, 8192), (16, 64), (3, 1024)],  # two loops along them
        [(2, 64), (3, 4096), (4, 128), (2, 65536), (3, 512)],  # more rows between two such
        [(4, 1024), (16, 64), (3, 65536), (2, 4096)],  # more where some have become one
    ],
)
def test_lines_of_other_rows_are_those_between_two_touches(nest: list[tuple[int, int]]) -> None:
    loops = [NestLoop(str(n), False, count) for n, (count, _) in enumerate(nest)]
    assert lines_between(LINE, loops, moved(tuple(step for _, step in nest))) == counted(nest)


def moved(steps: tuple[int, ...]) -> Stream:
    """An array of f32 that loops move on by so many bytes."""
    still = (False,) * len(steps)
    return Stream(steps, (), 4, still, 0, 1, False, 4096, True, False, 1.0, False)


def column(
    tmp_path: Path, m: int, n: int, k: int, machine: str = "x86_avx512"
) -> tuple[Hardware, Covering]:
    """C = A * B, of which A is read row by row into registers."""
    (tmp_path / "product.py").write_text(PRODUCT)
    hw = load_hardware(find_hardware(machine))
    kernel = load_kernel(tmp_path / "product.py", {"m": m, "n": n, "k": k}, "product")
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        is_packed = any(r.is_packed for plan in covering.operands for r in plan.residences)
        if covering.instruction in SCALARS and not is_packed:
            return hw, covering
    raise AssertionError("the vector instruction matches")


def test_rows_that_prefetchers_lose_enter_at_their_own_pace(tmp_path: Path) -> None:
    """Of 2048 rows of 24 KiB, 13 at a time: a line of each has 12 of others between two, with the
    row of sums no more than prefetchers tell apart; 15 lines of each 180."""
    hw, covering = column(tmp_path, 6144, 1, 2048)
    (cache,) = (memory for memory in hw.caches if memory.strayed_cycles)
    even = replace(cache, strayed_cycles=0.0)
    other = replace(hw, memories=tuple(even if x is cache else x for x in hw.memories))
    more = {}
    for lines in (1, 15):
        stays = tuple(
            Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences
        )
        tiles = (("j", 1), ("i", lines), ("p", 13))
        tiling = Tiling(tiles, ("j", "p", "i"), ("p", "j", "i"), stays)
        cycles = [
            estimate(covering, count_work(covering, x), tiling, x).refill_cycles
            for x in (hw, other)
        ]
        more[lines] = cycles[0] - cycles[1]
    each = cache.strayed_cycles - LINE / cache.refill_bytes_per_cycle
    assert more[1] == 0
    assert more[15] == pytest.approx(each * 6144 * 2048 * 4 / LINE, rel=0.03)


def rows_in_turn(nest: list[tuple[int, int]]) -> int:
    """Of loops (count, stride), the innermost first: how many runs of 64 neighbouring lines or more
    they touch."""
    places = product(*(range(0, count * step, step) for count, step in reversed(nest)))
    lines = {sum(place) // LINE for place in places}
    starts = [line for line in lines if line - 1 not in lines]
    return len([line for line in starts if all(line + n in lines for n in range(64))])


@pytest.mark.parametrize(
    "nest",
    [
        [(2, 32), (14, 30848), (480, 64)],  # 14 rows
        [(14, 30848), (960, 32)],
        [(8, 4), (3000, 32)],  # one row
        [(7, 8256), (4, 8256 * 7), (128, 64)],  # 4 times 7
        [(5, 4096 + 64), (64, 64)],
        [(1, 64), (300, 64)],
    ],
)
def test_rows_that_are_walked_along_together_are_counted(nest: list[tuple[int, int]]) -> None:
    loops = [NestLoop(f"x{n}", True, count) for n, (count, _) in enumerate(nest)]
    steps = tuple(step for _, step in nest)
    assert rows_abreast(LINE, loops, moved(steps)) == rows_in_turn(nest)


def test_rows_shorter_than_a_page_that_go_on_in_the_next_are_one() -> None:
    """9 rows of 2 KiB that follow each other, a line of each in turn, and 9 more behind them."""
    loops = [NestLoop("p", True, 9), NestLoop("i", True, 32), NestLoop("q", True, 50)]
    assert rows_abreast(LINE, loops, moved((2048, 64, 9 * 2048))) == 1


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_each_of_several_rows_takes_its_share_of_what_a_lone_one_takes(rows: int) -> None:
    hw = load_hardware(find_hardware("x86_avx2"))
    (cache,) = (memory for memory in hw.caches if memory.lone_cycles)
    loops = [NestLoop("p", True, rows), NestLoop("i", True, 512)]
    found = lone_cycles(cache, loops, moved((2**16, 64)), LINE)
    assert found == pytest.approx(cache.lone_cycles / rows)
    even = replace(cache, lone_cycles=0.0)
    assert lone_cycles(even, loops, moved((2**16, 64)), LINE) == 0.0


@pytest.mark.parametrize(("p", "lost"), [(10, 0.0), (12, 0.24), (16, 0.53), (80, 0.998)])
def test_rows_of_sums_beside_take_places_of_prefetchers(
    p: int, lost: float, tmp_path: Path
) -> None:
    """Four rows of C move along with rows of A; 14 can be told apart, and of more any makes room
    for one that comes: of 16, 20 and 84 so many are lost. Not where they are asked for."""
    hw, covering = column(tmp_path, 8448, 4, 2816, "x86_avx2")
    stays = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    tiling = Tiling((("j", 4), ("i", 2), ("p", p)), ("j", "p", "i"), ("p", "j", "i"), stays)
    nest = find_nest(covering, tiling, hw)
    streams = list(find_streams(covering, tiling, nest, hw, {}))
    lines = [lines_by_depth(LINE, nest, stream) for stream in streams]
    (a,) = (x for x in streams if x.strides[-1] == p * 8448 * 4)
    beside = rows_beside(nest, a, streams, lines)
    assert beside == 4
    (cache,) = (memory for memory in hw.caches if memory.strayed_cycles)
    pace = LINE / cache.refill_bytes_per_cycle
    slow = pace + lost * (cache.strayed_cycles - pace)
    assert strayed_cycles(cache, nest, a, LINE, beside) == pytest.approx(slow, rel=0.01)
    if p <= 14:
        assert strayed_cycles(cache, nest, a, LINE, None) == pace


@pytest.mark.parametrize("p", [14, 16, 28])
def test_copies_of_too_many_rows_wait_for_what_is_lost(p: int, tmp_path: Path) -> None:
    """Rows of A that are packed: up to 14 at a time are told apart, and calls that run meanwhile
    hide what more of them take longer; a copy hides nothing."""
    (tmp_path / "product.py").write_text(PRODUCT)
    hw = load_hardware(find_hardware("x86_avx2"))
    kernel = load_kernel(tmp_path / "product.py", {"m": 7680, "n": 4, "k": 2560}, "product")
    covering = next(
        c for c in coverings(kernel, hw, [], may_reassociate=True)
        if c.instruction == "fma_f32" and [len(x.residences) for x in c.operands] == [2, 1, 1]
    )  # fmt: skip
    stays = tuple(
        Stay(x.name, n, int(n == 1 or x.is_output), 1)
        for x in covering.operands
        for n in range(len(x.residences))
    )
    tiling = Tiling((("j", 4), ("i", 2), ("p", p)), ("p", "i", "j"), ("p", "i", "j"), stays)
    waiting = {}
    for lost in (14.0, 0.0):
        memories = (replace(m, strayed_cycles=lost) if m.name == "l3" else m for m in hw.memories)
        one = replace(hw, memories=tuple(memories), name=f"x{lost}")
        found = dict(zip((c.name for c in one.caches), refill_cycles(covering, tiling, one)))
        waiting[lost] = found["l3"].waiting_cycles
    pace = LINE / next(c for c in hw.caches if c.lone_cycles).refill_bytes_per_cycle
    lines = 7680 * 2560 * 4 / LINE
    if p > 14:
        assert waiting[14.0] > 0.2 * lines * (14 - pace)
    assert waiting[14.0] <= waiting[0.0] or p > 14


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_line_of_each_row_at_a_time_is_found(n: int, tmp_path: Path) -> None:
    """From tiles that are best where each sum is done at once: many lines of one row."""
    hw, covering = column(tmp_path, 7680, n, 2560)
    work = count_work(covering, hw)
    found = descend(covering, work, hw, FASTEST)
    stays = tuple(Stay(x.name, 0, int(x.is_output), 1) for x in covering.operands if x.residences)
    order = ("j", "p", "i")
    wanted = Tiling((("j", n), ("i", 1), ("p", 14)), order, ("p", "i", "j"), stays)
    assert found is not None
    least = estimate(covering, work, wanted, hw).cycles
    assert estimate(covering, work, found, hw).cycles <= least
