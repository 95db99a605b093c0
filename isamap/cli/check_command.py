"""`isamap check`: every mistake in hardware files at once; `--exercise` runs every instruction.

In: paths or bundled names. Out: messages, exit code 2 if there are mistakes, 1 if an instruction
does not do what it says. Not its job: the rules, which calls are tried.
"""

from pathlib import Path

import click

from .exit_codes import EXIT_USAGE, EXIT_WRONG


@click.command()
@click.argument("specs", nargs=-1, required=True)
@click.option(
    "--exercise",
    is_flag=True,
    help="Run every instruction at the ends of its rules and compare with its semantics: in the"
    " emulator and, where it has C text, compiled and run.",
)
@click.option("--seed", default=0, help="Of the operands that are drawn.")
def check_command(specs: tuple[str, ...], exercise: bool, seed: int) -> None:
    """Check hardware files (SPECS: files or bundled names)."""
    from isamap.hwdesc import check_hardware  # start-up time
    from isamap.processor import find_machine

    total, different = 0, 0
    for spec in specs:
        path = find_machine(spec)
        errors = check_hardware(path)
        total += len(errors)
        for error in errors:
            click.echo(f"{error}\n", err=True)
        if not errors:
            click.echo(f"{path}: fine")
        if exercise and not errors:
            from .show_exercise import exercise_machine  # start-up time

            different += exercise_machine(Path(path), seed)
    if total:
        click.echo(f"{total} mistake{'s' if total > 1 else ''}", err=True)
        raise SystemExit(EXIT_USAGE)
    if different:
        raise SystemExit(EXIT_WRONG)
