"""Rows of bench/cpu.py: which figures are compared, what is known already, what is summed up."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cpu_table import Row, Side, as_line, geometric_mean, load_rows, summary, table

ROW = Row(
    "gemm", "f32", "4,4,4 NN", 128.0, 1e-6, "peak",
    {"isamap plain": [2e-6, 0.01], "isamap ahead": [1e-6, 0.01], "BLIS plain": [4e-6, 0.02],
     "MKL plain": [3e-6, 0.02], "oneDNN ahead": [5e-7, 0.02]},
    {"isamap plain": [4e-6, 0.1], "isamap ahead": [4e-6, 0.1], "BLIS plain": [4e-6, 0.1]},
    {"plain": 1.0, "ahead": 2.0}, True, 5.0,
)  # fmt: skip


def test_each_side_is_held_against_the_fastest_library_of_its_own_side() -> None:
    assert ROW.best(ROW.warm, Side.PLAIN) == ("MKL", 3e-6)
    assert ROW.ratio(ROW.warm, Side.PLAIN) == pytest.approx(1.5)
    assert ROW.ratio(ROW.warm, Side.AHEAD) == pytest.approx(0.5)
    assert ROW.ratio(ROW.cold, Side.PLAIN) == pytest.approx(1.0)
    assert ROW.ratio(ROW.cold, Side.AHEAD) is None  # nobody to compare with


def test_a_layer_of_a_library_stands_on_both_sides() -> None:
    times = {"isamap plain": [2.0, 0.0], "isamap ahead": [1.0, 0.0], "torch plain": [3.0, 0.0]}
    row = replace(ROW, kind="gru", warm=times, steps=10)
    assert [row.ratio(row.warm, side) for side in row.sides] == [1.5, 3.0]


def test_a_library_that_sums_in_any_order_stands_on_both_sides_of_rows() -> None:
    times = {"isamap ordered": [2.0, 0.0], "isamap free": [1.0, 0.0], "torch free": [3.0, 0.0]}
    row = replace(ROW, kind="rows", warm=times)
    assert [row.ratio(row.warm, side) for side in row.sides] == [1.5, 3.0]
    assert Side.PLAIN not in row.sides


def test_rows_are_read_back_and_the_last_of_a_key_counts(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert load_rows(path) == []
    later = replace(ROW, is_right=False)
    path.write_text("\n".join(["a broken line", as_line(ROW), as_line(later)]) + "\n")
    assert load_rows(path) == [later]
    assert json.loads(as_line(ROW))["label"] == "4,4,4 NN"


def test_means_and_least_ratios_are_of_warm_and_cold_runs_by_side() -> None:
    slower = replace(ROW, label="8,8,8 NN", warm={**ROW.warm, "isamap plain": [12e-6, 0.01]})
    lines = summary([ROW, slower])
    assert geometric_mean([1.5, 0.25]) == pytest.approx(0.612, abs=1e-3)
    assert lines[0].startswith("- plain, warm: 0.61x the best library over 2 rows, least 0.25 (8,8")
    assert "all results right" in lines[-1]
    assert "WRONG: 8,8,8 NN" in summary([ROW, replace(slower, is_right=False)])[-1]
    assert any("| 4,4,4 NN | peak | 0 | 50 | MKL 0 | 1.50 |" in line for line in table([ROW]))


def tuned(plain_s: float, label: str) -> Row:
    warm = {**ROW.warm, "isamap-tuned plain": [plain_s, 0.01]}
    return replace(ROW, label=label, warm=warm, tuned_s={"plain": 20.0})


def test_tuned_forms_are_held_against_libraries_and_untuned_ones_against_them() -> None:
    one, other = tuned(1e-6, "4,4,4 NN"), tuned(2.5e-6, "8,8,8 NN")
    assert one.ratio(one.warm, Side.PLAIN, "isamap-tuned") == pytest.approx(3.0)
    assert one.share_of_tuned(Side.PLAIN) == pytest.approx(0.5)
    assert one.share_of_tuned(Side.AHEAD) is None
    assert one.best(one.warm, Side.PLAIN) == ("MKL", 3e-6), "our own forms are no libraries"
    lines = summary([one, other])
    assert (
        "- plain, warm, tuned, of the best library: 1.90x over 2 rows, least 1.20 (8,8,8 NN)"
        in lines
    )
    assert "- plain, warm, untuned, of tuned: 0.79x over 2 rows, least 0.50 (4,4,4 NN)" in lines
    assert "- tuning: median 20 s, most 20 s" in lines


def test_rows_without_tuned_forms_have_no_columns_for_them() -> None:
    def columns(rows: list[Row]) -> set[int]:
        return {line.count("|") for line in table(rows) if line.startswith("|")}

    assert columns([ROW]) == {14} and columns([ROW, tuned(1e-6, "8,8,8 NN")]) == {20}


def test_lines_from_before_tuning_are_read(tmp_path: Path) -> None:
    old = json.loads(as_line(ROW))
    del old["tuned_s"]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(old) + "\n")
    assert load_rows(path) == [ROW]
