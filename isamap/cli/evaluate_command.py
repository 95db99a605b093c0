"""`isamap evaluate`: options in, the comparison out.

In: arguments. Out: printed comparison, files, exit code. Not its job: any decision.
"""

import click

from .exit_codes import EXIT_WRONG
from .options import Views, verify_option, view_options
from .write import check_places


@click.command()
@click.argument("schedule")
@verify_option
@click.option("--seed", type=int, help="Of random inputs (default: the file's).")
@click.option("--listing", is_flag=True, help="Print the program.")
@click.option("--json", "json_path", metavar="FILE", help="Write the answer as JSON (-: stdout).")
@view_options
@click.option(
    "-o",
    "folder",
    metavar="DIR",
    help="Write schedule.yaml, program.json, stats.json, summary.csv.",
)
def evaluate_command(
    schedule: str,
    check: str,
    seed: int | None,
    listing: bool,
    json_path: str | None,
    trace: str | None,
    report: str | None,
    trace_calls: int,
    folder: str | None,
) -> None:
    """Cost, time and check SCHEDULE, a file that 'isamap map -o' wrote and a person may have
    edited; or say which rule it breaks."""
    from isamap.files import evaluate  # start-up time

    from . import show_evaluation, write_views
    from .write_folder import FILES, write_folder

    views = Views(trace, report, trace_calls)
    views.check()
    check_places(json_path, trace, report, folder=folder, inside=FILES)
    found = evaluate(schedule, verify=check, seed=seed)
    if folder is not None:  # first: who reads the answer may close the pipe
        write_folder(folder, found.result)
    write_views.write_result_views(views, found.result)
    show_evaluation.show_evaluation(found, listing=listing, json_path=json_path)
    if found.result.verification.is_wrong:
        raise SystemExit(EXIT_WRONG)
