"""Write a mapped program in a machine's own form, or a schedule in another tool's.

In: an answer, kinds of files, a folder. Out: the files. Not its job: what is in them (`codegen`,
`files`).
"""

from pathlib import Path

import click

from isamap.codegen import (
    IMAGE,
    LISTING,
    MANIFEST,
    PROGRAM,
    generate_c,
    write_asm,
    write_binary,
    write_c,
)
from isamap.compile import PlanResult, Result
from isamap.files import TIMELOOP_FILES, timeloop_files
from isamap.hwdesc import show_bytes
from isamap.program import Program
from isamap.write_all import write_all

from .units import show_count

FILES = {  # by kind; those that are named after the kernel are not among them
    "bin": (PROGRAM, IMAGE, LISTING, MANIFEST),
    "c": (MANIFEST,),
    "asm": (IMAGE, MANIFEST),
    "timeloop": TIMELOOP_FILES,
}


def emit_files(result: Result | PlanResult, kind: str, folder: str, base: int | None) -> None:
    """Write the program (`bin`) or the schedule (`timeloop`) into the folder and say so.

    Raises:
        IsamapError: there is no such form, or the program does not fit it.
    """
    if kind == "timeloop":
        write_all({Path(folder, name): text for name, text in timeloop_files(result).items()})
        click.echo(f"wrote {folder}: timeloop_*.yaml", err=True)
        return
    program = result.program
    if kind == "c":
        click.echo(f"wrote {_write_c(result, program, Path(folder))}", err=True)
        return
    if kind == "asm":
        path = write_asm(program, result.kernel, result.hardware, folder)
        click.echo(f"wrote {path}", err=True)
        return
    assert kind == "bin", kind
    binary = write_binary(program, result.kernel, result.hardware, folder, base=base)
    records = sum(run.num_records for run in binary.runs)
    on_host = len(binary.parts) - len(binary.runs)
    size = show_bytes(binary.image_bytes)
    text = f"wrote {folder}: {show_count(records)} records, an image of {size}"
    if on_host:
        text += f"; the host works {on_host} times in between (see its manifest)"
    click.echo(text, err=True)


def _write_c(result: Result | PlanResult, program: Program, folder: Path) -> Path:
    """As records, or with intrinsics on machines whose calls are C; the C file comes back."""
    if result.hardware.encoding is not None:
        return write_c(program, result.kernel, result.hardware, folder)
    given = frozenset(buffer.name for buffer in result.kernel.buffers if buffer.role.is_given)
    source = generate_c(program, result.hardware, given)
    path = folder / f"{source.name}.c"
    write_all({path: source.text, folder / f"{source.name}.h": source.header})
    return path
