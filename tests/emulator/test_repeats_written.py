"""What one repeat of a call writes is known byte by byte.

In: programs of calls with hardware loops. Out: errors for bytes that nobody wrote, and only those.
Not its job: values.
"""

import pytest

from isamap.emulator import run
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
