"""`isamap emulate`: how long a written program takes.

In: a program's JSON, a machine. Out: cycles, shares, traffic. Not its job: values.
"""

import json
from pathlib import Path

import click

from isamap.errors import ProgramError

from .options import HW_HELP, Views, view_options
from .units import show_count, show_cycles, show_seconds, show_share
from .write import check_places


@click.command()
@click.argument("program")
@click.option("--hw", "hardware", required=True, help=HW_HELP)
@view_options
def emulate_command(
    program: str, hardware: str, trace: str | None, report: str | None, trace_calls: int
) -> None:
    """Time PROGRAM, a file that 'isamap map --program' wrote."""
    from isamap.emulator import time_program  # start-up time
    from isamap.hwdesc import load_hardware, show_bytes
    from isamap.processor import find_machine
    from isamap.program import from_json

    from .write_views import write_program_views

    views = Views(trace, report, trace_calls)
    views.check()
    check_places(trace, report)
    try:
        read_program = from_json(json.loads(Path(program).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise ProgramError(f"cannot read program {program}: {error}") from error
    except RecursionError:
        raise ProgramError(f"cannot read program {program}: its parts nest too deep") from None
    hw = load_hardware(find_machine(hardware))
    timing = time_program(read_program, hw)
    write_program_views(views, read_program, hw, timing)
    click.echo(f"{show_cycles(timing.cycles)}, {show_seconds(timing.cycles / hw.clock_hz)}")
    for unit in timing.unit_busy:
        click.echo(f"unit {unit.unit}: busy {show_share(unit.utilisation)}")
    for row in timing.traffic:
        read, written = show_bytes(row.read_bytes), show_bytes(row.written_bytes)
        click.echo(f"memory {row.memory}: {read} read, {written} written")
    on_host = {call.name for call in read_program.host_calls}
    for name, count in timing.calls:
        kind = "host call" if name in on_host else "instruction"
        click.echo(f"{kind} {name}: {show_count(count)} call{'s' if count != 1 else ''}")
    scratch = sum(place.layout.size_bytes for place in read_program.scratch)
    if scratch:
        click.echo(f"scratch: {show_bytes(scratch)} of {hw.external.name}")
