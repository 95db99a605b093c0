"""The convolution sweep: its rows, its figures, its text.

In: bench/deepbench.py, conv_row.py, conv_table.py. Not its job: how good schedules are.
"""

from dataclasses import replace
from math import ceil
from pathlib import Path

import pytest
from click.testing import CliRunner
from conv_row import ConvResult, ConvShape, conv_kernel, full_rate_cycles, solve_conv
from conv_table import row_line, summary_lines, title_line
from deepbench import main
from deepbench_rows import read_convs
from figures import Limits

from isamap.hwdesc import load_hardware

ROOT = Path(__file__).parents[2]
GEMMINI = str(ROOT / "hw_specs" / "gemmini.yaml")
LIMITS = Limits(emulated_calls=100_000, solver_seconds=10.0)
TINY = ConvShape(w=9, h=7, c=5, n=2, k=6, s=3, r=3, pad=1, stride=2)


def test_all_rows_of_the_benchmark_are_read() -> None:
    assert len(read_convs("all")) == 217
    assert read_convs("all")[0] == ConvShape(700, 161, 1, 4, 32, 20, 5, 0, 2)


def test_the_kernel_has_the_shape_of_the_row() -> None:
    kernel = conv_kernel(read_convs("all")[0])
    assert kernel.buffer("x").shape == (4, 161, 700, 1)
    assert kernel.buffer("weights").shape == (5, 20, 1, 32)
    assert kernel.buffer("y").shape == (4, 79, 341, 32)  # (161 - 5) // 2 + 1, (700 - 20) // 2 + 1


@pytest.mark.parametrize("shape", [TINY, replace(TINY, c=16, k=16, stride=1, s=1, r=1, pad=0)])
def test_a_row_has_every_figure(shape: ConvShape) -> None:
    result = solve_conv(shape, GEMMINI, LIMITS)
    assert result.error == ""
    assert result.emulated_cycles is not None and result.roofline_cycles is not None
    assert result.roofline_cycles <= result.emulated_cycles
    assert 0 < (result.use or 0) <= 1


def test_full_rate_is_256_products_a_cycle_on_gemmini() -> None:
    hw = load_hardware(GEMMINI)
    products = 2 * 4 * 5 * 6 * 3 * 3 * 5  # n, ho, wo, k, r, s, c
    assert full_rate_cycles(conv_kernel(TINY), hw) in (products // 256, ceil(products / 256))


def test_a_failure_is_a_row_with_its_reason() -> None:
    result = solve_conv(TINY, "no such file", LIMITS)
    assert result.error and f"FAILED {result.error}" in row_line(result)
    assert "failures           1" in summary_lines([result])


def test_a_line_shows_the_figures_under_their_titles() -> None:
    row = ConvResult(TINY, status="optimal", analytical_cycles=200, full_rate_cycles=50)
    line, title = row_line(row), title_line()
    for name, cell in (("pad", "1"), ("str", "2"), ("cycles", "200"), ("use", "0.250")):
        end = title.index(f" {name} ") + len(name) + 1
        assert line[:end].endswith(f" {cell}"), name
    assert "use c < 16         median 0.250, least 0.250, most 0.250 (1 rows)" in summary_lines(
        [row]
    )


def test_command_writes_the_table(tmp_path: Path) -> None:
    out = tmp_path / "table.txt"
    arguments = ["conv", "--suite", "inference_device", "--limit", "2", "--emulate", "0"]
    arguments += ["--processes", "1", "--load", "a busy day", "--out", str(out)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    text = out.read_text()
    assert "load       a busy day" in text
    assert "rows               2, 2 different\nfailures           0" in text
