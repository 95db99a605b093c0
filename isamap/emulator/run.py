"""What a program computes on its machine.

In: a Program, a Hardware, arrays. Out: arrays, or ProgramError. Not its job: time (`time_program`).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from isamap.errors import IsamapError, ProgramError, closest
from isamap.hwdesc import Hardware
from isamap.program import Placement, Program, pack, unpack
from isamap.work_folder import work_folder

from .bind import Bound, bind
from .build import compile_c, run_executable
from .c_functional import emit_functional
from .c_semantics import can_compile
from .faults import fault_error, parse_report
from .optimisation import choose_optimisation, is_compiled
from .python_functional import interpret_functional
from .result import RunResult

OPEN_FILES = Path("/proc/self/fd")  # by number, where there is such a folder


def run(
    program: Program,
    hardware: Hardware,
    arrays: Mapping[str, np.ndarray],
    *,
    compiled: bool | None = None,
    timeout_s: float = 600.0,
) -> RunResult:
    """Execute every call of `program` by its instruction's semantics, bit-exactly.

    Args:
        arrays: by buffer name, one per input placement, of its layout's shape and type.
        compiled: run through the C compiler; None: if there is one and the program is not over
            sooner in Python (8-bit floats always run there); False: in Python (slow).

    Raises:
        ProgramError: an illegal call, a read of bytes nobody wrote, a missing or unfitting array.
        IsamapError: `compiled` is True without a compiler or with 8-bit floats, or the time limit
        struck.
    """
    bound = bind(program, hardware)
    image = _pack_image(bound, arrays)
    has_c = all(can_compile(call.instruction.semantics) for call in bound.calls)
    if compiled and not has_c:
        raise IsamapError("the compiled emulator has no 8-bit floats", hint="use compiled=False")
    if has_c and is_compiled(bound, compiled):
        image = _run_compiled(bound, image, timeout_s)
    else:
        interpret_functional(bound, image)
    return RunResult({p.buffer: _read_placement(image, p) for p in program.outputs})


def _pack_image(bound: Bound, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """The external memory's bytes before the run."""
    names = [placement.buffer for placement in bound.program.inputs]
    for name in arrays:
        if name not in names:
            raise ProgramError(f"the program has no input {name!r}", hint=closest(name, names))
    external = bound.extent(bound.hardware.external.name)
    image = np.zeros(external.size_bytes, np.uint8)
    for placement in bound.program.inputs:
        if placement.buffer not in arrays:
            raise ProgramError(f"the program needs the input {placement.buffer!r}")
        data = pack(arrays[placement.buffer], placement.layout)
        image[placement.address : placement.address + data.size] = data
    return image


def _read_placement(image: np.ndarray, placement: Placement) -> np.ndarray:
    data = np.ascontiguousarray(image[placement.address : placement.end])
    return unpack(data, placement.layout)


def _run_compiled(bound: Bound, image: np.ndarray, timeout_s: float) -> np.ndarray:
    """The image after the run."""
    executable = compile_c(emit_functional(bound), choose_optimisation(bound))
    with _image_file() as (path, files):
        if image.size:
            image.tofile(path)
        else:
            path.write_bytes(b"\0")
        words = run_executable(executable, (str(path),), timeout_s, files).split()
        if words[0] == "memory":
            raise IsamapError(f"the emulator could not get {words[1]} bytes of memory")
        if words[0] != "ok":
            raise fault_error(bound, parse_report(words))
        return np.fromfile(path, np.uint8)[: image.size]


@contextmanager
def _image_file() -> Iterator[tuple[Path, tuple[int, ...]]]:
    """A file and the numbers by which it is open; in memory, where there are such files: they go
    with those who have them open, however these end."""
    file = _unnamed_file()
    if file is None:
        with work_folder() as work:
            yield Path(work, "image"), ()
        return
    try:
        yield OPEN_FILES / str(file), (file,)
    finally:
        os.close(file)


def _unnamed_file() -> int | None:
    """Its number; None where there are no such files, or the system refuses one."""
    if not hasattr(os, "memfd_create") or not OPEN_FILES.is_dir():
        return None
    try:
        return os.memfd_create("image")
    except OSError:
        return None
