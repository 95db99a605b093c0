"""The GEMM sweep: its rows, its failures, its text.

In: bench/deepbench.py, gemm_row.py, gemm_table.py. Not its job: how good schedules are.
"""

from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner
from deepbench import main, measure_all
from deepbench_rows import read_gemms
from figures import Limits
from gemm_row import GemmResult, solve_gemm
from gemm_table import row_line, summary_lines, title_line
from gemmini_heuristic import Shape

ROOT = Path(__file__).parents[2]
GEMMINI = str(ROOT / "hw_specs" / "gemmini.yaml")
LIMITS = Limits(emulated_calls=100_000, solver_seconds=10.0)

DONE = GemmResult(
    Shape(100, 200, 300),
    status="optimal",
    analytical_cycles=1100,
    bound_cycles=1000,
    solver_seconds=0.5,
    roofline_cycles=800,
    roofline_limit="unit execute",
    emulated_cycles=1000,
    baseline_cycles=1250,
    busiest="execute busy 80%",
)


def test_all_rows_of_the_benchmark_are_read() -> None:
    counts = {suite: len(read_gemms(suite)) for suite in ("training", "inference_server")}
    assert counts == {"training": 160, "inference_server": 75}
    assert len(read_gemms("inference_device")) == 13
    assert len(read_gemms("all")) == 248
    assert read_gemms("all")[0] == Shape(1760, 16, 1760)


def test_a_row_has_every_figure() -> None:
    result = solve_gemm(Shape(40, 20, 35, b_t=True), GEMMINI, LIMITS)
    assert result.error == ""
    assert result.emulated_cycles is not None and result.baseline_cycles is not None
    assert result.roofline_cycles is not None and result.bound_cycles is not None
    assert result.roofline_cycles <= result.emulated_cycles
    assert result.bound_cycles <= (result.analytical_cycles or 0)
    assert result.gain == result.baseline_cycles / result.emulated_cycles


def test_too_many_calls_are_not_emulated() -> None:
    result = solve_gemm(Shape(40, 20, 35), GEMMINI, Limits(10, 10.0))
    assert result.error == ""
    assert result.emulated_cycles is None and result.baseline_cycles is None
    assert result.analytical_cycles is not None


def test_a_failure_is_a_row_with_its_text(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("name: broken\nclok: 1 GHz\n")
    result = solve_gemm(Shape(40, 20, 35), str(broken), LIMITS)
    assert "'clock'" in result.error
    assert "FAILED" in row_line(result) and result.error in row_line(result)
    assert "failures           1" in summary_lines([result, DONE])


def test_repeated_shapes_are_solved_once_and_shown_twice() -> None:
    shape = read_gemms("inference_device")[-1]
    work = partial(solve_gemm, hw_file="no such file", limits=LIMITS)
    results = list(measure_all((shape, shape), work, processes=1))
    assert len(results) == 2
    assert results[0] is results[1]


def test_a_line_shows_the_figures_under_their_titles() -> None:
    line, title = row_line(DONE), title_line()
    for name, cell in (("gap %", "10.00"), ("share", "0.800"), ("gain", "1.250"), ("op", "nn")):
        end = title.index(f" {name} ") + len(name) + 1
        assert line[:end].endswith(f" {cell}"), name
    assert line.endswith("unit execute, execute busy 80%")


def test_share_without_emulation_is_marked() -> None:
    result = GemmResult(Shape(1, 1, 1), roofline_cycles=90, analytical_cycles=100)
    assert " 0.900* " in row_line(result)


def test_summary_tells_gains_gaps_and_losses() -> None:
    slower = GemmResult(
        Shape(9, 16, 9), analytical_cycles=100, bound_cycles=100, solver_seconds=1.5,
        roofline_cycles=100, emulated_cycles=200, baseline_cycles=100,
    )  # fmt: skip
    text = "\n".join(summary_lines([DONE, slower]))
    assert "solver             median 1.00 s, max 1.50 s" in text
    assert "gap 0              1 of 2 rows (50.0%), largest gap 10.00%" in text
    assert "share of roofline  median 0.650, worst 0.500 (9 x 16 x 9 nn)" in text
    assert "model's error      median 30.00%, worst -50.00% (9 x 16 x 9 nn)" in text
    assert "gain n <= 16       0.500 (geometric mean of 1 rows)" in text
    assert "worst gain         0.500 (9 x 16 x 9 nn)" in text
    assert "slower than the baseline: 1 shapes\n  0.5000  9 x 16 x 9 nn" in text


@pytest.mark.parametrize("limit", [1, 2])
def test_command_writes_header_rows_and_summary(limit: int, tmp_path: Path) -> None:
    out = tmp_path / "table.txt"
    arguments = ["gemm", "--suite", "inference_device", "--limit", str(limit), "--emulate", "0"]
    result = CliRunner().invoke(main, [*arguments, "--processes", "1", "--out", str(out)])
    assert result.exit_code == 0, result.output
    text = out.read_text()
    for word in ("date ", "command ", "processor ", "compiler ", "ortools "):
        assert word in text
    assert text.count(" optimal ") + text.count(" feasible ") == limit
    assert f"rows               {limit}, {limit} different" in text
