"""DeepBench on a machine: `python bench/deepbench.py gemm --hw gemmini --suite all`.

In: options, the shapes in bench/deepbench. Out: a text table. Not its job: one row (`gemm_row`),
its text (`gemm_table`).
"""

import csv
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402
from gemm_row import GemmResult, Limits, solve_gemm  # noqa: E402
from gemm_table import LEGEND, row_line, summary_lines, title_line  # noqa: E402
from gemmini_heuristic import Shape  # noqa: E402
from host import header  # noqa: E402

from isamap.resources import find_hardware  # noqa: E402

DATA = Path(__file__).resolve().parent / "deepbench"
SUITES = ("training", "inference_server", "inference_device")
PACKAGES = ("numpy", "ortools", "networkx")
NUM_PROCESSES = 2


@dataclass(frozen=True, slots=True)
class GemmRow:
    """One line of gemm.csv."""

    shape: Shape
    suite: str


def read_gemm_rows(suite: str) -> tuple[GemmRow, ...]:
    """Rows of one suite, or of "all", in the file's order with its repeats."""
    with open(DATA / "gemm.csv", newline="") as file:
        rows = [
            GemmRow(
                Shape(
                    int(row["m"]), int(row["n"]), int(row["k"]),
                    row["a_t"] == "1", row["b_t"] == "1",
                ),
                row["suite"],
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip
    return tuple(row for row in rows if suite in ("all", row.suite))


def sweep(
    rows: tuple[GemmRow, ...], hw_file: str, limits: Limits, processes: int
) -> Iterator[GemmResult]:
    """Results in the order of the rows, as they come; a repeated shape is solved once."""
    shapes = list(dict.fromkeys(row.shape for row in rows))
    solved: dict[Shape, GemmResult] = {}
    start = time.perf_counter()
    work = partial(solve_gemm, hw_file=hw_file, limits=limits)
    with ProcessPoolExecutor(processes) as executor:
        stream = executor.map(work, shapes)
        for row in rows:
            if row.shape not in solved:
                solved[row.shape] = next(stream)
                _show_progress(len(solved), len(shapes), time.perf_counter() - start)
            yield solved[row.shape]


def _show_progress(done: int, total: int, seconds: float) -> None:
    print(f"\r{done}/{total} shapes, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    if done == total:
        print(file=sys.stderr)


@click.group()
def main() -> None:
    """DeepBench's kernels on a machine."""


@main.command()
@click.option("--hw", default="gemmini", help="Bundled machine or YAML file.")
@click.option("--suite", type=click.Choice((*SUITES, "all")), default="all")
@click.option("--limit", type=int, help="Only the first so many rows.")
@click.option("--every", type=int, default=1, help="Only every so-manieth row.")
@click.option("--emulate", type=float, default=40e6, help="Most calls of a program to emulate.")
@click.option("--time-limit", type=float, default=20.0, help="Solver seconds per row.")
@click.option("--processes", type=int, default=NUM_PROCESSES, help="Rows at a time.")
@click.option("--out", type=click.File("w"), default="-", help="Text file to write.")
def gemm(
    hw: str,
    suite: str,
    limit: int | None,
    every: int,
    emulate: float,
    time_limit: float,
    processes: int,
    out: TextIO,
) -> None:
    """C[m, n] += op(A) op(B), i8 times i8 into i32."""
    rows = tuple(islice(read_gemm_rows(suite), 0, limit and limit * every, every))
    limits = Limits(int(emulate), time_limit)
    for line in (*header(PACKAGES), "", *LEGEND, "", title_line()):
        print(line, file=out)
    results = []
    for result in sweep(rows, str(find_hardware(hw)), limits, processes):
        results.append(result)
        print(row_line(result), file=out, flush=True)
    print("", *summary_lines(results), sep="\n", file=out)


if __name__ == "__main__":
    main()
