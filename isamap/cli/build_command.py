"""`isamap build`: a kernel as C and a shared library.

In: arguments. Out: files, what was written, whether it computes what it should; exit code. Not its
job: any decision.
"""

import click

from .exit_codes import EXIT_WRONG
from .options import (
    allow_option,
    cost_options,
    effort_option,
    layout_option,
    read_cost,
    read_sizes,
    subject_options,
    time_limit_option,
)
from .write import check_apart


@click.command()
@subject_options
@click.option("--out", "-o", required=True, metavar="FOLDER", help="Where the files go.")
@cost_options
@layout_option
@allow_option
@click.option(
    "--ahead",
    metavar="BUFFERS",
    default="",
    help="Inputs packed before the call, in the order of use where that is faster: weights, 'W,U'.",
)
@click.option(
    "--threads",
    default=1,
    show_default=True,
    type=click.IntRange(1),
    help="How many share the work; float sums may be in another order where that is allowed.",
)
@click.option(
    "--verify",
    "check",
    type=click.Choice(["full", "quick", "off"]),
    default="quick",
    show_default=True,
    help="Run the compiled function on random inputs and compare everything, or what can be"
    " computed again in a few tenths of a second.",
)
@time_limit_option(10.0, "Seconds for the search.")
@effort_option
def build_command(
    kernel: str, hardware: str, out: str, sizes: tuple[str, ...], name: str | None, cost: str,
    candidates: int | None, seconds: float | None, database: str | None, layouts: str,
    allowed: tuple[str, ...], ahead: str, threads: int, check: str, time_limit: float,
    effort: float | None,
) -> None:  # fmt: skip
    """Compile KERNEL (a file, a bundled name, either with :NAME) for this processor."""
    from isamap.compile import cost_model  # start-up time: the solver and NumPy load only now
    from isamap.native import WrongError, build

    from .show_measured import measured_lines
    from .show_verification import show_verification

    check_apart(out, database)
    model = cost_model(read_cost(cost, candidates, seconds, database))
    try:
        built = build(
            kernel, hardware, sizes=read_sizes(sizes), name=name, out=out, layouts=layouts,
            time_limit_s=time_limit, effort=effort, may_reassociate="reassociate" in allowed,
            cost=model,
            ahead=[name.strip() for name in ahead.split(",") if name.strip()], threads=threads,
            verify=check,
        )  # fmt: skip
    except WrongError as error:
        for line in (*show_verification(error.verification), "no file was written"):
            click.echo(line, err=True)
        raise SystemExit(EXIT_WRONG) from None
    files = built.files
    for path in (files.source, files.header, files.depfile, files.library):
        click.echo(str(path))
    click.echo("\n".join(show_verification(built.verification)))
    for contenders in built.mapped.compared:
        clock_hz = built.mapped.hardware.clock_hz
        click.echo("\n".join(measured_lines(contenders, clock_hz, model.name)))
    packers = {p.buffer: built.source.packers.get(p.name) for p in built.source.parameters}
    for buffer in built.packed:
        by = f": pack it with {packers[buffer]}" if packers[buffer] else ""
        click.echo(f"{buffer} is wanted in another layout, see {files.header}{by}")
