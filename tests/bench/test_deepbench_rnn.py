"""The sweep over recurrent layers: its rows, its figures, steps that are not emulated.

In: bench/deepbench.py, rnn_row.py, rnn_table.py, few_steps.py. Not its job: how good schedules are.
"""

from pathlib import Path

import pytest
from click.testing import CliRunner
from count_calls import count_calls
from deepbench import main
from deepbench_rows import read_rnns
from few_steps import SAMPLES, time_steps
from figures import Limits
from rnn_row import Cell, RnnResult, RnnShape, rnn_kernel, solve_rnn
from rnn_table import row_line, summary_lines, title_line

from isamap.hwdesc import load_hardware
from isamap.planner import Wishes, find_plan

ROOT = Path(__file__).parents[2]
GEMMINI = str(ROOT / "hw_specs" / "gemmini.yaml")
LIMITS = Limits(emulated_calls=100_000, solver_seconds=100.0)


def test_all_rows_of_the_benchmark_are_read() -> None:
    assert len(read_rnns("all", tuple(Cell))) == 125
    assert len(read_rnns("all", (Cell.GRU,))) == 73
    assert len(read_rnns("training", (Cell.LSTM,))) == 22
    assert read_rnns("all", (Cell.VANILLA,))[0] == RnnShape(Cell.VANILLA, 1760, 16, 50)


@pytest.mark.parametrize("cell", list(Cell))
def test_a_row_has_every_figure(cell: Cell) -> None:
    result = solve_rnn(RnnShape(cell, hidden=64, batch=4, steps=3), GEMMINI, LIMITS)
    assert result.error == ""
    assert result.emulated_steps == 3 and result.is_resident
    bounds = (result.compute_bound_cycles, result.traffic_bound_cycles)
    assert max(bound or 0 for bound in bounds) <= (result.gemm_bound_cycles or 0)
    on_host = (result.host_cycles or 0) + (result.repack_cycles or 0)
    assert max(on_host, result.gemm_cycles or 0) <= (result.analytical_cycles or 0)
    assert result.gain == (result.baseline_cycles or 0) / (result.accelerator_cycles or 1)


def test_weights_that_do_not_fit_come_again_every_step() -> None:
    limits = Limits(emulated_calls=0, solver_seconds=100.0)
    result = solve_rnn(RnnShape(Cell.VANILLA, hidden=768, batch=1, steps=50), GEMMINI, limits)
    assert result.error == "" and not result.is_resident
    assert (result.traffic_bound_cycles or 0) > 49 * (768 * 768 - 256 * 1024 - 512) // 16


def test_products_of_many_long_steps_are_proven_best() -> None:
    shape = RnnShape(Cell.GRU, hidden=2816, batch=1, steps=1500)
    result = solve_rnn(shape, str(ROOT / "hw_specs" / "vta.yaml"), Limits(0, 20.0))
    assert result.error == "" and result.gemm_gap == 0


def test_extrapolated_steps_are_what_emulating_them_gives() -> None:
    hw = load_hardware(GEMMINI)
    steps = SAMPLES[-1] + 5
    kernel = rnn_kernel(RnnShape(Cell.GRU, hidden=48, batch=2, steps=steps))
    plan = find_plan(kernel, hw, Wishes())
    product = next(task for task in plan.tasks if not task.on_host)
    loop = f"{product.task.held[0]}_tile"
    most = count_calls(plan.program)
    whole = time_steps(plan.program, loop, steps, hw, most_calls=most)
    by_rule = time_steps(plan.program, loop, steps, hw, most_calls=most - 1)
    assert whole is not None and whole.steps == steps
    assert by_rule is not None and by_rule.steps == SAMPLES[-1] + 1
    assert (by_rule.cycles, by_rule.host_cycles) == (whole.cycles, whole.host_cycles)
    assert time_steps(plan.program, "no such loop", steps, hw, most_calls=0) is None


def test_steps_that_are_long_themselves_are_cut_too() -> None:
    hw = load_hardware(GEMMINI)
    steps = 40
    kernel = rnn_kernel(RnnShape(Cell.VANILLA, hidden=512, batch=2, steps=steps))
    plan = find_plan(kernel, hw, Wishes())
    whole = time_steps(plan.program, "", steps, hw, most_calls=10**7)
    cut = time_steps(plan.program, "", steps, hw, most_calls=30_000)
    assert whole is not None and whole.steps == steps
    assert cut is not None and cut.steps == 0
    assert (cut.cycles, cut.host_cycles) == (whole.cycles, whole.host_cycles)


def test_a_failure_is_a_row_with_its_reason() -> None:
    result = solve_rnn(RnnShape(Cell.GRU, 4, 1, 2), "no such file", LIMITS)
    assert result.error and f"FAILED {result.error}" in row_line(result)
    assert "failures           1" in summary_lines([result])


def test_a_line_shows_the_figures_under_their_titles() -> None:
    row = RnnResult(
        RnnShape(Cell.LSTM, 256, 4, 150), status="optimal", analytical_cycles=900, bound_cycles=600,
        gemm_cycles=500, gemm_bound_cycles=500, compute_bound_cycles=200, traffic_bound_cycles=400,
        host_cycles=400, emulated_cycles=1000, emulated_host_cycles=400, emulated_steps=8,
        baseline_cycles=660, is_resident=True, on_chip="gemm",
    )  # fmt: skip
    line, title = row_line(row), title_line()
    cells = {"gap %": "50.00", "g-share": "0.800", "weights": "kept", "by": "8", "host %": "40.00",
             "others": "600", "gain": "1.100"}  # fmt: skip
    for name, cell in cells.items():
        end = title.index(f" {name} ") + len(name) + 1
        assert line[:end].endswith(f" {cell}"), name
    assert line.endswith(" host")
    text = "\n".join(summary_lines([row]))
    assert "emulated           0 in full, 1 by steps\nweights kept       1" in text
    assert "gain, weights kept  1.100 (geometric mean of 1 rows)" in text


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_command_writes_the_table(kind: str, tmp_path: Path) -> None:
    out = tmp_path / "table.txt"
    arguments = [kind, "--every", "40", "--limit", "1", "--emulate", "3e6"]
    arguments += ["--suite", "inference_server"] if kind == "gru" else []
    result = CliRunner().invoke(main, [*arguments, "--processes", "1", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "rows               1, 1 different\nfailures           0" in out.read_text()
