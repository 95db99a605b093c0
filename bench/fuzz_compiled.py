"""Random kernels compiled for this processor and run, against their meaning:
`python bench/fuzz_compiled.py --seconds 600 --seed 0`.

In: options. Out: counts of outcomes, the failures; exit status 1 if there are any. Not its job:
drawing cases (`tests.compiled_cases`), cutting failures down.
"""

import faulthandler
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402

from isamap.ir import pretty  # noqa: E402
from tests.compiled_cases import (  # noqa: E402
    CRASH,
    MACHINES,
    TOO_LARGE,
    WRONG,
    draw_case,
    running_here,
    try_case,
)


@click.command()
@click.option("--seconds", type=float, default=60.0, help="When to stop.")
@click.option("--seed", type=int, default=0, help="Of the first case; the next ones follow.")
@click.option("--hw", multiple=True, default=MACHINES, help="Machines to draw from.")
@click.option("--search", type=float, default=2.0, help="Seconds for a search.")
@click.option("--show", type=int, default=3, help="How many failures to print as kernels.")
def main(seconds: float, seed: int, hw: tuple[str, ...], search: float, show: int) -> None:
    """Build and check random kernels until the time is over."""
    faulthandler.enable()  # a compiled function may end the process
    machines = running_here(hw)
    counts: Counter[str] = Counter()
    begin, number, num_failures = time.perf_counter(), seed, 0
    while time.perf_counter() - begin < seconds:
        case = draw_case(number, machines)
        if case is None:
            counts[TOO_LARGE] += 1
        else:
            print(f"{number}: {case}", end="", file=sys.stderr, flush=True)
            found = try_case(case, search)
            print(f": {found}", file=sys.stderr, flush=True)
            kind = found.partition(":")[0]
            counts[found if kind not in (WRONG, CRASH) else kind] += 1
            if kind in (WRONG, CRASH):
                num_failures += 1
                click.echo(f"{number}: {case}: {found}")
                if num_failures <= show:
                    click.echo(pretty(case.kernel))
        number += 1
    click.echo(f"{number - seed} cases from {seed}, {time.perf_counter() - begin:.0f} s")
    for name, count in counts.most_common():
        click.echo(f"{count:6d} {name}")
    sys.exit(1 if num_failures else 0)


if __name__ == "__main__":
    main()
