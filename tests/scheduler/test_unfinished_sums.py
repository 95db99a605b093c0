"""Sums that are taken out unfinished and brought back: meaning, bytes, C text.

Oracle: the interpreter, the emulator's counts.
"""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from isamap.costmodels import Tiling, count_work, moved_by
from isamap.emulator import run, time_program
from isamap.hwdesc import Hardware
from isamap.ir import interpret
from isamap.mapper import Covering
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


def test_without_caches_sums_stay_until_they_are_finished(tmp_path: Path) -> None:
    """The solver's model does not know the way back."""
    hw = machine(tmp_path, None)
    covering = product(hw, 5, 10, 7)
    assert not any(r.again for plan in covering.operands for r in plan.residences)
