"""Single blocks of several units side by side in registers: meaning, calls, where it is allowed.

Oracle: the interpreter, the emulator's counts.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from isamap.costmodels import Stay, Tiling, count_work, estimate, moved_by
from isamap.emulator import run, time_program
from isamap.hwdesc import load_hardware
from isamap.ir import interpret, load_kernel, parse_semantics
from isamap.mapper import Covering, coverings
from isamap.native import whole_arrays
from isamap.resources import find_hardware, find_kernel
from isamap.scheduler import is_legal, lower
from isamap.scheduler.legality import breaches
from isamap.scheduler.neighbours import single_blocks, sizes_by_loop, summed_in_parts
from tests.codegen.program_calls import walk
from tests.codegen.test_prefetch import asking
from tests.costmodels.test_caches import machine, product


def blocks(covering: Covering, outer: str, inner: str, kept: dict[str, tuple[str, ...]]) -> Tiling:
    """Tiles of 2 rows, 2 vectors and 3 steps with shorter ones at the ends; a tile of C."""
    stays = tuple(
        Stay(plan.name, 0, int(plan.is_output), 1, kept.get(plan.buffer, ()))
        for plan in covering.operands
    )
    return Tiling((("i", 2), ("j", 2), ("p", 3)), tuple(outer), tuple(inner), stays)


@pytest.mark.parametrize("outer", ["ijp", "pij", "jpi"])
@pytest.mark.parametrize(
    ("inner", "kept", "num_loads"),
    [
        ("pij", {}, (5 * 7 * 2, 5 * 7 * 3)),
        ("pij", {"B": ("j",)}, (5 * 7 * 2, 3 * 7 * 3)),
        ("pji", {}, (5 * 7 * 3, 3 * 7 * 3)),
        ("pji", {"A": ("i",)}, (5 * 7 * 2, 3 * 7 * 3)),
    ],
)
def test_blocks_that_stay_side_by_side_are_right_and_fetched_once(
    outer: str,
    inner: str,
    kept: dict[str, tuple[str, ...]],
    num_loads: tuple[int, int],
    tmp_path: Path,
) -> None:
    """5 rows in 3 tiles, 3 vectors in 2, 7 steps in 3. An element of A is fetched once for a tile
    of vectors if it stays, else for each; a vector of B likewise for a tile of rows."""
    hw = machine(tmp_path, 512)
    covering = product(hw, 5, 12, 7)
    tiling = blocks(covering, outer, inner, kept)
    assert is_legal(covering, tiling, hw)
    program = lower(covering, tiling, hw)
    assert program is not None
    calls = [name for name, _, _ in walk(program.body, {}, {})]
    if outer == "ijp":  # else sums are loaded, too
        assert (calls.count("broadcast"), calls.count("load")) == num_loads
    arrays = whole_arrays(covering.kernel, 1)
    expected = interpret(covering.kernel, arrays)["C"]
    np.testing.assert_array_equal(run(program, hw, arrays, compiled=False).outputs["C"], expected)
    moved = moved_by(covering, count_work(covering, hw), tiling)
    read, written = dict(moved.read_bytes), dict(moved.written_bytes)
    for row in time_program(program, hw, compiled=False).traffic:
        counted = read.get(row.memory, 0), written.get(row.memory, 0)
        assert counted == (row.read_bytes, row.written_bytes), row.memory


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize(
    ("inner", "kept"), [("pji", ("i",)), ("ijp", ("p",)), ("jip", ("i", "p")), ("jpi", ("i", "p"))]
)
def test_blocks_of_a_window_lie_apart(
    inner: str, kept: tuple[str, ...], stride: int, tmp_path: Path
) -> None:
    """Elements that rows and steps find side by side, in registers of their own."""
    hw = machine(tmp_path, 512)
    text = f"""
A, B, C = In(f32, {4 * stride + 7}), In(f32, 7, 12), InOut(f32, 5, 12)
for i, j, p in grid(5, 12, 7):
  C[i, j] += A[{stride} * i + p] * B[p, j]"""
    kernel = parse_semantics(text, "windows")
    found = coverings(kernel, hw, [], may_reassociate=True)
    covering = next(c for c in found if dict(c.binding)["j"] == ("j",))
    tiling = blocks(covering, "ijp", inner, {"A": kept})
    assert is_legal(covering, tiling, hw)
    program = lower(covering, tiling, hw)
    assert program is not None
    arrays = whole_arrays(kernel, 1)
    expected = interpret(kernel, arrays)["C"]
    np.testing.assert_array_equal(run(program, hw, arrays, compiled=False).outputs["C"], expected)


@pytest.mark.parametrize("inner", ["pij", "pji", "jpi", "ipj"])
@pytest.mark.parametrize("outer", ["ijp", "pji", "jpi"])
def test_blocks_of_a_packed_array_stay_side_by_side(outer: str, inner: str) -> None:
    """Elements of A, or vectors of B, that were packed before; tiles with shorter last ones."""
    hw = load_hardware(find_hardware("x86_avx2"))
    path, name = find_kernel("gemm:gemm_f32")
    kernel = load_kernel(path, {"m": 5, "n": 41, "k": 7}, name)
    some: dict[str, Covering] = {}  # by what is packed
    for covering in coverings(kernel, hw, [], may_reassociate=True):
        numbers = {plan.buffer: len(plan.residences) for plan in covering.operands}
        if dict(covering.binding).get("j") == ("j",) and sorted(numbers.values()) == [1, 1, 2]:
            some.setdefault(max(numbers, key=lambda name: numbers[name]), covering)
    assert len(some) >= 2, "either input may be packed"
    for covering in some.values():
        stays = tuple(
            stay if stay.level else single_blocks(covering, stay, tuple(inner), hw)
            for plan in covering.operands
            for stay in (
                Stay(plan.name, n, int(plan.is_output or r.is_packed), 1)
                for n, r in enumerate(plan.residences)
            )
        )
        tiling = Tiling((("i", 2), ("j", 3), ("p", 3)), tuple(outer), tuple(inner), stays)
        assert is_legal(covering, tiling, hw)
        program = lower(covering, tiling, hw)
        assert program is not None
        arrays = whole_arrays(kernel, 1)
        expected = interpret(kernel, arrays)["C"]
        found = run(program, hw, arrays, compiled=False).outputs["C"]
        np.testing.assert_array_equal(found, expected)  # of whole numbers
        moved = moved_by(covering, count_work(covering, hw), tiling)
        read, written = dict(moved.read_bytes), dict(moved.written_bytes)
        for row in time_program(program, hw, compiled=False).traffic:
            counted = read.get(row.memory, 0), written.get(row.memory, 0)
            assert counted == (row.read_bytes, row.written_bytes), row.memory


def test_what_is_kept_takes_room(tmp_path: Path) -> None:
    hw = machine(tmp_path, 512)
    covering = product(hw, 5, 96, 7)
    tiling = blocks(covering, "ijp", "pij", {"B": ("j",)})
    for vectors, is_room in ((21, True), (22, False)):  # 64 registers, one of them for A
        wide = replace(tiling, tiles=(("i", 2), ("j", vectors), ("p", 3)))
        assert is_legal(covering, wide, hw) == is_room
    none = blocks(covering, "ijp", "pij", {})
    assert is_legal(covering, replace(none, tiles=(("i", 2), ("j", 22), ("p", 3))), hw)


def test_only_blocks_of_inputs_stay_and_only_those_further_in(tmp_path: Path) -> None:
    hw = machine(tmp_path, 512)
    covering = product(hw, 5, 12, 7)
    for inner, kept, problem in (
        ("pij", {"B": ("p",)}, "outside others"),
        ("pij", {"A": ("i",)}, ""),
    ):
        found = [x.message for x in breaches(covering, blocks(covering, "ijp", inner, kept), hw)]
        assert all(problem in message for message in found) and bool(found) == bool(problem)
    memories = (replace(m, is_renamed=False) if m.name == "regs" else m for m in hw.memories)
    waiting = replace(hw, memories=tuple(memories))
    (found,) = breaches(covering, blocks(covering, "ijp", "pij", {"B": ("j",)}), waiting)
    assert "only inputs in registers that are renamed do" in found.message
    assert found.hint == "drop j"


def test_tiles_of_loops_that_do_not_move_an_operand_are_not_kept(tmp_path: Path) -> None:
    """There is one, which would be filled in the first of them and looked for in each."""
    hw = machine(tmp_path, 512)
    covering = product(hw, 5, 12, 7)
    tiling = blocks(covering, "ijp", "pij", {})
    tiles = replace(tiling, stays=tuple(replace(stay, level=1) for stay in tiling.stays))
    for number, stay in enumerate(tiles.stays):
        (foreign,) = {"i", "j", "p"} - set(covering.operand(stay.operand).loops)
        kept = list(tiles.stays)
        kept[number] = replace(stay, kept=(foreign,))
        found = [x for x in breaches(covering, replace(tiles, stays=tuple(kept)), hw) if x.kept]
        assert [(x.subject, x.kept) for x in found] == [(stay.operand, foreign)]
        assert found[0].message.startswith(f"loop {foreign} does not move {stay.operand}")


def test_a_sum_in_parts_is_near_one_that_is_whole(tmp_path: Path) -> None:
    """Each part for all tiles; no more is loaded than before. Not where all stay in the cache."""
    hw = asking(tmp_path)
    covering = product(hw, 8, 48, 60)
    whole = blocks(covering, "ijp", "pji", {})
    stays = tuple(replace(s, level=1) if s.operand == "A" else s for s in whole.stays)
    whole = replace(whole, tiles=(("i", 4), ("j", 3), ("p", 1)), stays=stays)
    found = list(summed_in_parts(covering, whole, sizes_by_loop(covering, hw), hw))
    assert [dict(t.tiles)["p"] for t in found] == [30, 20, 15, 10, 8, 5, 4]
    caches = [replace(cache, size_bytes=2**20) for cache in hw.caches]
    others = [memory for memory in hw.memories if memory not in hw.caches]
    large = replace(hw, memories=(*others, *caches))
    assert not list(summed_in_parts(covering, whole, sizes_by_loop(covering, large), large))
    before = estimate(covering, count_work(covering, hw), whole, hw)
    for tiling in found:
        assert is_legal(covering, tiling, hw) and tiling.outer[0] == "p"
        after = estimate(covering, count_work(covering, hw), tiling, hw)
        resumed = 8 * 12 * (-(-60 // dict(tiling.tiles)["p"]) - 1)  # vectors of C
        loads = dict(after.unit_cycles)["load"] - dict(before.unit_cycles)["load"]
        assert loads == resumed
