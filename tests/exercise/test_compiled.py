"""Instructions exercised as the machine's own, compiled and run under QEMU.

In: machines whose registers C cannot point to. Out: failures where a right instruction is called
wrong, or a wrong one right. Not its job: which calls are tried (`test_exercise`).
"""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from isamap.cli.main import main
from isamap.codegen import find_toolchain
from isamap.errors import IsamapError
from isamap.exercise import exercise
from isamap.hwdesc import CForm, CTemplate, Hardware, Instruction, load_hardware
from isamap.native import execute_c
from isamap.resources import find_hardware

CASES = (
    ("power10_mma", "xvi16ger2pp", "xvi16ger2pp", "xvi16ger2"),  # does not add to what is there
    ("riscv_rvv", "vmacc_i8", "vmacc.vx", "vnmsac.vx"),  # subtracts
    ("arm_sme", "bfmopa", "bfmopa", "bfmops"),  # subtracts
)


def machine(name: str) -> Hardware:
    """The machine, or a skipped test where its programs do not run."""
    hw = load_hardware(find_hardware(name))
    try:
        find_toolchain(hw)
    except IsamapError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return hw


def rewritten(instruction: Instruction, old: str, new: str) -> Instruction:
    """The instruction with other C text."""
    assert instruction.c_form is not None
    parts = instruction.c_form.full.parts
    changed = tuple(p.replace(old, new) if isinstance(p, str) else p for p in parts)
    assert changed != parts
    return replace(instruction, c_form=CForm(CTemplate(changed)))


@pytest.mark.parametrize(("name", "instruction", "old", "new"), CASES)
def test_real_instructions_do_what_they_say_and_others_are_found(
    name: str, instruction: str, old: str, new: str
) -> None:
    hw = machine(name)
    own = hw.instruction(instruction)
    outcome = exercise(own, hw, execute_c, is_exact=True)
    assert outcome.is_right, outcome
    assert outcome.num_calls >= 6
    wrong = exercise(rewritten(own, old, new), hw, execute_c, is_exact=True)
    assert wrong.difference is not None, wrong


def test_registers_without_a_copy_are_named(tmp_path: Path) -> None:
    machine("riscv_rvv")
    file = tmp_path / "bare.yaml"
    text = find_hardware("riscv_rvv").read_text()
    before, _, after = text.partition("    c_copy:\n")
    file.write_text(before + after[after.index("    source:") :])
    done = CliRunner().invoke(main, ["check", "--exercise", str(file)])
    assert done.exit_code == 0, done.output
    assert "not compiled: nothing says how C reaches a register of v (give 'c_copy')" in done.output
    assert "under qemu" not in done.output
