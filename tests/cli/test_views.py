"""`--trace` and `--report` end to end.

In: the commands. Out: verdicts. Not its job: what is in the files (tests/report).
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from isamap.cli import main
from isamap.cli.options import TRACE_CALLS
from isamap.emulator import MAX_CALLS

SMALL = ["gemm", "--hw", "gemmini", "--size", "m=40", "--size", "n=24", "--size", "k=36"]


def test_map_evaluate_and_emulate_write_the_same_trace(tmp_path: Path) -> None:
    runner = CliRunner()
    files = {name: str(tmp_path / f"{name}.json") for name in ("map", "evaluate", "emulate")}
    pages = {name: str(tmp_path / f"{name}.html") for name in files}
    views = {name: ["--trace", files[name], "--report", pages[name]] for name in files}
    folder = tmp_path / "out"
    done = runner.invoke(main, ["map", *SMALL, "-o", str(folder), *views["map"]])
    assert done.exit_code == 0, done.output
    assert f"wrote {files['map']}: all " in done.stderr
    done = runner.invoke(main, ["evaluate", str(folder / "schedule.yaml"), *views["evaluate"]])
    assert done.exit_code == 0, done.output
    program = [str(folder / "program.json"), "--hw", "gemmini"]
    assert runner.invoke(main, ["emulate", *program, *views["emulate"]]).exit_code == 0
    texts = {Path(path).read_text() for path in files.values()}
    assert len(texts) == 1
    stats = json.loads((folder / "stats.json").read_text())
    assert json.loads(texts.pop())["otherData"]["cycles"] == stats["emulated"]["cycles"]
    for path in pages.values():
        assert "<h1>gemm on gemmini</h1>" in Path(path).read_text()


def test_a_plan_has_a_page_with_its_tasks(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    command = ["map", "gemm_epilogue", "--hw", "vta", "--verify", "off", "--report", str(path)]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert '"task 0-1",0,' in path.read_text()


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    views = ["--trace", str(path), "--trace-calls", "5"]
    done = CliRunner().invoke(main, ["map", *SMALL, "--verify", "off", *views])
    assert f"wrote {path}: the first 5 of " in done.stderr
    assert json.loads(path.read_text())["otherData"]["calls_here"] == 5


@pytest.mark.parametrize("option", ["--trace", "--report", "--json", "--program"])
def test_a_place_where_no_file_can_be_is_refused_before_the_search(
    option: str, tmp_path: Path
) -> None:
    for place, reason in (
        (tmp_path / "none" / "x", "No such file or directory"),
        (tmp_path, "Is a directory"),
    ):
        # a kernel that does not exist would be the next mistake
        done = CliRunner().invoke(main, ["map", "gem", "--hw", "gemmini", option, str(place)])
        assert done.exit_code == 2
        assert f"cannot write {place}: {reason}" in done.output
    done = CliRunner().invoke(main, ["map", "gem", "--hw", "gemmini", option, "-"])
    said = f"{option} - : it is a file" in done.output
    assert said == (option in ("--trace", "--report"))


def test_a_full_disk_takes_the_page_but_not_the_answer() -> None:
    views = ["--verify", "off", "--report", "/dev/full"]
    done = CliRunner().invoke(main, ["map", *SMALL, *views])
    assert done.exit_code == 2
    assert "cannot write /dev/full: No space left on device" in done.stderr
    assert done.stdout.startswith("answer   gemm on gemmini: ")


def test_both_in_one_file_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "x")
    done = CliRunner().invoke(main, ["map", *SMALL, "--trace", path, "--report", path])
    assert done.exit_code == 2
    assert f"two outputs are to be written to {path}: one would be lost" in done.output


def test_a_front_has_no_trace() -> None:
    command = ["map", *SMALL, "--pareto", "cycles,energy", "--trace", "x.json"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert "--trace is for one schedule" in done.output


def test_the_default_is_the_emulators() -> None:
    assert TRACE_CALLS == MAX_CALLS
