"""`isamap disasm`: the listing of a binary.

In: a folder that `map --emit bin` wrote, or a file of records. Out: its calls. Not its job: running
them.
"""

import click

from .options import HW_HELP


@click.command()
@click.argument("binary")
@click.option("--hw", "hardware", required=True, help=HW_HELP)
def disasm_command(binary: str, hardware: str) -> None:
    """List BINARY, a folder that 'isamap map --emit bin' wrote, or a file of records."""
    from isamap.codegen import disassemble  # start-up time
    from isamap.hwdesc import load_hardware
    from isamap.processor import find_machine

    click.echo(disassemble(binary, load_hardware(find_machine(hardware))), nl=False)
