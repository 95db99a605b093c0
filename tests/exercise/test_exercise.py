"""Instructions run at the ends of their rules: right ones pass, wrong ones are found."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from isamap.cli.main import main
from isamap.emulator import run
from isamap.exercise import Outcome, exercise
from isamap.hwdesc import Hardware, ImmediateRule, Instruction, load_hardware
from isamap.ir import parse_semantics
from isamap.program import Program
from isamap.resources import find_hardware

FILE = Path(__file__).parent / "odd_machine.yaml"
Arrays = Mapping[str, np.ndarray]


def in_python(program: Program, hw: Hardware, arrays: Arrays) -> Arrays:
    """Outputs by the emulator, without a compiler."""
    return run(program, hw, arrays, compiled=False).outputs


def attempt(name: str, **changes: object) -> Outcome:
    """One instruction of the odd machine, perhaps changed."""
    hw = load_hardware(FILE)
    changed = replace(hw.instruction(name), **changes)  # type: ignore[arg-type]
    return exercise(changed, hw, in_python)


@pytest.mark.parametrize("instruction", load_hardware(FILE).instructions, ids=lambda i: i.name)
def test_the_emulator_agrees_with_the_semantics(instruction: Instruction) -> None:
    outcome = attempt(instruction.name)
    assert outcome.is_right, outcome
    assert outcome.num_calls >= 8
    assert not outcome.skipped


def test_what_takes_only_computed_results_is_given_some() -> None:
    outcome = attempt("pull", only_computed=True)
    assert outcome.is_right, outcome


def test_extents_reach_both_ends() -> None:
    assert attempt("pull").extents == (("r", 2, 6), ("c", 1, 4))
    assert attempt("dot").extents == (("q", 1, 4), ("s", 3, 3))


@pytest.mark.parametrize("name", ["lsb", "unwritten"])
def test_a_machine_that_does_something_else_is_found(name: str) -> None:
    def faulty(program: Program, hw: Hardware, arrays: Arrays) -> Arrays:
        found = {key: np.array(value) for key, value in in_python(program, hw, arrays).items()}
        for key in [key for key in found if key.endswith("_y_after")]:
            before = arrays[key.removesuffix("_after")].reshape(found[key].shape)
            found[key] = found[key] ^ 1 if name == "lsb" else before
        return found

    hw = load_hardware(FILE)
    outcome = exercise(hw.instruction("dot"), hw, faulty)
    assert outcome.difference is not None
    assert outcome.difference.operand == "y"
    assert outcome.case is not None


def test_numbers_that_the_semantics_cannot_take_are_found() -> None:
    outcome = attempt("scale", immediates=(ImmediateRule("shift", -1, 31),))
    assert not outcome.is_right
    assert "shift" in outcome.failure


def test_an_operand_that_no_memory_holds_is_found() -> None:
    text = "a, d = In(i32, 4096), Out(i8, 4096)\nfor q in range(4096):\n  d[q] = sat_i8(a[q])"
    rules = load_hardware(FILE).instruction("scale").extents
    extents = tuple((name, replace(rule, maximum=4096)) for name, rule in rules)
    semantics = parse_semantics(text, "wide")
    outcome = attempt("scale", semantics=semantics, extents=extents, immediates=())
    assert any("'sums'" in reason for reason in outcome.skipped)


def test_the_command_runs_c_text_too_and_finds_what_is_wrong(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["check", "--exercise", str(FILE)])
    assert done.exit_code == 0, done.output
    assert "scale  " in done.output
    assert done.output.count(" calls compiled, ") == 2
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(FILE.read_text().replace("t > 127 ? 127 : ", ""))
    done = CliRunner().invoke(main, ["check", "--exercise", str(wrong)])
    assert done.exit_code == 1
    assert "should be 127" in done.output
    assert "1 differ" in done.output


@pytest.mark.parametrize("name", ["gemv_engine", "conv_engine"])
def test_bundled_instructions_do_what_they_say(name: str) -> None:
    hw = load_hardware(find_hardware(name))
    chosen = {"gemv_engine": ("v_scale", "vv_max"), "conv_engine": ("store_scaled",)}[name]
    for each in chosen:
        outcome = exercise(hw.instruction(each), hw, in_python)
        assert outcome.is_right, outcome


@pytest.mark.parametrize("name", ["relu_f32", "add_f32"])
def test_a_zero_of_the_other_sign_is_as_good_where_the_greater_is_taken(name: str) -> None:
    """NumPy's choice between zeros varies with the processor; a sum of zeros has one sign."""
    hw = load_hardware(find_hardware("x86_avx2"))

    def turned(program: Program, hw: Hardware, arrays: Arrays) -> Arrays:
        found = in_python(program, hw, arrays)
        return {key: np.where(value == 0, -value, value) for key, value in found.items()}

    outcome = exercise(hw.instruction(name), hw, in_python)
    assert outcome.is_right, outcome
    assert exercise(hw.instruction(name), hw, turned).is_right == (name == "relu_f32")
