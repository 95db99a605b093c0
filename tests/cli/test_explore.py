"""`isamap explore`: what docs/explore.md shows, files that others read, Ctrl-C, mistakes.

In: commands. Out: verdicts. Not its job: which variants are best (`tests/sweep`).
"""

import csv
import json
import os
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from isamap.cli.main import main
from isamap.cli.read_settings import read_settings
from isamap.errors import IsamapError
from isamap.sweep import Outcome, Standing
from isamap.sweep.ask import Question
from tests.console_blocks import blocks_of, run_commands

BLOCKS = blocks_of("docs/explore.md")
COMMANDS = [text for kind, _, text in BLOCKS if kind == "console"]
VISIT = import_module("isamap.sweep.visit")
SMALL = ["explore", "gemm", "--hw", "vecdot", "--size", "m=6", "--size", "k=12"]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder of answers for all tests: the same questions are asked once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, [*SMALL, *arguments])


@pytest.mark.parametrize("block", COMMANDS, ids=[text.split("\n")[0] for text in COMMANDS])
def test_a_shown_sweep_prints_what_is_shown(block: str) -> None:
    run_commands(block)


def test_the_pages_python_runs() -> None:
    (text,) = [text for kind, _, text in BLOCKS if kind == "python"]
    exec(compile(text, "docs/explore.md", "exec"), {})


def test_files_of_a_sweep_say_the_same_and_variants_are_machines(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    own = tmp_path / "sub" / "own.yaml"
    own.write_text("base: vecdot\nname: own\nsource: estimate\n")
    done = CliRunner().invoke(main, [
        *SMALL[:2], *SMALL[4:], "--hw", "sub/own.yaml", "--set",
        "memories.regs.size=1 KiB,512 bytes", "-o", "out", "--json", "x.json", "--csv", "x.csv",
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert Path("out/explore.csv").read_text() == Path("x.csv").read_text()
    assert Path("out/explore.json").read_text() == Path("x.json").read_text()
    data = json.loads(Path("x.json").read_text())
    table = list(csv.DictReader(Path("x.csv").read_text().splitlines()))
    assert data["is_whole"] and len(data["rows"]) == len(table) == 2
    assert [row["memories.regs.size"] for row in table] == ["1024", "512"]
    names = {f"variant_{number}.yaml" for number in data["front"]}
    assert {path.name for path in Path("out").iterdir()} == {
        "explore.csv", "explore.json", *names,
    }  # fmt: skip
    for number in data["front"]:
        (row,) = [row for row in data["rows"] if row["variant"] == number]
        file = f"out/variant_{number}.yaml"
        asked = ["map", "gemm", "--hw", file, *SMALL[4:], "--json", "map.json", "--verify", "off"]
        assert CliRunner().invoke(main, asked).exit_code == 0
        answer = json.loads(Path("map.json").read_text())
        assert answer["request"]["hardware"] == f"own_{number}"
        assert answer["emulated"]["cycles"] == row["emulated_cycles"]
        assert answer["analytical_cycles"] == row["analytical_cycles"]


def test_files_of_an_earlier_sweep_go_and_others_stay(tmp_path: Path) -> None:
    def names() -> set[str]:
        return {path.name for path in Path("out").glob("*.yaml")}

    both = "memories.regs.size=512 bytes,1 KiB"
    assert invoke("--set", both, "--cost-of", "-managed_bytes", "-o", "out").exit_code == 0
    assert names() == {"variant_2.yaml"}
    Path("out/variant_3.yaml").write_text("base: vecdot\nname: mine\nsource: estimate\n")
    assert invoke("-o", "out").exit_code == 0
    assert names() == {"variant_1.yaml", "variant_3.yaml"}
    own = ["explore", *SMALL[1:2], *SMALL[4:], "--set", both, "--cost-of", "-managed_bytes"]
    again = [*own, "--hw", "out/variant_1.yaml", "-o", "out"]
    assert CliRunner().invoke(main, again).exit_code == 0
    assert names() == {"variant_1.yaml", "variant_2.yaml", "variant_3.yaml"}, "it is built on"
    done = CliRunner().invoke(main, [*own, "--hw", "out/variant_2.yaml", "-o", "out"])
    assert done.exit_code == 2
    assert "out/variant_2.yaml is among the hardware files that are swept" in done.output
    assert "base: variant_1.yaml" in Path("out/variant_2.yaml").read_text(), "it is as it was"


def test_standard_output_has_nothing_else(tmp_path: Path) -> None:
    done = invoke("--csv", "-")
    assert len(list(csv.DictReader(done.stdout.splitlines()))) == 1
    assert json.loads(invoke("--json", "-").stdout)["best"] == 1


def test_ctrl_c_shows_and_writes_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(question: Question) -> Outcome:
        if question.hardware.memory("regs").size_bytes == 320:
            raise KeyboardInterrupt
        return Outcome(Standing.FEASIBLE, "", 7, 6, 5, 1 / 6, 4.0, 3, 2)

    monkeypatch.setattr(VISIT, "ask", stopped)
    done = invoke("--set", "memories.regs.size=448 bytes,320 bytes", "--json", "x.json")
    assert done.exit_code == 130
    assert "stopped: 1 of 2 questions are answered; run it again to go on" in done.output
    data = json.loads(Path("x.json").read_text())
    assert not data["is_whole"] and [row["emulated_cycles"] for row in data["rows"]] == [7]
    assert "feasible, not verified" in done.output


@pytest.mark.parametrize("is_stopped", [False, True])
def test_a_full_disk_takes_the_cache_not_the_sweep(
    tmp_path: Path, is_stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that were asked for are written all the same: they may lie elsewhere."""
    replace_or_fail = os.replace
    asked: list[Question] = []

    def fail(source: str, target: Path) -> None:
        if target.parent.name == "full":
            raise OSError(28, "No space left on device")
        replace_or_fail(source, target)

    def answer(question: Question) -> Outcome:
        asked.append(question)
        if is_stopped and len(asked) == 3:
            raise KeyboardInterrupt
        return Outcome(Standing.OPTIMAL, emulated_cycles=9, is_verified=True)

    monkeypatch.setattr("isamap.write_all.os.replace", fail)
    monkeypatch.setattr(VISIT, "ask", answer)
    sizes = "memories.regs.size=1 KiB,2 KiB,3 KiB,1024 bytes"
    done = invoke("--set", sizes, "--cache", "full", "--csv", "rows.csv")
    assert done.exit_code == (130 if is_stopped else 0), done.output
    assert done.stderr.count("not kept") == 1 and "run it again" not in done.output
    assert "answers are not kept: cannot write full" in done.stderr
    assert "No space left on device" in done.stderr
    assert len(asked) == 3, "equal questions are asked once"
    assert len(Path("rows.csv").read_text().splitlines()) == (3 if is_stopped else 5)
    assert list(Path("full").iterdir()) == []


def test_a_wrong_program_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = Outcome(Standing.WRONG, "C[0] is 3", 7, 6, 5, 1 / 6, 4.0, 3, 2)
    monkeypatch.setattr(VISIT, "ask", lambda question: wrong)
    done = invoke("--set", "memories.regs.size=576 bytes")
    assert done.exit_code == 1
    assert "wrong (variant 1): C[0] is 3" in done.output


def test_many_rows_are_cut_to_the_front_first() -> None:
    done = invoke("--set", "memories.regs.size=512 bytes,1 KiB,2 KiB", "--top", "1")
    rows = [line for line in done.output.splitlines() if ", verified" in line]
    assert len(rows) == 1 and rows[0].endswith("best, front")
    assert "2 more variants: --top 3, --csv FILE, or -o DIR" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "parameters.lanes"], "--set 'parameters.lanes' is not PLACE=VALUES"),
        (["--set", "parameters..lanes=2"], "is not PLACE=VALUES"),
        (["--set", "=2"], "is not PLACE=VALUES"),
        (["--set", "clock=1 GHz,"], "--set 'clock=1 GHz,' has an empty value"),
        (["--set", "parameters.lanes=4..2"], "'4..2' has no number"),
        (["--set", "parameters.lanes=4..8:*1"], "'4..8:*1' never ends"),
        (["--set", "parameters.lanes=0..9999999"], "more than 100000 numbers"),
        (["--set", "clock=1 GHz", "--set", "parameters.lanes=1,2", "--zip"], "clock 1, parameters"),
        (["--size", "q=3"], "--size 'q=3': no kernel has a size 'q'"),
        (["--hw", "vecdto"], "no hardware file 'vecdto'"),
        (["--cost", "emulatd"], "no cost model 'emulatd'"),
        (["--cost-of", "clok"], "vecdot has no number 'clok'"),
        (["--csv", "-", "--json", "-"], "two outputs are to be written to standard output"),
        (["--set", "parameters.lanes=4..16:0"], "'4..16:0' never ends"),
    ],
)
def test_mistakes_are_told(arguments: list[str], message: str) -> None:
    done = invoke(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.output


def test_ranges_are_the_numbers_that_they_say() -> None:
    def values(text: str) -> list[str]:
        (axis,) = read_settings((f"a.b={text}",))
        assert all(setting.loc.text[setting.value_column - 1 :] for setting in axis.settings)
        return [setting.value for setting in axis.settings]

    assert values("8..64:*2") == ["8", "16", "32", "64"]
    assert values("3..20:*3") == ["3", "9"]
    assert values("1..3, 7") == ["1", "2", "3", "7"]
    assert values("16..40:16") == ["16", "32"]
    assert values("2 * n KiB,x") == ["2 * n KiB", "x"]
    with pytest.raises(IsamapError, match="is not PLACE=VALUES"):
        read_settings((" a=1",))


def test_rows_say_all_sizes_and_who_computes() -> None:
    done = CliRunner().invoke(
        main, ["explore", "gru", "--hw", "gemmini", "--size", "steps=1", "--csv", "x.csv"]
    )
    assert done.exit_code == 0, done.output
    (row,) = csv.DictReader(Path("x.csv").read_text().splitlines())
    assert row["size.steps"] == "1" and row["size.hidden"] == "16", "the file's own"
    assert row["computed_by"] == "host"
    (line,) = [line for line in done.output.splitlines() if "best, front" in line]
    assert "  host  optimal, verified" in line


def test_a_users_cost_model_chooses_in_every_process() -> None:
    Path("mine.py").write_text("def late(candidate, hw):\n    return 10**6\n")
    asked = ["--cost", "mine.py:late", "--jobs", "2", "--json", "x.json"]
    done = invoke("--set", "memories.regs.size=2 KiB", *asked)
    assert done.exit_code == 0, done.output
    Path("mine.py").write_text("def late(candidate, hw):\n    return 1 / 0\n")
    done = invoke("--set", "memories.regs.size=2 KiB", *asked)
    assert done.exit_code == 2
    assert "mine.py:2:5: the cost model 'late': ZeroDivisionError" in done.output
