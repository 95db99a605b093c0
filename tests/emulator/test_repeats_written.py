"""What one repeat of a call writes is known byte by byte; every repeat moves its bytes anew.

In: programs of calls with hardware loops. Out: errors for bytes that nobody wrote, and only those.
Not its job: values.
"""

from dataclasses import replace

import pytest

from isamap.emulator import run, time_program
from isamap.errors import ProgramError
from isamap.hwdesc import load_hardware
from isamap.ir import Affine
from isamap.program import Address, Issue, Operand, Program, Repeat, Span
from isamap.resources import find_hardware

VTA = load_hardware(find_hardware("vta"))


def clear(rows: int) -> Issue:
    """Clear `rows` accumulator rows of 64 bytes by the hardware loop."""
    operand = Operand("C", "acc", Address(Affine()), (4,))
    repeats = (
        Repeat("outer", Span(1), (0,)),
        Repeat("inner", Span(rows), (64,)),
        Repeat("uop", Span(1), (0,)),
    )
    return Issue("gemm_reset", (operand,), (("r", Span(16)),), repeats)


def add(rows: int) -> Issue:
    """Add rows rows .. 2*rows-1 to the first ones."""
    operands = (
        Operand("X", "acc", Address(Affine()), (4,)),
        Operand("Y", "acc", Address(Affine((), 64 * rows)), (4,)),
    )
    repeats = (
        Repeat("outer", Span(1), (0, 0)),
        Repeat("inner", Span(rows), (64, 64)),
        Repeat("uop", Span(1), (0, 0)),
    )
    return Issue("alu_add", operands, (("l", Span(16)),), repeats)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_row_that_no_repeat_wrote_is_seen(compiled: bool) -> None:
    program = Program("p", "vta", (), (), (clear(7), add(4)))
    with pytest.raises(ProgramError, match="never written"):
        run(program, VTA, {}, compiled=compiled)


@pytest.mark.parametrize("compiled", [True, False])
def test_rows_that_repeats_wrote_may_be_read(compiled: bool) -> None:
    run(Program("p", "vta", (), (), (clear(8), add(4))), VTA, {}, compiled=compiled)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_repeat_that_stands_still_moves_its_bytes_again(compiled: bool) -> None:
    once = add(2)
    again = replace(once, repeats=(Repeat("outer", Span(3), (0, 0)), *once.repeats[1:]))
    energies = []
    for rounds, call in ((1, once), (3, again)):
        program = Program("p", "vta", (), (), (clear(4), call))
        timing = time_program(program, VTA, compiled=compiled)
        sums = next(row for row in timing.traffic if row.memory == "acc")
        assert sums.read_bytes == rounds * 2 * 2 * 64  # both operands, two rows of 64 bytes
        assert sums.written_bytes == 4 * 64 + rounds * 2 * 64
        energies.append(timing.energy_pj)
    rows = 2 * 2 * 3 * 64 * 5.0  # two more rounds: two reads and a write of two rows, 5 pJ/byte
    assert energies[1] - energies[0] == pytest.approx(rows + 2 * 2 * 16 * 0.1)
