"""`isamap run-on`: compile for another machine, run under its emulator, compare.

In: arguments. Out: the verdict, exit code. Not its job: any decision.
"""

import click

from .exit_codes import EXIT_WRONG
from .options import allow_option, read_sizes, subject_options, time_limit_option


@click.command()
@subject_options
@allow_option
@click.option("--seed", default=0, show_default=True, help="Of the random inputs.")
@time_limit_option(10.0, "Seconds for the search.")
def run_on_command(
    kernel: str, hardware: str, sizes: tuple[str, ...], name: str | None,
    allowed: tuple[str, ...], seed: int, time_limit: float,
) -> None:  # fmt: skip
    """Run KERNEL (a file, a bundled name, either with :NAME) on the machine of a hardware file."""
    from isamap.native import run_on  # start-up time: the solver and NumPy load only now

    done = run_on(
        kernel, hardware, sizes=read_sizes(sizes), name=name, time_limit_s=time_limit,
        may_reassociate="reassociate" in allowed, seed=seed,
    )  # fmt: skip
    where = " ".join(done.command) or "this processor"
    head = f"{done.mapped.kernel.name} for {done.mapped.hardware.name} on {where}"
    wrong = done.mismatch
    if wrong is None:
        within = f" within {done.tolerance:.2g}" if done.tolerance else ""
        click.echo(f"{head}: every element is right{within}")
        return
    index = ", ".join(map(str, wrong.index))
    click.echo(
        f"{head}: {wrong.num_wrong} of {wrong.num_elements} elements of {wrong.buffer} are wrong;"
        f" {wrong.buffer}[{index}] is {wrong.got}, expected {wrong.expected}"
    )
    raise SystemExit(EXIT_WRONG)
