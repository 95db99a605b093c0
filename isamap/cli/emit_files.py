"""Write a mapped program in a machine's own form.

In: an answer, kinds of files, a folder. Out: the files. Not its job: what is in them (`codegen`).
"""

import click

from isamap.codegen import write_binary
from isamap.compile import PlanResult, Result
from isamap.errors import IsamapError

from .units import show_bytes, show_count


def emit_files(
    result: Result | PlanResult, kind: str, folder: str | None, base: int | None
) -> None:
    """Write the program as `kind` into the folder and say what was written.

    Raises:
        IsamapError: no folder; the machine has no such form, or the program does not fit it.
    """
    if folder is None:
        raise IsamapError(f"--emit {kind} writes several files", hint="add '-o DIR'")
    program = result.plan.program if isinstance(result, PlanResult) else result.schedule.program
    assert kind == "bin", kind
    binary = write_binary(program, result.kernel, result.hardware, folder, base=base)
    records = sum(len(run.records) for run in binary.runs)
    on_host = len(binary.parts) - len(binary.runs)
    size = show_bytes(binary.image_bytes)
    text = f"wrote {folder}: {show_count(records)} records, an image of {size}"
    if on_host:
        text += f"; the host works {on_host} times in between (see its manifest)"
    click.echo(text, err=True)
