"""A binary as files.

In: a Program, its machine, a folder. Out: program.bin, data.bin, manifest.json and listing.txt in
it. Not its job: the command line, reading back (`read_binary`).
"""

from pathlib import Path

import numpy as np

from isamap.hwdesc import Hardware
from isamap.ir import Kernel, numpy_dtype
from isamap.program import Program, pack
from isamap.write_all import make_folder, write_all

from .assemble import Binary, assemble, run_bytes, table_bytes
from .call import HostStep
from .list_calls import show_calls, show_host_step
from .manifest import IMAGE, LISTING, MANIFEST, PROGRAM, make_manifest, manifest_text
from .normal_form import bits_by_name, normal_form


def write_binary(
    program: Program,
    kernel: Kernel,
    hw: Hardware,
    folder: str | Path,
    *,
    base: int | None = None,
) -> Binary:
    """Write the program as the machine takes it.

    Args:
        kernel: what the program computes, as it was asked for: its buffers are what a loader sees.
        base: the image's address (None: the machine's default).

    Raises:
        ProgramError: it cannot be written in the machine's encoding.
        IsamapError: the files cannot be written; then all are as they were.
    """
    binary = assemble(program, hw, base)
    at = Path(folder)
    make_folder(at)
    write_all(
        {
            at / PROGRAM: b"".join(run_bytes(run, hw) for run in binary.runs),
            at / IMAGE: make_image(binary, hw),
            at / LISTING: list_binary(binary, hw),
            at / MANIFEST: manifest_text(make_manifest(binary, kernel, hw)),
        }
    )
    return binary


def make_image(binary: Binary, hw: Hardware) -> bytes:
    """The data image: tables and the padding of inputs, else zeros."""
    image = fill_image(binary.program, binary.image_bytes)
    for part in binary.tables:
        content = np.frombuffer(table_bytes(part, hw), np.uint8)
        image[part.address : part.address + content.size] = content
    return image.tobytes()


def fill_image(program: Program, num_bytes: int) -> np.ndarray:
    """`num_bytes` u8: the padding of inputs, else zeros."""
    image = np.zeros(num_bytes, np.uint8)
    for place in program.inputs:
        zeros = np.zeros(place.layout.shape, numpy_dtype(place.layout.dtype))
        packed = pack(zeros, place.layout)
        image[place.address : place.address + packed.size] = packed
    return image


def list_binary(binary: Binary, hw: Hardware) -> str:
    """Every call in order, as `disasm` reads it back."""
    lines: list[str] = []
    known = bits_by_name(hw)
    for part in binary.parts:
        if isinstance(part, HostStep):
            lines.append(show_host_step(part))
        else:
            lines.append("run")
            normal = (own for calls in part.calls for own in normal_form(calls, known))
            lines += [f"  {line}" for line in show_calls(normal)]
    return "\n".join(lines) + "\n"
