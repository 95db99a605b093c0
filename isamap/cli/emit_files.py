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
from isamap.hwdesc import Hardware, show_bytes
from isamap.ir import Kernel
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
    """Write the program, or the schedule (`timeloop`), into the folder and say so.

    Raises:
        IsamapError: there is no such form, or the program does not fit it.
    """
    click.echo(f"wrote {_write(result, kind, folder, base)}", err=True)


def _write(result: Result | PlanResult, kind: str, folder: str, base: int | None) -> str:
    """What was written."""
    program, kernel, hw = result.program, result.kernel, result.hardware
    match kind:
        case "timeloop":
            write_all({Path(folder, name): text for name, text in timeloop_files(result).items()})
            return f"{folder}: timeloop_*.yaml"
        case "c" if hw.encoding is not None:
            return str(write_c(program, kernel, hw, folder))
        case "c":
            return str(_write_intrinsics(program, kernel, hw, Path(folder)))
        case "asm":
            return str(write_asm(program, kernel, hw, folder))
    assert kind == "bin", kind
    binary = write_binary(program, kernel, hw, folder, base=base)
    records = show_count(sum(run.num_records for run in binary.runs))
    text = f"{folder}: {records} records, an image of {show_bytes(binary.image_bytes)}"
    on_host = len(binary.parts) - len(binary.runs)
    if on_host:
        text += f"; the host works {on_host} times in between (see its manifest)"
    return text


def _write_intrinsics(program: Program, kernel: Kernel, hw: Hardware, folder: Path) -> Path:
    """On machines whose calls are C; the C file comes back."""
    given = frozenset(buffer.name for buffer in kernel.buffers if buffer.role.is_given)
    source = generate_c(program, hw, given)
    path = folder / f"{source.name}.c"
    write_all({path: source.text, folder / f"{source.name}.h": source.header})
    return path
