"""`isamap check`: every mistake in hardware files at once.

In: paths or bundled names. Out: messages, exit code 2 if there are any. Not its job: the rules.
"""

import click

from isamap.resources import find_hardware

EXIT_WRONG = 2


@click.command()
@click.argument("specs", nargs=-1, required=True)
def check_command(specs: tuple[str, ...]) -> None:
    """Check hardware files (SPECS: files or bundled names)."""
    from isamap.hwdesc import check_hardware  # start-up time

    total = 0
    for spec in specs:
        path = find_hardware(spec)
        errors = check_hardware(path)
        total += len(errors)
        for error in errors:
            click.echo(f"{error}\n", err=True)
        if not errors:
            click.echo(f"{path}: fine")
    if total:
        click.echo(f"{total} mistake{'s' if total > 1 else ''}", err=True)
        raise SystemExit(EXIT_WRONG)
