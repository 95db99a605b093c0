"""`isamap map`: options in, the answer out.

In: arguments. Out: printed answer, files, exit code. Not its job: any decision.
"""

import click

from isamap.errors import IsamapError

from .exit_codes import EXIT_INTERRUPTED, EXIT_WRONG
from .options import (
    OBJECTIVES,
    Views,
    allow_option,
    cost_options,
    effort_option,
    layout_option,
    read_cost,
    read_sizes,
    subject_options,
    time_limit_option,
    verify_option,
    view_options,
)
from .read_limits import read_rooms
from .write import check_apart, check_places


@click.command()
@subject_options
@cost_options
@layout_option
@verify_option
@allow_option
@click.option(
    "--top", default=5, show_default=True, type=click.IntRange(0), help="Alternatives to list."
)
@click.option("--explain", is_flag=True, help="Say why instructions did not match.")
@click.option("--listing", is_flag=True, help="Print the program.")
@click.option("--json", "json_path", metavar="FILE", help="Write the answer as JSON (-: stdout).")
@view_options
@click.option("--program", "program_path", metavar="FILE", help="Write the program as JSON.")
@click.option(
    "--emit",
    type=click.Choice(["bin", "c", "asm", "timeloop"]),
    help="With -o, also write the program as the machine takes it: bin (records, data image,"
    " manifest), c (a statement per record), asm (its assembly text); or the schedule as"
    " timeloop-model takes it.",
)
@click.option("-o", "folder", metavar="DIR", help="Write schedule.yaml and all other files there.")
@click.option("--base", type=int, help="Address of the data image (default: the machine's).")
@click.option(
    "--objective",
    type=click.Choice(OBJECTIVES),
    default="cycles",
    show_default=True,
    help="What to minimise; edp: energy times cycles.",
)
@click.option("--pareto", metavar="A,B", help="The front of several objectives instead.")
@click.option("--max-cycles", type=click.IntRange(1), help="Cycles at most (closed form).")
@click.option("--max-energy", metavar="ENERGY", help="Energy at most, '12 uJ'.")
@click.option("--max-dram-bytes", metavar="SIZE", help="External traffic at most, '4 MiB'.")
@click.option("--max", "rooms", multiple=True, metavar="MEMORY=SIZE", help="Room at most.")
@time_limit_option(20.0, "Seconds for the whole search.")
@effort_option
@click.option(
    "--workers",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="Solver threads (more find others every time).",
)
@click.option("--seed", default=0, show_default=True, help="Of the solver and of random inputs.")
def map_command(
    kernel: str, hardware: str, sizes: tuple[str, ...], name: str | None, cost: str,
    candidates: int | None, seconds: float | None, database: str | None, layouts: str, check: str,
    allowed: tuple[str, ...], top: int, explain: bool, listing: bool,
    json_path: str | None, trace: str | None, report: str | None, trace_calls: int,
    program_path: str | None, emit: str | None, folder: str | None,
    base: int | None, objective: str, pareto: str | None,
    max_cycles: int | None, max_energy: str | None,
    max_dram_bytes: str | None, rooms: tuple[str, ...], time_limit: float, effort: float | None,
    workers: int, seed: int,
) -> None:  # fmt: skip
    """Map KERNEL (a file, a bundled name, either with :NAME) onto a machine."""
    from isamap.codegen import check_form  # start-up time: the solver and NumPy load only now
    from isamap.compile import load_machine

    from . import emit_files, read_aim, show_map
    from .write_folder import FILES

    views = Views(trace, report, trace_calls)
    views.check()
    inside = (*FILES, *emit_files.FILES.get(emit or "", ()))
    check_places(json_path, program_path, trace, report, folder=folder, inside=inside)
    check_apart(database, json_path, program_path, trace, report)
    show = show_map.Show(top, explain, listing, json_path, program_path, folder, views)
    question = show_map.Question(
        kernel, hardware, read_sizes(sizes), name, read_cost(cost, candidates, seconds, database),
        layouts, check, time_limit, workers, seed,
        "reassociate" in allowed,
        read_aim.read_aim(objective, max_cycles, max_energy, max_dram_bytes),
        read_rooms("--max", rooms), effort,
    )  # fmt: skip
    if emit is not None and folder is None:
        raise IsamapError(f"--emit {emit} writes several files", hint="add '-o DIR'")
    if pareto is not None:
        one = {
            "--emit": emit,
            "-o": folder,
            "--program": program_path,
            "--listing": listing,
            "--trace": trace,
            "--report": report,
        }
        for option in (name for name, value in one.items() if value):
            raise IsamapError(
                f"{option} is for one schedule, --pareto shows several",
                hint="ask for one of them: --objective, or --max-cycles, --max-energy ..",
            )
        show_map.show_front(question, read_aim.read_metrics("--pareto", pareto), json_path)
        return
    if emit in ("bin", "c", "asm"):
        check_form(emit, load_machine(hardware), base)
    result = show_map.show_map(question, show)
    if result.verification.is_wrong:
        raise SystemExit(EXIT_WRONG)
    if emit is not None and folder is not None:
        emit_files.emit_files(result, emit, folder, base)
    if result.is_interrupted:
        raise SystemExit(EXIT_INTERRUPTED)
