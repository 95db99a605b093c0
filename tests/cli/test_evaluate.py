"""`isamap map -o` and `isamap evaluate` end to end.

In: the commands. Out: verdicts. Not its job: single mistakes (tests/files).
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from isamap.cli import main

SMALL = ["gemm", "--hw", "gemmini", "--size", "m=40", "--size", "n=24", "--size", "k=36"]
FILES = ["program.json", "schedule.yaml", "stats.json", "summary.csv"]


def test_written_schedule_is_evaluated_to_the_same_cycles(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = CliRunner().invoke(main, ["map", *SMALL, "-o", str(folder)])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in folder.iterdir()) == FILES
    again = tmp_path / "again"
    command = ["evaluate", str(folder / "schedule.yaml"), "--verify", "full", "-o", str(again)]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert "verified (full)" in done.output
    rows = [line for line in done.output.splitlines() if line.endswith("  same")]
    assert len(rows) == 6  # emulated, analytical, roofline, energy, read, written
    assert (again / "program.json").read_text() == (folder / "program.json").read_text()
    stats = [json.loads((path / "stats.json").read_text()) for path in (folder, again)]
    assert stats[0]["emulated"] == stats[1]["emulated"]
    assert stats[0]["tiling"] == stats[1]["tiling"]


def test_broken_rule_is_an_ordinary_mistake(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["map", *SMALL, "-o", str(tmp_path)]).exit_code == 0
    path = tmp_path / "schedule.yaml"
    path.write_text(path.read_text().replace("  outer: [", "  outer: [q, "))
    done = CliRunner().invoke(main, ["evaluate", str(path)])
    assert done.exit_code == 2
    assert "unknown loop 'q'" in done.output and f"{path}:" in done.output


def test_failing_write_keeps_all_old_files(tmp_path: Path) -> None:
    (tmp_path / "summary.csv").mkdir()  # cannot be replaced by a file
    (tmp_path / "schedule.yaml").write_text("old")
    done = CliRunner().invoke(main, ["map", *SMALL, "--verify", "off", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "cannot write" in done.output
    assert (tmp_path / "schedule.yaml").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["schedule.yaml", "summary.csv"]


def test_plan_is_written_and_evaluated(tmp_path: Path) -> None:
    sizes = ["--size", "m=20", "--size", "n=24", "--size", "k=36", "--verify", "off"]
    command = ["map", "gemm_epilogue", "--hw", "vta", *sizes, "-o", str(tmp_path)]
    assert CliRunner().invoke(main, command).exit_code == 0
    path = str(tmp_path / "schedule.yaml")
    done = CliRunner().invoke(main, ["evaluate", path, "--json", "-"])
    assert json.loads(done.stdout)["schema"] == "isamap-plan"
    done = CliRunner().invoke(main, ["evaluate", path, "--verify", "off"])
    assert "task 0-1" in done.output and "same" in done.output


@pytest.mark.parametrize("text", ["", "[1, 2]", "format: other"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "other.yaml"
    path.write_text(text)
    done = CliRunner().invoke(main, ["evaluate", str(path)])
    assert done.exit_code == 2
    assert done.output.startswith("error: ")
