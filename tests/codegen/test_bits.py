"""Binaries of a machine that exists nowhere: big-endian, counts less one, a table, two states.

In: hand-made programs. Out: bits. Not its job: real machines.
"""

import pytest

from isamap.codegen import assemble, disassemble, list_binary, run_bytes, write_binary
from isamap.errors import ProgramError
from isamap.hwdesc import load_hardware
from isamap.ir import Affine, Kernel
from isamap.program import Address, For, Issue, Operand, Program, Repeat, Span, Spread
from tests.hwdesc.coded_spec import CODED


@pytest.fixture
def hw(tmp_path):
    """The machine."""
    file = tmp_path / "coded.yaml"
    file.write_text(CODED)
    return load_hardware(file)


def at(base, **steps):
    """An address: base plus steps times loops."""
    return Address(Affine.of(steps.items(), base))


def load(source, target, rows, stride, pops=(), pushes=()):
    operands = (
        Operand("S", "dram", source, (stride, 4)),
        Operand("D", "sram", target, (16, 4)),
    )
    extents = (("r", Span(rows)), ("n", Span(4)))
    return Issue("load", operands, extents, pops=pops, pushes=pushes)


def scale(place, times, step, factor, pops=(), pushes=()):
    operands = (Operand("X", "sram", place, (4,)),)
    repeats = (Repeat("times", Span(times), (step,)),)
    numbers = (("factor", factor),)
    return Issue("scale", operands, (("n", Span(4)),), repeats, numbers, pops, pushes)


def program(*body):
    return Program("hand", "coded", (), (), body)


def lines(hw, *body):
    binary = assemble(program(*body), hw)
    return [line.strip() for line in list_binary(binary, hw).splitlines()]


def test_fields_lie_where_the_file_says(hw):
    binary = assemble(program(load(at(64), at(32), 3, 20)), hw)
    records = run_bytes(binary.runs[0], hw)
    # set pitch[0] to 20 / 4; load: code 1, count 3 - 1, local 32 / 4, far 4096 + 64; big-endian
    assert records[:8].hex() == "0000000500000003"
    assert records[8:16].hex() == "0010400000080201"
    assert len(records) == 8 * 4  # then: the dma unit tells the alu, which ends the run
    assert records[16:24].hex() == "0000000000000040" and records[24:].hex() == "000000000000002f"


def test_a_register_is_set_only_where_no_copy_holds_its_value(hw):
    calls = [load(at(0), at(0), 2, stride) for stride in (16, 32, 16, 32, 16, 48, 16, 48, 32)]
    found = lines(hw, *calls)
    assert [line for line in found if line.startswith("set")] == [
        "set pitch copy=0 step=4",
        "set pitch copy=1 step=8",
        "set pitch copy=1 step=12",  # 16 is needed again sooner than 32
        "set pitch copy=0 step=8",
    ]


def test_a_loop_needs_one_setter_and_single_rows_none(hw):
    body = (load(at(0, i=64), at(0), 2, 16), load(at(0), at(64), 1, 400))
    found = lines(hw, For("i", Span(5), body))
    assert sum(line.startswith("set") for line in found) == 1
    assert sum(line.startswith("load") for line in found) == 10


def test_equal_entries_are_stored_once_and_a_full_table_is_filled_anew(hw):
    places = (0, 16, 0, 32, 48, 64, 0)
    found = lines(hw, *(scale(at(place), 2, 8, -3) for place in places))
    assert [line for line in found if line.startswith("load")] == [
        "load places address=0 count=4 first=0",
        "load places address=64 count=2 first=0",
    ]
    assert found[2] == "scale times=2 factor=-3 X=0 X.times=8 places.first=0"
    assert found[4] == "scale times=2 factor=-3 X=0 X.times=8 places.first=0"


def test_tokens_beyond_a_flag_travel_on_their_own(hw):
    push = Issue("wait_dma", (), (), pushes=("filled",) * 3)
    pop = scale(at(0), 1, 4, 1, pops=("filled",) * 3)
    found = lines(hw, push, pop)
    assert found.count("wait_dma push filled") == 4  # the last tells the end
    assert found.count("wait_alu pop filled") == 2
    assert sum(line.startswith("scale") and line.endswith("pop filled") for line in found) == 1
    assert found[-1] == "end pop filled"


def test_numbers_that_do_not_fit_are_refused(hw):
    with pytest.raises(ProgramError, match="field 'number' of format 'step' holds -128 to 127"):
        assemble(program(scale(at(0), 1, 4, 500)), hw)
    with pytest.raises(ProgramError, match="10/4|5/2 is no whole number"):
        assemble(program(load(at(0), at(10), 1, 16)), hw)
    with pytest.raises(ProgramError, match="base address 4097 is no multiple of 4 bytes"):
        assemble(program(load(at(0), at(0), 1, 16)), hw, base=4097)


def test_what_was_written_is_read_back(hw, tmp_path):
    body = (
        load(at(0, i=64), at(0), 3, 20, pushes=("filled",)),
        scale(at(16, i=16), 3, 12, -8, pops=("filled",)),
        scale(at(0), 1, 4, 15, pushes=("free",)),
        load(at(8), at(64), 1, 0, pops=("free",)),
    )
    whole = program(For("i", Span(3), body))
    binary = write_binary(whole, Kernel("hand", (), ()), hw, tmp_path / "out", base=65536)
    assert disassemble(tmp_path / "out", hw) == list_binary(binary, hw)


def test_programs_of_several_cores_have_no_one_stream(hw):
    spread = For("i", Span(2), (load(at(0, i=64), at(0), 1, 16),), Spread("core"))
    with pytest.raises(ProgramError, match="loop i is spread over cores") as caught:
        assemble(program(spread), hw)
    assert "one core" in caught.value.hint
