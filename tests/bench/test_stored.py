"""Plans that fall behind stored rows are complained of.

In: bench/stored.py, the stored tables, benches that are held against them. Not its job: how good
plans are.
"""

import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import accuracy
import conv_table
import gemm_table
import gru_steps
import mappings
import optimality
import pytest
import rnn_table
import run_targets
import schedulers
from click.testing import CliRunner, Result
from stored import RESULTS, Stored, complain, read_stored
from table_text import Columns, align, titles

from isamap.hwdesc import load_hardware
from isamap.resources import find_hardware

OWN_CYCLES = {  # of other names than those of most tables
    "accuracy": ("emulated", "analytical"),
    "schedulers": ("ours e.", "ours"),
    "mappings": ("gather",),
    "targets": ("unmapped",),
}
COLUMNS = (("layer", 12), ("n", 5), ("status", 8), ("cycles", 9), ("emulated", 9), ("limit", 0))


def line(cycles: str, emulated: str, n: str = "4", status: str = "optimal") -> str:
    return align(COLUMNS, ["gru 2 by 3", n, status, cycles, emulated, "unit dma in"])


def table(tmp_path: Path, *rows: str) -> Stored:
    file = tmp_path / "rows.txt"
    file.write_text("\n".join(["date", "", titles(COLUMNS), *rows, "", "rows 7", ""]))
    return read_stored(file, COLUMNS, ("layer", "n"), ("emulated", "cycles"))


def test_more_than_a_per_cent_more_cycles_is_behind(tmp_path: Path) -> None:
    stored = table(tmp_path, line("900", "1000"), line("-", "2000~", n="8"))
    assert stored.behind(line("900", "1010")) == ""
    assert stored.behind(line("2000", "500")) == "", "what is emulated counts"
    assert stored.behind(line("500", "1011")) == "gru 2 by 3 4: emulated 1000 -> 1011, +1.1%"
    assert stored.behind(line("910", "-")) == "gru 2 by 3 4: cycles 900 -> 910, +1.1%"
    assert "+50.0%" in stored.behind(line("1", "3000", n="8"))
    assert stored.behind(line("9999", "9999", n="16")) == "", "no such row is stored"


def test_rows_that_fail_are_behind(tmp_path: Path) -> None:
    stored = table(tmp_path, line("900", "1000"))
    failed = align(COLUMNS, ["gru 2 by 3", "4", "", "-", "-", "FAILED nothing computes it"])
    assert stored.behind(failed) == "gru 2 by 3 4: no cycles are known any more"


def test_rows_that_are_proven_no_more_are_behind(tmp_path: Path) -> None:
    """With as many cycles or fewer, too; one that never was proven may stay so."""
    stored = table(tmp_path, line("900", "1000"), line("7", "8", n="8", status="feasible"))
    lost = "gru 2 by 3 4: status optimal -> feasible"
    assert stored.behind(line("900", "1000", status="feasible")) == lost
    assert stored.behind(line("800", "900", status="feasible")) == lost
    assert "emulated 1000 -> 2000" in stored.behind(line("9", "2000", status="feasible"))
    assert stored.behind(line("7", "8", n="8", status="feasible")) == ""
    assert stored.behind(line("7", "8", n="8")) == ""


def test_of_what_is_found_any_fewer_are_behind(tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("\n".join([titles(COLUMNS), line("1000", "-"), line("", "-", n="8")]))
    stored = read_stored(file, COLUMNS, ("layer", "n"), ("cycles",), is_found=True)
    assert stored.behind(line("1001", "-")) == stored.behind(line("1", "-", n="8")) == ""
    assert stored.behind(line("999", "-")) == "gru 2 by 3 4: cycles 1000 -> 999, -0.1%"


def test_an_empty_cell_counts_nothing(tmp_path: Path) -> None:
    stored = table(tmp_path, line("", ""))
    assert stored.behind(line("", "")) == ""
    assert stored.behind(line("", "3")) == "gru 2 by 3 4: emulated 0 -> 3"


def test_columns_to_the_left_are_read_as_they_were_written(tmp_path: Path) -> None:
    columns = (("kernel", -8), ("machine", -4), ("n", 3))
    rows = [["a b", "vta", "7"], ["gemm", "longer", "9"], ["longer than", "vta", ""]]
    lines = [align(columns, row) for row in rows]
    assert lines[0] == "a b      vta    7"
    file = tmp_path / "rows.txt"
    file.write_text("\n".join([titles(columns), *lines[:2]]))
    stored = read_stored(file, columns, ("kernel", "machine"), ("n",))
    assert [list(row.values()) for row in stored.rows.values()] == rows[:2]


def test_what_is_behind_is_said_and_ends_the_bench(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored = table(tmp_path, line("900", "1000"))
    complain(stored, [line("900", "1000"), line("1", "1", n="5")])
    assert "1 of 2 rows compared with rows.txt, 0 behind" in capsys.readouterr().err
    with pytest.raises(SystemExit) as end:
        complain(stored, [line("900", "1200")])
    assert end.value.code == 1
    assert "BEHIND gru 2 by 3 4: emulated 1000 -> 1200, +20.0%" in capsys.readouterr().err


def test_tables_with_other_columns_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "rows.txt"
    file.write_text("layer n\n1 2\n")
    with pytest.raises(ValueError, match=r"rows\.txt: its columns are not those of this bench"):
        read_stored(file, COLUMNS, ("layer", "n"), ("cycles",))


def test_a_cell_that_is_too_wide_moves_the_others_on(tmp_path: Path) -> None:
    stored = table(tmp_path, line("1234567890", "1000"), line("8", "9876543210~", n="8"))
    assert "emulated 1000 -> 1234567890" in stored.behind(line("1", "1234567890"))
    assert stored.behind(line("12", "9976543210~", n="8")) != ""


@pytest.mark.parametrize(
    ("name", "columns", "last"),
    [
        ("gru-trainium", gru_steps.COLUMNS, "steps"),
        ("gru-tpu_v1", gru_steps.COLUMNS, "steps"),
        ("gru-gemmini", rnn_table.COLUMNS, "steps"),
        ("gru-vta", rnn_table.COLUMNS, "steps"),
        ("rnn-gemmini", rnn_table.COLUMNS, "steps"),
        ("rnn-vta", rnn_table.COLUMNS, "steps"),
        ("gemm-gemmini", gemm_table.COLUMNS, "op"),
        ("gemm-vta", gemm_table.COLUMNS, "op"),
        ("conv-gemmini", conv_table.COLUMNS, "str"),
        ("conv-vta", conv_table.COLUMNS, "str"),
        ("accuracy", accuracy.COLUMNS, "kernel"),
        ("schedulers", schedulers.COLUMNS, "kernel"),
        ("mappings", mappings.COLUMNS, "instruction"),
        ("targets", run_targets.COLUMNS, "kernel"),
    ],
)
def test_every_stored_row_can_be_compared(name: str, columns: Columns, last: str) -> None:
    names = [title for title, _ in columns]
    key = tuple(names[: names.index(last) + 1])
    cycles = OWN_CYCLES.get(name, ("emulated", "cycles"))
    stored = read_stored(RESULTS / f"{name}.txt", columns, key, cycles)
    assert len(stored.rows) >= 10
    lines = (RESULTS / f"{name}.txt").read_text().splitlines()
    for row in stored.rows.values():
        assert any((row[c].rstrip("~") or "0").isdigit() for c in cycles)
        line = align(columns, list(row.values()))
        assert line in lines
        assert stored.behind(line) == ""


def test_an_instruction_that_computes_a_kernel_no_more_is_behind(tmp_path: Path) -> None:
    pair = mappings.Pair("gemm", "gemm", "vta")
    row = mappings.Row(pair, (("gemm", 8, 2), ("add", 1, 1)), (("right", 3), ("why", 1)), (), 0.0)
    lines = mappings.row_lines(row)
    assert [text.split()[3:] for text in lines] == [["8", "2", "3", "0", "1"], ["1", "1"]]
    assert mappings.row_lines(replace(row, counts=())) == []
    file = tmp_path / "mappings.txt"
    file.write_text("\n".join([titles(mappings.COLUMNS), *lines]))
    stored = read_stored(file, mappings.COLUMNS, mappings.NAMES, ("gather",), is_found=True)
    complain(stored, mappings.compared_lines(row, stored))
    for counts, said in (
        ((("gemm", 7, 2), ("add", 1, 1)), "gemm vta gemm: gather 8 -> 7, -12.5%"),
        ((("gemm", 8, 2),), "gemm vta add: gather 1 -> 0, -100.0%"),
        ((), "gemm vta add: gather 1 -> 0, -100.0%"),
    ):
        now = mappings.compared_lines(replace(row, counts=counts), stored)
        assert said in [stored.behind(text) for text in now]


def test_mappings_are_lowered_and_run() -> None:
    row = mappings.judge((mappings.Pair("gemm", "gemm", "vta"), 1))
    assert dict(row.outcomes) == {"right": 2}


def test_a_kernel_that_maps_at_fewer_sizes_is_behind(tmp_path: Path) -> None:
    row = run_targets.Row("arm_neon", "gemm", (("exact", 20),), "", 0.0)
    file = tmp_path / "targets.txt"
    file.write_text("\n".join([titles(run_targets.COLUMNS), run_targets.show(row)]))
    stored = read_stored(file, run_targets.COLUMNS, ("machine", "kernel"), ("unmapped",))
    worse = replace(row, outcomes=(("exact", 18), ("unmapped", 2)), note="nothing computes it")
    assert stored.behind(run_targets.show(row)) == ""
    assert stored.behind(run_targets.show(worse)) == "arm_neon gemm: unmapped 0 -> 2"


def test_a_kernel_that_has_no_schedule_any_more_is_behind(tmp_path: Path) -> None:
    row = accuracy.Row(accuracy.SAMPLE[0], 100, 110)
    file = tmp_path / "accuracy.txt"
    file.write_text("\n".join([titles(accuracy.COLUMNS), accuracy._line(row)]))
    names = ("kind", "machine", "kernel")
    stored = read_stored(file, accuracy.COLUMNS, names, ("emulated", "analytical"))
    failed = accuracy.Row(accuracy.SAMPLE[0], failure="nothing computes it")
    assert stored.behind(accuracy._line(failed)).endswith("no cycles are known any more")


@pytest.mark.parametrize(("kind", "status"), [("equal", 0), ("beaten", 1), ("bound", 1)])
def test_a_schedule_that_is_beaten_ends_the_bench_with_an_error(
    kind: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimality, "RESULT", tmp_path / "optimality.txt")
    monkeypatch.setattr(optimality, "ProcessPoolExecutor", ThreadPoolExecutor)
    monkeypatch.setattr(optimality, "judge", lambda task: optimality.Row(kind, 0.0, str(task.seed)))
    monkeypatch.setattr("sys.argv", ["optimality.py", "--cases", "1", "--pairs", "0"])
    with pytest.raises(SystemExit) as end:
        optimality.main()
    assert int(end.value.code or 0) == status


def test_schedulers_end_with_an_error_where_a_schedule_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first stored product, once as it is, once with half of its cycles."""
    lines = (RESULTS / "schedulers.txt").read_text().splitlines()
    row = lines[lines.index(titles(schedulers.COLUMNS)) + 1]
    cycles = row.split()[4]
    hw = load_hardware(find_hardware("gemmini"))
    first = schedulers.subjects(hw, 10_000)[:1]
    monkeypatch.setattr(schedulers, "subjects", lambda hw, every: first)
    monkeypatch.setattr(schedulers, "RESULTS", tmp_path)
    wanted = ["--hw", "gemmini", "--samples", "1", "--divisor-seconds", "0", "--emulate", "0"]
    for stored, status in ((cycles, 0), (str(int(cycles) // 2), 1)):
        text = row.replace(f" {cycles} ", f" {stored.rjust(len(cycles))} ")
        (tmp_path / "schedulers.txt").write_text("\n".join([titles(schedulers.COLUMNS), text]))
        found = CliRunner().invoke(schedulers.main, wanted)
        assert found.exit_code == status, found.output
        assert "1 of 1 rows compared" in found.output


def test_a_bench_ends_with_an_error_where_a_plan_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stored layer of a single step: as it is, with half of its cycles, and without its proof."""
    lines = (RESULTS / "gru-trainium.txt").read_text().splitlines()
    row = next(text for text in lines if text.split()[:3] == ["512", "1", "1"])
    emulated = row.split()[6]
    monkeypatch.setattr(gru_steps, "RESULTS", tmp_path)
    monkeypatch.setattr(gru_steps, "measure", functools.cache(gru_steps.measure))
    wanted = ["--hw", "trainium", "--hidden", "512", "--first", "48", "--every", "6"]

    def compare(cycles: str) -> Result:
        text = "\n".join(lines).replace(f" {emulated} ", f" {cycles.rjust(len(emulated))} ")
        (tmp_path / "gru-trainium.txt").write_text(text)
        return CliRunner().invoke(gru_steps.main, wanted)

    found = compare(emulated)
    assert found.exit_code == 0, found.output
    assert "1 of 1 rows compared" in found.output
    monkeypatch.setattr(gru_steps, "row_line", lambda _: row)  # what was found, not found again
    found = compare(str(int(emulated) // 2))
    assert found.exit_code == 1, found.output
    assert "1 of 1 rows compared" in found.output
    monkeypatch.setattr(gru_steps, "row_line", lambda _: row.replace("optimal ", "feasible"))
    found = compare(emulated)
    assert found.exit_code == 1, found.output
    assert "BEHIND 512 1 1: status optimal -> feasible" in found.output
