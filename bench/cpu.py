"""DeepBench on one core of this processor: generated C against the libraries that are installed.

In: options, the shapes in bench/deepbench. Out: a JSON line per row as it comes, a Markdown table.
Not its job: one row (`cpu_gemm`, `cpu_rnn`, `cpu_conv`, `cpu_rows`), libraries (`cpu_rivals`), text
(`cpu_table`).

`python bench/cpu.py --out rows.jsonl` measures what is not in the file yet, so that a run that was
ended goes on; `--every 20` takes a sample, `--only '512,3000,2048 NN'` the row of that name,
`--table` prints what there is. `--tune 22` has tuned products take part beside those that the
closed form chose (a row takes a minute more). Every contestant is measured warm (calls one after
another) and cold (caches filled with something else before; calls longer than 0.2 s, which fill the
caches themselves, are measured once for both). All 230 f32 rows take about 3.5 hours on one idle
core, of which an hour is for searches; the GRU rows half an hour.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
os.environ.update(dict.fromkeys(THREADS, "1"))  # before the libraries load
ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402
import cpu_conv  # noqa: E402
import cpu_gemm  # noqa: E402
import cpu_rnn  # noqa: E402
import cpu_rows  # noqa: E402
from cpu_limit import keep_libraries_to  # noqa: E402
from cpu_measure import Core, measure_core, pin  # noqa: E402
from cpu_rivals import missing  # noqa: E402
from cpu_table import Row, as_line, load_rows, table  # noqa: E402
from deepbench_rows import read_convs, read_gemms, read_rnns  # noqa: E402
from host import header  # noqa: E402
from rnn_row import Cell, RnnShape  # noqa: E402

from isamap.errors import IsamapError, closest  # noqa: E402
from isamap.hwdesc import load_hardware  # noqa: E402
from isamap.processor import NATIVE, find_machine  # noqa: E402

KINDS = ("f32", "bf16", "i8", "gru", "lstm", "conv", "rows")
Job = tuple[tuple[str, str, str], Callable[[Core], Row]]


@click.command()
@click.option("--kinds", default="f32,gru", show_default=True, help=f"Of {', '.join(KINDS)}.")
@click.option("--every", default=1, show_default=True, help="Only each N-th row of a kind.")
@click.option("--only", multiple=True, help="Only rows called so, of the table; repeatable.")
@click.option("--hw", default=NATIVE, show_default=True, help="The machine.")
@click.option("--out", type=click.Path(path_type=Path), help="Rows, kept between runs.")
@click.option("--core", default=0, show_default=True, help="Which core.")
@click.option("--steps", default=187, show_default=True, help="Time steps of a layer, at most.")
@click.option("--search", default=10.0, show_default=True, help="Seconds for one search.")
@click.option("--seconds", default=0.5, show_default=True, help="Warm runs of a contestant.")
@click.option("--tune", default=0.0, show_default=True, help="Seconds to tune a product's form.")
@click.option("--max-gib", default=4.0, show_default=True, help="Larger rows are left out.")
@click.option("--largest", default=4.0, show_default=True, help="Trillions of operations, at most.")
@click.option("--table", "only_table", is_flag=True, help="Measure nothing.")
def main(
    kinds: str, every: int, only: tuple[str, ...], hw: str, out: Path | None, core: int, steps: int,
    search: float, seconds: float, tune: float, max_gib: float, largest: float, only_table: bool,
) -> None:  # fmt: skip
    """Measure, and print a table."""
    limits = cpu_gemm.Limits(search, seconds, tune)
    known = load_rows(out) if out else []
    if not only_table:
        pin(core)
        hw = str(find_machine(hw))
        keep_libraries_to(load_hardware(hw))
        own = measure_core(hw)
        for line in [
            *header(("numpy",)),
            f"machine    {Path(hw).stem}",
            *_core_lines(own),
            *(f"missing    {m}" for m in missing()),
        ]:
            click.echo(line)
        chosen = [kind.strip() for kind in kinds.split(",")]
        jobs = [job for kind in chosen for job in _jobs(kind, hw, limits, steps, max_gib, largest)]
        jobs = [job for kind in chosen for job in _sample(jobs, kind, every)]
        jobs = _named(jobs, only) if only else jobs
        known += _measure(jobs, own, known, out)
    click.echo("\n".join(["", *table(known)]))


def _sample(jobs: list[Job], kind: str, every: int) -> list[Job]:
    names = ("gemm", kind) if kind in cpu_gemm.TYPES else (kind, "f32")
    return [job for job in jobs if job[0][:2] == names][::every]


def _named(jobs: list[Job], names: tuple[str, ...]) -> list[Job]:
    labels = {job[0][2] for job in jobs}
    if unknown := [name for name in names if name not in labels]:
        raise click.BadParameter(f"no row is called {unknown[0]!r}; {closest(unknown[0], labels)}")
    return [job for job in jobs if job[0][2] in names]


def _jobs(
    kind: str, hw: str, limits: cpu_gemm.Limits, steps: int, max_gib: float, largest: float
) -> Iterator[Job]:
    """What is to be measured of one kind: each shape once, those that fit."""
    if kind in ("gru", "lstm"):
        for shape in read_rnns("inference_server", (Cell(kind),)):
            short = RnnShape(
                shape.cell, shape.hidden, shape.batch, min(steps, max(shape.steps, 50))
            )
            solve = partial(cpu_rnn.solve_layer, short, hw, limits=limits)
            yield (kind, "f32", cpu_rnn.label(short)), solve
        return
    if kind == "conv":
        for conv in read_convs("all"):
            if cpu_conv.operations(conv) <= largest * 1e12:
                solve = partial(cpu_conv.solve_conv, conv, hw, limits=limits)
                yield ("conv", "f32", cpu_conv.label(conv)), solve
        return
    if kind == "rows":
        for name, shape in product(cpu_rows.KERNELS, cpu_rows.SHAPES):
            solve = partial(cpu_rows.solve_rows, name, shape, hw, limits=limits)
            yield ("rows", "f32", cpu_rows.label(name, shape)), solve
        return
    if kind not in KINDS:
        raise click.BadParameter(f"{kind!r} is none of {', '.join(KINDS)}")
    for gemm in read_gemms("all"):
        fits = 3 * cpu_gemm.num_bytes(gemm, kind) <= max_gib * 2**30
        if fits and 2 * gemm.m * gemm.n * gemm.k <= largest * 1e12:
            solve = partial(cpu_gemm.solve_gemm, gemm, kind, hw, limits=limits)
            yield ("gemm", kind, cpu_gemm.label(gemm)), solve


def _measure(jobs: list[Job], core: Core, known: list[Row], out: Path | None) -> list[Row]:
    """Rows that are not known yet; each is written when it is done."""
    done = {row.key for row in known}
    todo = [(key, solve) for key, solve in dict(jobs).items() if key not in done]
    rows: list[Row] = []
    begin = time.monotonic()
    for number, (key, solve) in enumerate(todo, 1):
        try:
            row = solve(core=core)
        except IsamapError as error:
            click.echo(f"{' '.join(key)}: {error.message.splitlines()[0]}")
            continue
        rows.append(row)
        if out is not None:
            with open(out, "a", encoding="utf-8") as file:
                file.write(as_line(row) + "\n")
        left = (time.monotonic() - begin) / number * (len(todo) - number)
        times = ", ".join(f"{name} {t[0] * 1e3:.3g} ms" for name, t in row.warm.items())
        click.echo(f"{number}/{len(todo)} {' '.join(key)}: {times}; about {left / 60:.0f} min left")
    return rows


def _core_lines(core: Core) -> list[str]:
    peaks = ", ".join(f"{types} {rate / 1e9:.0f}" for types, rate in core.peaks.items())
    rates = ", ".join(
        f"{size / 2**20:g} MiB {rate / 1e9:.0f}" for size, rate in core.bandwidths.items()
    )
    return [f"peaks      {peaks} billion operations per second", f"reading    {rates} GB/s"]


if __name__ == "__main__":
    main()
