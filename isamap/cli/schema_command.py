"""`isamap schema`: the JSON Schema of hardware files.

In: where to write. Out: the schema. Not its job: making it.
"""

import click

from .write import write_json


@click.command()
@click.option("-o", "path", default="-", metavar="FILE", help="Where to write (default: stdout).")
def schema_command(path: str) -> None:
    """Print the JSON Schema of hardware files.

    For completion in an editor, begin a hardware file with
    '# yaml-language-server: $schema=FILE'.
    """
    from isamap.hwdesc import hardware_schema  # start-up time

    write_json(path, hardware_schema())
