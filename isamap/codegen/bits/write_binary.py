"""A binary as files.

In: a Program, its machine, a folder. Out: program.bin, data.bin, manifest.json and listing.txt in
it. Not its job: the command line, reading back (`read_binary`).
"""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, numpy_dtype
from isamap.program import Program, pack

from .assemble import Binary, assemble, run_bytes, table_bytes
from .call import HostStep
from .list_calls import show_calls, show_host_step
from .manifest import IMAGE, LISTING, MANIFEST, PROGRAM, make_manifest
from .normal_form import bits_by_name, normal_form


def write_binary(
    program: Program,
    kernel: Kernel,
    hw: Hardware,
    folder: str | Path,
    *,
    base: int | None = None,
    inputs: Mapping[str, np.ndarray] | None = None,
) -> Binary:
    """Write the program as the machine takes it; `inputs` are packed into the image where given.

    Args:
        kernel: what the program computes, as it was asked for: its buffers are what a loader sees.
        base: the image's address (None: the machine's default).

    Raises:
        ProgramError: it cannot be written in the machine's encoding; the folder cannot be written.
    """
    binary = assemble(program, hw, base)
    folder = Path(folder)
    files = {
        PROGRAM: b"".join(run_bytes(run, hw) for run in binary.runs),
        IMAGE: make_image(binary, hw, inputs or {}),
        LISTING: list_binary(binary, hw).encode(),
        MANIFEST: (json.dumps(make_manifest(binary, kernel, hw), indent=1) + "\n").encode(),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
    except OSError as error:
        raise ProgramError(f"cannot write {folder}: {error.strerror}") from error
    return binary


def make_image(binary: Binary, hw: Hardware, inputs: Mapping[str, np.ndarray]) -> bytes:
    """The data image: tables, inputs (zeros where not given) and their padding, else zeros."""
    image = fill_image(binary.program, binary.image_bytes, inputs)
    for part in binary.tables:
        content = np.frombuffer(table_bytes(part, hw), np.uint8)
        image[part.address : part.address + content.size] = content
    return image.tobytes()


def fill_image(program: Program, num_bytes: int, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    """`num_bytes` u8: inputs (zeros where not given) and their padding, else zeros."""
    image = np.zeros(num_bytes, np.uint8)
    for place in program.inputs:
        shape, dtype = place.layout.shape, numpy_dtype(place.layout.dtype)
        array = inputs.get(place.buffer, np.zeros(shape, dtype))
        packed = pack(array.reshape(shape), place.layout)
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
