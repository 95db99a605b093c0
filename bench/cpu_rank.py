"""How well the closed form orders schedules: predicted against measured times on this processor.

In: shapes m,n,k on the command line, or the default ones. Out: a table with the rank correlation
(Spearman) over each shape's candidates. Not its job: measuring (`isamap.native.tune`), libraries
(`cpu.py`).

Candidates are the closed form's best and others up to 1.3 times as long, as unlike each other as
that allows. `spread` says how far measured times lie apart: where they hardly do, the order is
noise. Times are processor seconds of one pinned core; measurements are kept and reused
(`isamap tune` has the same database).
"""

import argparse
from pathlib import Path
from statistics import geometric_mean, median

from host import header

from isamap.codegen import find_toolchain
from isamap.compile import build_kernel, load_machine
from isamap.hwdesc import Hardware
from isamap.measured import Database, Measured, default_path, make_subject
from isamap.native import Tuned, tune

MACHINE = "x86_avx512"
KERNEL = "gemm:gemm_f32"
SHAPES = (
    (127, 129, 131), (512, 512, 512), (1760, 16, 1760), (1760, 64, 1760), (35, 700, 2048),
    (2560, 32, 2560), (64, 1024, 256), (300, 300, 300),
)  # fmt: skip
CANDIDATES = 16
HEAD = "|   m, n, k         | best GFLOP/s | its place | first/best | spread | rank correlation |"


def main() -> None:
    """Print a row per shape and the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("shapes", nargs="*", help="m,n,k")
    parser.add_argument("--database", type=Path, default=default_path())
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    given = parser.parse_args()
    shapes = [tuple(map(int, text.split(","))) for text in given.shapes] or list(SHAPES)
    model = Measured(given.candidates, given.database)
    print("\n".join(header(("numpy", "ortools"))), "", HEAD, sep="\n")
    print("|---|---|---|---|---|---|")
    done = []
    sizes = [dict(zip("mnk", shape, strict=True)) for shape in shapes]
    machine = load_machine(MACHINE)
    for tuned in tune(KERNEL, machine, sizes, model=model, may_reassociate=True):
        print(row(tuned, machine, given.database), flush=True)
        done += [tuned.outcome] if tuned.outcome is not None else []
    if not done:
        return
    ratio = geometric_mean(outcome.first_s / outcome.seconds for outcome in done)
    ranks = [outcome.correlation for outcome in done if outcome.correlation is not None]
    print(f"\nfirst/best: geometric mean {ratio:.3f}; rank correlation: median {median(ranks):.2f}")


def row(tuned: Tuned, machine: Hardware, database: Path) -> str:
    """One line of the table."""
    shape = ", ".join(map(str, tuned.shape.values()))
    found = tuned.outcome
    if found is None:
        return f"| {shape:>17} | {tuned.problem} |"
    work = 2 * tuned.shape["m"] * tuned.shape["n"] * tuned.shape["k"] / 1e9
    ranked = "-" if found.correlation is None else f"{found.correlation:.2f}"
    return (
        f"| {shape:>17} | {work / found.seconds:12.1f} | {found.winner + 1:3} of"
        f" {found.num_candidates:2} | {found.first_s / found.seconds:10.3f} |"
        f" {spread(tuned, machine, database):6.2f} | {ranked:>16} |"
    )


def spread(tuned: Tuned, machine: Hardware, database: Path) -> float:
    """The longest measured time of a shape's candidates over the shortest."""
    kernel, _ = build_kernel(KERNEL, tuned.shape, None)
    subject = make_subject(kernel, machine, find_toolchain(machine))
    rows = Database(database).recall(subject).values()
    times = [r.measurement.seconds for r in rows if r.measurement.seconds is not None]
    return max(times) / min(times)


if __name__ == "__main__":
    main()
