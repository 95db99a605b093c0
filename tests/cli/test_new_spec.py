"""The file that `new-spec` writes: no mistakes, instructions that do what they say, a product."""

from pathlib import Path

from click.testing import CliRunner, Result

import isamap
from isamap.cli.main import main
from isamap.emulator import run
from isamap.exercise import exercise
from isamap.hwdesc import load_hardware


def command(*arguments: str) -> Result:
    """One run of the command line."""
    return CliRunner().invoke(main, arguments)


def test_the_template_is_a_machine(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    assert command("new-spec", "-o", str(file)).exit_code == 0
    assert command("check", str(file)).output == f"{file}: fine\n"
    for kernel, instruction in (("gemm", "multiply"), ("conv2d", "multiply")):
        found = isamap.map(kernel, file, verify="full")
        assert isinstance(found, isamap.Result)
        assert found.verification.is_verified
        assert found.schedule.covering.instruction == instruction


def test_the_templates_instructions_do_what_they_say(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(command("new-spec").output)
    hw = load_hardware(file)
    for instruction in hw.instructions:
        found = exercise(instruction, hw, lambda p, h, a: run(p, h, a, compiled=False).outputs)
        assert found.is_right, found


def test_what_is_there_stays_there(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("precious")
    done = command("new-spec", "-o", str(file))
    assert done.exit_code == 2
    assert f"{file} is there already" in done.output
    assert file.read_text() == "precious"
