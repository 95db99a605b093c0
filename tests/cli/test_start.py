"""Start-up: what `isamap --help` loads, and how mistakes end.

In: the command in a process of its own. Out: verdicts. Not its job: answers of `map`.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from isamap import __version__
from isamap.cli import main

HEAVY = {"numpy", "pandas", "ortools", "pydantic", "rich", "yaml", "ml_dtypes"}


def loaded_by(*arguments: str) -> set[str]:
    """Top-level packages that `python -m isamap ...` imports."""
    command = [sys.executable, "-X", "importtime", "-m", "isamap", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line]
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["map", "--help"], ["check", "--help"]]
)
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    loaded = loaded_by(*arguments)
    assert "click" in loaded
    assert not loaded & HEAVY


def test_help_lists_every_command_that_exists() -> None:
    runner = CliRunner()
    text = runner.invoke(main, ["--help"]).output
    for name in ("map", "evaluate", "check", "emulate", "kernels", "specs", "schema"):
        assert f"\n  {name} " in text
        assert runner.invoke(main, [name, "--help"]).exit_code == 0


def test_version() -> None:
    assert CliRunner().invoke(main, ["--version"]).output == f"isamap, version {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["map", "gemm"], 2, "Missing option '--hw'"),
        (["map", "gem", "--hw", "outer"], 2, "error: no kernel file 'gem'\nhint: did you mean"),
        (["map", "gemm", "--hw", "oter"], 2, "hint: did you mean 'outer'?"),
        (["map", "gemm:gem_tn", "--hw", "outer"], 2, "hint: did you mean 'gemm_tn'?"),
        (["map", "gemm", "--hw", "outer", "--kernel", "gem_tn"], 2, "has no kernel 'gem_tn'"),
        (["map", "gemm", "--hw", "outer", "--size", "m"], 2, "--size 'm' is not NAME=NUMBER"),
        (
            ["map", "gemm", "--hw", "outer", "--size", "m=3", "--size", "m=4"],
            2,
            "--size m is given twice, as 3 and 4\nhint: isamap explore maps several sizes",
        ),
        (
            ["map", "gemm", "--hw", "outer", "--size", "m=0"],
            2,
            "an extent of 'A' must be at least 1",
        ),
        (["map", "gemm", "--hw", "outer", "--size", "q=3"], 2, "has no size 'q'"),
        (["check", "nothing.yaml"], 2, "error: no hardware file 'nothing.yaml'"),
        (["emulate", "nothing.json", "--hw", "outer"], 2, "cannot read program nothing.json"),
        (["schema", "-o", "nowhere/at/all.json"], 2, "cannot write nowhere/at/all.json"),
        (["mapp"], 2, "No such command 'mapp'"),
    ],
)
def test_mistakes_end_with_a_message(arguments: list[str], code: int, message: str) -> None:
    done = CliRunner().invoke(main, arguments)
    assert message in done.output
    assert done.exit_code == code


@pytest.mark.parametrize("text", ["[" * 100_000, '{"body":[' * 100_000])
def test_a_program_that_nests_too_deep_is_told(text: str, tmp_path: Path) -> None:
    file = tmp_path / "deep.json"
    file.write_text(text)
    done = CliRunner().invoke(main, ["emulate", str(file), "--hw", "outer"])
    assert done.exit_code == 2
    assert f"cannot read program {file}: its parts nest too deep" in done.output
    assert "Traceback" not in done.output


def test_debug_shows_the_exception() -> None:
    done = CliRunner().invoke(main, ["--debug", "map", "gem", "--hw", "outer"])
    assert type(done.exception).__name__ == "IsamapError"
