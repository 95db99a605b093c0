"""`isamap tune`: measure the candidates of many shapes, with progress; run again to go on.

In: arguments. Out: a line per shape, a summary, exit code. Not its job: measuring.
"""

from pathlib import Path

import click

from .exit_codes import EXIT_INTERRUPTED
from .options import (
    HW_HELP,
    NUM_CANDIDATES,
    allow_option,
    layout_option,
    many_sizes_option,
    sizes_table_option,
    time_limit_option,
)


@click.command()
@click.argument("kernel")
@click.option("--hw", "hardware", required=True, help=HW_HELP)
@click.option("--kernel", "name", help="Kernel in the file (default: the first).")
@many_sizes_option
@sizes_table_option
@layout_option
@allow_option
@click.option(
    "--candidates",
    type=click.IntRange(2),
    default=NUM_CANDIDATES,
    show_default=True,
    help="How many schedules of a shape are measured.",
)
@click.option(
    "--database",
    metavar="FILE",
    help="Where measurements are kept (default: $ISAMAP_DATABASE, or the user's cache folder).",
)
@click.option("--threads", default=1, show_default=True, type=click.IntRange(1))
@time_limit_option(10.0, "Seconds per shape's search.")
@click.option("--json", "json_path", metavar="FILE", help="Write outcomes as JSON (-: stdout).")
def tune_command(
    kernel: str, hardware: str, name: str | None, sizes: tuple[str, ...], table: str | None,
    layouts: str, allowed: tuple[str, ...], candidates: int, database: str | None,
    threads: int, time_limit: float, json_path: str | None,
) -> None:  # fmt: skip
    """Measure the best schedules of shapes of KERNEL (a file, a bundled name, either with :NAME).

    What is measured is kept, so that 'build --cost measured' finds it and a second run goes on
    where the first one was stopped (Ctrl-C).
    """
    from isamap.compile import kernel_sizes  # start-up time
    from isamap.measured import Measured
    from isamap.native import tune

    from .read_shapes import read_shapes
    from .show_tune import show_tune

    shapes = read_shapes(sizes, table, kernel_sizes(kernel, name))
    model = Measured(candidates, None if database is None else Path(database))
    stream = tune(
        kernel, hardware, shapes, model=model, name=name, layouts=layouts,
        time_limit_s=time_limit, may_reassociate="reassociate" in allowed,
        threads=threads,
    )  # fmt: skip
    if not show_tune(stream, len(shapes), json_path):
        raise SystemExit(EXIT_INTERRUPTED)
