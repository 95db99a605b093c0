"""DeepBench on a machine: `python bench/deepbench.py gemm --hw gemmini --suite all`.

In: options, the shapes in bench/deepbench. Out: a text table. Not its job: one row (`gemm_row`,
`conv_row`, `rnn_row`), its text (`gemm_table`, `conv_table`, `rnn_table`).
"""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TextIO, TypeVar

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402
import conv_table  # noqa: E402
import gemm_table  # noqa: E402
import rnn_table  # noqa: E402
from conv_row import solve_conv  # noqa: E402
from deepbench_rows import SUITES, read_convs, read_gemms, read_rnns  # noqa: E402
from figures import Limits  # noqa: E402
from gemm_row import solve_gemm  # noqa: E402
from host import header  # noqa: E402
from rnn_row import Cell, solve_rnn  # noqa: E402
from stored import RESULTS, complain, read_stored  # noqa: E402

from isamap.resources import find_hardware  # noqa: E402

PACKAGES = ("numpy", "ortools")
NUM_PROCESSES = 2

Shape = TypeVar("Shape")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Sweep(Generic[Shape, Result]):
    """Where shapes come from, how one is measured, the module that makes text of results."""

    read: Callable[[str], tuple[Shape, ...]]  # of a suite
    solve: Callable[..., Result]  # a shape, `hw_file`, `limits`
    table: ModuleType


KINDS: dict[str, Sweep[Any, Any]] = {
    "gemm": Sweep(read_gemms, solve_gemm, gemm_table),
    "conv": Sweep(read_convs, solve_conv, conv_table),
    "rnn": Sweep(partial(read_rnns, cells=tuple(Cell)), solve_rnn, rnn_table),
    "gru": Sweep(partial(read_rnns, cells=(Cell.GRU,)), solve_rnn, rnn_table),
    "lstm": Sweep(partial(read_rnns, cells=(Cell.LSTM,)), solve_rnn, rnn_table),
}


def measure_all(
    shapes: Sequence[Shape], work: Callable[[Shape], Result], processes: int
) -> Iterator[Result]:
    """Results in the order of the shapes, as they come; a repeated shape is solved once."""
    different = list(dict.fromkeys(shapes))
    solved: dict[Shape, Result] = {}
    start = time.perf_counter()
    with ProcessPoolExecutor(processes) as executor:
        stream = executor.map(work, different)
        for shape in shapes:
            if shape not in solved:
                solved[shape] = next(stream)
                _show_progress(len(solved), len(different), time.perf_counter() - start)
            yield solved[shape]


def _show_progress(done: int, total: int, seconds: float) -> None:
    print(f"\r{done}/{total} shapes, {seconds:.0f} s", end="", file=sys.stderr, flush=True)
    if done == total:
        print(file=sys.stderr)


@click.command()
@click.argument("kind", type=click.Choice(tuple(KINDS)))
@click.option("--hw", default="gemmini", help="Bundled machine or YAML file.")
@click.option("--suite", type=click.Choice((*SUITES, "all")), default="all")
@click.option("--limit", type=int, help="Only the first so many rows.")
@click.option("--every", type=int, default=1, help="Only every so-manieth row.")
@click.option("--emulate", type=float, default=40e6, help="Most calls to emulate; 0: none.")
@click.option("--time-limit", type=float, default=20.0, help="Solver seconds per row.")
@click.option("--processes", type=int, default=NUM_PROCESSES, help="Rows at a time.")
@click.option("--load", multiple=True, help="A line for the header: what else was running.")
@click.option("--out", type=click.File("w"), default="-", help="Text file to write.")
def main(
    kind: str,
    hw: str,
    suite: str,
    limit: int | None,
    every: int,
    emulate: float,
    time_limit: float,
    processes: int,
    load: tuple[str, ...],
    out: TextIO,
) -> None:
    """DeepBench's kernels on a machine, i8 with sums in i32.

    KIND: gemm: C += op(A) op(B); conv: the forward pass; rnn: all recurrent layers; gru, lstm: the
    layers of that cell.
    """
    sweep = KINDS[kind]
    shapes = tuple(islice(sweep.read(suite), 0, limit and limit * every, every))
    titles = [name for name, _ in sweep.table.COLUMNS]
    names = tuple(titles[: titles.index("status")])
    file = RESULTS / f"{kind}-{Path(hw).stem}.txt"
    stored = read_stored(file, sweep.table.COLUMNS, names, ("emulated", "cycles"))
    limits = Limits(int(emulate), time_limit)
    work = partial(sweep.solve, hw_file=str(find_hardware(hw)), limits=limits)
    loads = [f"load       {line}" for line in load]
    head = (*header(PACKAGES), *loads, "", *sweep.table.LEGEND, "", sweep.table.title_line())
    print(*head, sep="\n", file=out)
    results = []
    for result in measure_all(shapes, work, processes):
        results.append(result)
        print(sweep.table.row_line(result), file=out, flush=True)
    print("", *sweep.table.summary_lines(results), sep="\n", file=out)
    complain(stored, map(sweep.table.row_line, results))


if __name__ == "__main__":
    main()
