"""Plans that fall behind stored rows are complained of.

In: bench/stored.py, the stored tables of accelerators. Not its job: how good plans are.
"""

from pathlib import Path

import accuracy
import conv_table
import gemm_table
import gru_steps
import pytest
import rnn_table
from click.testing import CliRunner
from stored import RESULTS, Stored, complain, read_stored
from table_text import Columns, align, titles

COLUMNS = (("layer", 12), ("n", 5), ("status", 8), ("cycles", 9), ("emulated", 9), ("limit", 0))


def line(cycles: str, emulated: str, n: str = "4") -> str:
    return align(COLUMNS, ["gru 2 by 3", n, "optimal", cycles, emulated, "unit dma in"])


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
    ],
)
def test_every_stored_row_can_be_compared(name: str, columns: Columns, last: str) -> None:
    names = [title for title, _ in columns]
    key = tuple(names[: names.index(last) + 1])
    cycles = ("emulated", "analytical" if name == "accuracy" else "cycles")
    stored = read_stored(RESULTS / f"{name}.txt", columns, key, cycles)
    assert len(stored.rows) >= 10
    assert all(any(row[c].rstrip("~").isdigit() for c in cycles) for row in stored.rows.values())
    assert all(
        stored.behind(align(columns, list(row.values()))) == "" for row in stored.rows.values()
    )


def test_a_bench_ends_with_an_error_where_a_plan_is_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stored layer of a single step, once as it is, once with half of its cycles."""
    lines = (RESULTS / "gru-trainium.txt").read_text().splitlines()
    row = next(text for text in lines if text.split()[:3] == ["512", "1", "1"])
    emulated = row.split()[6]
    monkeypatch.setattr(gru_steps, "RESULTS", tmp_path)
    wanted = ["--hw", "trainium", "--hidden", "512", "--first", "48", "--every", "6"]
    for cycles, status in ((emulated, 0), (str(int(emulated) // 2), 1)):
        text = "\n".join(lines).replace(f" {emulated} ", f" {cycles.rjust(len(emulated))} ")
        (tmp_path / "gru-trainium.txt").write_text(text)
        found = CliRunner().invoke(gru_steps.main, wanted)
        assert found.exit_code == status, found.output
        assert "1 of 1 rows compared" in found.output
