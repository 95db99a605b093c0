"""Sums that are taken out unfinished and brought back: meaning, bytes, C text.

Oracle: the interpreter, the emulator's counts.
"""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from isamap.costmodels import Stay, Tiling, count_work, moved_by
from isamap.emulator import run, time_program
from isamap.hwdesc import Hardware
from isamap.ir import interpret, load_kernel
from isamap.mapper import Covering, Task, coverings, cut_tasks, flatten, join_tasks
from isamap.native import execute_c, whole_arrays
from isamap.program import Program
from isamap.scheduler import is_legal, lower
from tests.codegen.test_c_programs import needs_compiler
from tests.costmodels.test_caches import machine, product, tiled

ORDERS = tuple(permutations("ijp"))


def cut(covering: Covering, hw: Hardware, outer: tuple[str, ...]) -> tuple[Tiling, Program]:
    """Tiles of two units with shorter ones at the ends, and their program."""
    whole = tiled(covering, 2, 2, outer)
    tiling = Tiling((("i", 2), ("j", 2), ("p", 3)), outer, whole.inner, whole.stays)
    assert is_legal(covering, tiling, hw)
    program = lower(covering, tiling, hw)
    assert program is not None
    return tiling, program


@pytest.mark.parametrize("outer", ORDERS, ids="".join)
def test_every_loop_order_is_right_and_moves_what_is_counted(
    outer: tuple[str, ...], tmp_path: Path
) -> None:
    hw = machine(tmp_path, 512)
    covering = product(hw, 5, 12, 7)
    tiling, program = cut(covering, hw, outer)
    arrays = whole_arrays(covering.kernel, 1)
    expected = interpret(covering.kernel, arrays)["C"]
    np.testing.assert_array_equal(run(program, hw, arrays, compiled=False).outputs["C"], expected)
    moved = moved_by(covering, count_work(covering, hw), tiling)
    timing = time_program(program, hw, compiled=False)
    read, written = dict(moved.read_bytes), dict(moved.written_bytes)
    for row in timing.traffic:
        counted = read.get(row.memory, 0), written.get(row.memory, 0)
        assert counted == (row.read_bytes, row.written_bytes), row.memory


@needs_compiler
@pytest.mark.parametrize("outer", [("p", "j", "i"), ("i", "p", "j")], ids="".join)
def test_compiled_sums_go_on_where_they_were_left(outer: tuple[str, ...], tmp_path: Path) -> None:
    hw = machine(tmp_path, 512)
    covering = product(hw, 5, 10, 7)
    _, program = cut(covering, hw, outer)
    arrays = whole_arrays(covering.kernel, 1)
    got = execute_c(program, hw, arrays)["C"]
    np.testing.assert_array_equal(got, interpret(covering.kernel, arrays)["C"])


BIASED = """from isamap.lang import In, Out, f32, grid, kernel


@kernel
def biased():
    A, B, C, D = In(f32, 5, 7), In(f32, 7, 12), Out(f32, 5, 12), In(f32, 12)
    for i, j in grid(5, 12):
        C[i, j] = D[j]
    for i, j, p in grid(5, 12, 7):
        C[i, j] += A[i, p] * B[p, j]
"""


@pytest.mark.parametrize("outer", ORDERS, ids="".join)
def test_sums_that_begin_in_another_buffer_go_on_in_their_own(
    outer: tuple[str, ...], tmp_path: Path
) -> None:
    hw = machine(tmp_path, 512)
    (tmp_path / "biased.py").write_text(BIASED)
    kernel = load_kernel(tmp_path / "biased.py", {}, "biased")
    tasks = tuple(flatten(cut_tasks(kernel)))
    (joined,) = join_tasks(kernel, tasks, 1)
    found = coverings(joined.kernel, hw, [], joined.setting(), may_reassociate=True)
    covering = next(one for one in found if dict(one.binding)["j"] == (joined_loop(joined, 1),))
    order = tuple(joined_loop(joined, "ijp".index(name)) for name in outer)
    tiles = zip((joined_loop(joined, n) for n in range(3)), (2, 2, 3), strict=True)
    inner = tuple(joined_loop(joined, n) for n in (2, 0, 1))
    one_block = {plan.name for plan in covering.operands if plan.buffer == "A"}
    stays = tuple(Stay(p.name, 0, int(p.name not in one_block), 1) for p in covering.operands)
    tiling = Tiling(tuple(tiles), order, inner, stays)
    assert is_legal(covering, tiling, hw)
    program = lower(covering, tiling, hw)
    assert program is not None
    arrays = whole_arrays(kernel, 1)
    got = run(program, hw, arrays, compiled=False).outputs["C"]
    np.testing.assert_array_equal(got, interpret(kernel, arrays)["C"])
    moved = moved_by(covering, count_work(covering, hw), tiling)
    read, written = dict(moved.read_bytes), dict(moved.written_bytes)
    for row in time_program(program, hw, compiled=False).traffic:
        counted = read.get(row.memory, 0), written.get(row.memory, 0)
        assert counted == (row.read_bytes, row.written_bytes), row.memory


def joined_loop(task: Task, number: int) -> str:
    """A loop of the task's sum."""
    return task.statement.loops[number].name


def test_without_caches_sums_stay_until_they_are_finished(tmp_path: Path) -> None:
    """The solver's model does not know the way back."""
    hw = machine(tmp_path, None)
    covering = product(hw, 5, 10, 7)
    assert not any(r.again for plan in covering.operands for r in plan.residences)
