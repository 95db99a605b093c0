"""`isamap new-spec`: a commented hardware file to begin with.

In: where to write. Out: a file that passes `isamap check` and computes a matrix product. Not its
job: asking what the machine is like.
"""

from pathlib import Path

import click

from isamap.errors import IsamapError

from .write import write_text

TEMPLATE = Path(__file__).parent / "new_machine.yaml"


@click.command()
@click.option("-o", "path", default="-", metavar="FILE", help="Where to write (default: stdout).")
def new_spec_command(path: str) -> None:
    """Write a commented hardware file to begin with.

    It is a whole machine: change its parts into yours, and run 'isamap check' in between.
    """
    if path != "-" and Path(path).exists():
        raise IsamapError(f"{path} is there already", hint="choose another name")
    write_text(path, TEMPLATE.read_text(encoding="utf-8"))
