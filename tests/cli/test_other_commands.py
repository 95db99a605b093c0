"""`check`, `schema`, `specs`, `kernels`, and files written in one piece.

In: the commands. Out: verdicts. Not its job: rules of hardware files.
"""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml
from click.testing import CliRunner

from isamap.cli import main, write
from isamap.cli.units import align, show_cycles, show_seconds, show_share
from isamap.errors import IsamapError
from isamap.resources import bundled


def run(*arguments: str) -> str:
    """Output of a command that must succeed."""
    done = CliRunner().invoke(main, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_bundled_machines_are_listed_and_fine() -> None:
    listed = [line.split()[0] for line in run("specs").splitlines()]
    assert listed == list(bundled("hw_specs", ".yaml"))
    assert all(len(line.split()) > 3 for line in run("specs").splitlines()), (
        "a line says what it is"
    )
    assert run("check", *listed).count(": fine\n") == len(listed)


def test_bundled_kernels_are_listed_with_sizes() -> None:
    lines = run("kernels").splitlines()
    assert any(line.startswith("gemm:gemm_tn ") and "m=64" in line for line in lines)


def test_check_reports_all_mistakes_of_all_files(tmp_path: Path) -> None:
    text = bundled("hw_specs", ".yaml")["outer"].read_text(encoding="utf-8")
    for name, change in (("one", ("clock:", "clok:")), ("two", ("unit: store", "unit: stor"))):
        (tmp_path / f"{name}.yaml").write_text(text.replace(*change), encoding="utf-8")
    done = CliRunner().invoke(main, ["check", *(str(p) for p in sorted(tmp_path.iterdir()))])
    assert done.exit_code == 2
    assert "one.yaml:" in done.output
    assert "two.yaml:" in done.output
    assert "clok" in done.output
    assert "stor" in done.output


def test_schema_accepts_the_bundled_machines(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    run("schema", "-o", str(path))
    schema = json.loads(path.read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)  # `jsonschema.validate` does so for every machine
    machine = kind(schema)
    for spec in bundled("hw_specs", ".yaml").values():
        machine.validate(yaml.safe_load(spec.read_text(encoding="utf-8")))


def test_a_failed_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "answer.json"
    path.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("isamap.write_all.os.replace", fail)
    with pytest.raises(IsamapError, match="cannot write .*: No space left on device"):
        write.write_text(str(path), "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_carry_units() -> None:
    assert show_cycles(28858944) == "28 858 944 cycles"
    assert show_seconds(0.0289) == "28.9 ms"
    assert show_share(0.99999) == "99.9 %"
    assert align([("a", "1"), ("bb", "22")], right=(1,)) == ["a    1", "bb  22"]


@pytest.mark.parametrize("arguments", [["specs"], ["--help"], ["map", "--help"], ["--version"]])
def test_full_standard_output_is_named_without_a_traceback(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "isamap", *arguments]
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


def test_a_reader_that_has_seen_enough_is_no_wrong_program() -> None:
    command = [sys.executable, "-m", "isamap", "kernels"]
    piped = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert piped.stdout is not None and piped.stderr is not None
    piped.stdout.close()
    assert piped.stderr.read() == b""
    assert piped.wait() == 141
    piped.stderr.close()
