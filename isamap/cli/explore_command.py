"""`isamap explore`: kernels on every variant of a machine's description; run again to go on.

In: arguments. Out: a table, the best and the front, files, exit code. Not its job: any decision.
"""

from pathlib import Path

import click

from .exit_codes import EXIT_INTERRUPTED, EXIT_NOTHING_FOUND, EXIT_USAGE, EXIT_WRONG
from .options import (
    OBJECTIVES,
    allow_option,
    effort_option,
    layout_option,
    many_sizes_option,
    sizes_table_option,
    time_limit_option,
    verify_option,
)
from .write import check_apart, check_places


@click.command()
@click.argument("kernels", nargs=-1, required=True, metavar="KERNEL...")
@click.option(
    "--hw", "hardware", multiple=True, required=True, help="Hardware file or bundled name; several."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PLACE=VALUES",
    help="Values for a place of the description: parameters.dim=8,16 or units.dma.count=1..4 or"
    " parameters.dim=8..64:*2; all combinations of several.",
)
@click.option("--zip", "zipped", is_flag=True, help="First values together, then second ones ..")
@many_sizes_option
@sizes_table_option
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    default="cycles",
    show_default=True,
    help="What is best, of the sum over all workloads.",
)
@click.option(
    "--cost-of",
    "cost_text",
    metavar="EXPRESSION",
    default="managed_bytes",
    show_default=True,
    help="What a machine costs, beside the objective on the front: such as"
    " 'parameters.dim * parameters.dim + memories.sram.size / 1024'.",
)
@click.option("--cost", metavar="MODEL", default="analytical", help="As for 'isamap map'.")
@layout_option
@verify_option
@allow_option
@time_limit_option(10.0, "Seconds per kernel and variant.")
@effort_option
@click.option(
    "--jobs", "-j", default=1, show_default=True, type=click.IntRange(1), help="Processes."
)
@click.option("--cache", metavar="DIR", help="Where answers are kept (default: the user's cache).")
@click.option("--fresh", is_flag=True, help="Ask everything anew.")
@click.option("--csv", "csv_path", metavar="FILE", help="A row per variant and kernel (-: stdout).")
@click.option("--json", "json_path", metavar="FILE", help="Everything as JSON (-: stdout).")
@click.option(
    "-o",
    "folder",
    metavar="DIR",
    help="Write explore.csv, explore.json, and hardware files of the variants on the front.",
)
@click.option("--top", default=40, show_default=True, type=click.IntRange(1), help="Rows to show.")
def explore_command(
    kernels: tuple[str, ...], hardware: tuple[str, ...], settings: tuple[str, ...], zipped: bool,
    sizes: tuple[str, ...], table: str | None, objective: str, cost_text: str, cost: str,
    layouts: str, check: str, allowed: tuple[str, ...], time_limit: float,
    effort: float | None, jobs: int, cache: str | None, fresh: bool, csv_path: str | None,
    json_path: str | None, folder: str | None, top: int,
) -> None:  # fmt: skip
    """Map every KERNEL (a file, a bundled name, either with :NAME) onto every variant of a machine.

    A variant is a hardware file with settings laid over it. Answers are kept, so that a second run
    goes on where the first one was stopped (Ctrl-C).
    """
    from isamap.compile import cost_model  # start-up time
    from isamap.costmodels import Metric
    from isamap.sweep import Asking, Kept, check_cost, combine, find_machines

    from .read_aim import read_aim
    from .read_settings import read_settings
    from .read_workloads import read_workloads
    from .show_explore import FILES, Show, Sweep, show_explore

    check_places(csv_path, json_path, folder=folder, inside=FILES)
    check_apart(cache, csv_path, json_path)
    cost_model(cost)  # is there one?
    variants = combine(find_machines(hardware), read_settings(settings), zipped=zipped)
    check_cost(cost_text, variants)
    sweep = Sweep(
        read_workloads(kernels, sizes, table), variants,
        Asking(cost, layouts, check, time_limit, "reassociate" in allowed,
               read_aim(objective, None, None, None), effort=effort),
        Metric(objective), cost_text,
        Kept(None if cache is None else Path(cache), is_fresh=fresh), jobs,
    )  # fmt: skip
    found = show_explore(sweep, Show(top, csv_path, json_path, folder))
    if found.is_wrong:
        raise SystemExit(EXIT_WRONG)
    if not found.is_whole:
        raise SystemExit(EXIT_INTERRUPTED)
    if found.is_refused:
        raise SystemExit(EXIT_USAGE)
    if found.comparison.best is None:
        raise SystemExit(EXIT_NOTHING_FOUND)
