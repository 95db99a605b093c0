"""`isamap tune`: measure the candidates of many shapes, with progress; run again to go on.

In: arguments. Out: a line per shape, a summary, exit code. Not its job: measuring.
"""

from pathlib import Path

import click

from .exit_codes import EXIT_INTERRUPTED, EXIT_NOTHING_FOUND
from .options import (
    HW_HELP,
    PER_ROUND,
    SECONDS,
    allow_option,
    layout_option,
    many_sizes_option,
    seconds_option,
    sizes_table_option,
    time_limit_option,
)
from .write import check_apart, check_places


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
    default=PER_ROUND,
    show_default=True,
    help="How many schedules of a shape are measured in a round.",
)
@seconds_option()
@click.option(
    "--database",
    metavar="FILE",
    help="Where measurements are kept (default: $ISAMAP_DATABASE, or the user's cache folder).",
)
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="How many share the work of each schedule.",
)
@time_limit_option(10.0, "Seconds per shape's search.")
@click.option(
    "--effort",
    type=click.FloatRange(0),
    help="Seconds of counted work per shape instead: the same schedules to begin with every time.",
)
@click.option("--json", "json_path", metavar="FILE", help="Write outcomes as JSON (-: stdout).")
def tune_command(
    kernel: str, hardware: str, name: str | None, sizes: tuple[str, ...], table: str | None,
    layouts: str, allowed: tuple[str, ...], candidates: int, seconds: float | None,
    database: str | None, threads: int, time_limit: float,
    effort: float | None, json_path: str | None,
) -> None:  # fmt: skip
    """Search for the fastest schedules of shapes of KERNEL (a file, a bundled name, either with
    :NAME) by measuring them.

    Round by round: the closed form's best and unlike ones, then what lies near the fastest, until
    rounds bring nothing or time is up. What is measured is kept, so that 'build --cost measured'
    finds it and a second run goes on where the first one was stopped (Ctrl-C).
    """
    from isamap.compile import kernel_sizes  # start-up time
    from isamap.measured import Measured
    from isamap.native import tune

    from .read_shapes import read_shapes
    from .show_tune import show_tune

    check_places(json_path)
    check_apart(database, json_path)
    shapes = read_shapes(sizes, table, kernel_sizes(kernel, name))
    path = None if database is None else Path(database)
    model = Measured(candidates, path, seconds=SECONDS if seconds is None else seconds)
    stream = tune(
        kernel, hardware, shapes, model=model, name=name, layouts=layouts,
        time_limit_s=time_limit, effort=effort, may_reassociate="reassociate" in allowed,
        threads=threads,
    )  # fmt: skip
    shown = show_tune(stream, len(shapes), json_path)
    if not shown.is_whole:
        raise SystemExit(EXIT_INTERRUPTED)
    if not shown.num_measured:
        raise SystemExit(EXIT_NOTHING_FOUND)
