"""A store that takes home only what was computed is refused what a copy has put there.

In: programs for VTA, whose store reads a buffer that GEMM and ALU alone write. Out: errors for
bytes that were only loaded, and only those. Not its job: what schedules do (`tests/planner`).
"""

import numpy as np
import pytest

from isamap.emulator import run
from isamap.errors import ProgramError
from isamap.hwdesc import load_hardware
from isamap.ir import Affine
from isamap.program import (
    Address,
    Issue,
    Operand,
    Placement,
    Program,
    Repeat,
    Span,
    natural_layout,
)
from isamap.resources import find_hardware

VTA = load_hardware(find_hardware("vta"))
BOTH = pytest.mark.parametrize("compiled", [True, False])
HOME = 4096


def call(
    name: str, places: tuple[tuple[str, str, int, int, int], ...], repeats: dict[str, int]
) -> Issue:
    """A call on blocks of 16 lanes. `places`: operand, memory, address, bytes from lane to lane
    and from block to block; `repeats`: of them one may be above 1."""
    operands = tuple(Operand(o, m, Address(Affine((), at)), (x,)) for o, m, at, x, _ in places)
    steps = tuple(step for *_, step in places)
    rows = tuple(Repeat(n, Span(count), steps) for n, count in repeats.items())
    return Issue(name, operands, (("l", Span(16)),), rows)


def load(row: int, rows: int) -> Issue:
    """`rows` accumulator rows of 16 i32 from DRAM."""
    places = (("S", "dram", 0, 4, 64), ("D", "acc", 64 * row, 4, 64))
    return call("load_acc", places, {"rows": 1, "columns": rows})


def add(target: int, source: int) -> Issue:
    """Adds a row to another one."""
    places = (("X", "acc", 64 * target, 4, 64), ("Y", "acc", 64 * source, 4, 64))
    return call("alu_add", places, {"outer": 1, "inner": 1, "uop": 1})


def store(row: int, rows: int) -> Issue:
    """The low bytes of `rows` rows to DRAM."""
    places = (("S", "acc", 64 * row, 4, 64), ("D", "dram", HOME, 1, 16))
    return call("store", places, {"rows": 1, "columns": rows})


def execute(body: tuple[Issue, ...], compiled: bool) -> np.ndarray:
    """The first row that goes home, where DRAM holds 1, 2, .. at first."""
    placed = Placement("X", 0, natural_layout("i32", (64,)))
    home = Placement("Y", HOME, natural_layout("i8", (4, 16)))
    program = Program("p", "vta", (placed,), (home,), body)
    data = {"X": np.arange(64, dtype=np.int32)}
    return run(program, VTA, data, compiled=compiled).outputs["Y"][0]


@BOTH
def test_what_was_loaded_and_then_computed_goes_home(compiled: bool) -> None:
    found = execute((load(0, 2), add(0, 1), store(0, 1)), compiled)
    assert (found == 2 * np.arange(16) + 16).all()


@BOTH
def test_a_row_that_was_only_loaded_is_refused(compiled: bool) -> None:
    """The second of two rows: what is added was loaded itself."""
    with pytest.raises(ProgramError) as caught:
        execute((load(0, 2), add(0, 1), store(0, 2)), compiled)
    assert str(caught.value) == (
        "store[]: operand 'S': takes only what was computed, and a copy has put acc[64] there\n"
        "hint: compute it there, or take it home with another instruction"
    )


@BOTH
def test_a_row_that_is_loaded_over_a_computed_one_is_refused(compiled: bool) -> None:
    body = (load(0, 2), add(1, 0), load(1, 1), store(1, 1))
    with pytest.raises(ProgramError, match=r"store\[\]: .*a copy has put acc\[64\] there"):
        execute(body, compiled)


@BOTH
def test_a_row_that_nobody_wrote_is_told_apart(compiled: bool) -> None:
    with pytest.raises(ProgramError, match=r"reads acc\[64\], which was never written"):
        execute((load(0, 1), add(0, 0), store(0, 2)), compiled)
