"""Run a kernel on another machine's emulator, or in a process of its own, and compare.

In: a kernel, a machine with `emit: c`. Out: the first wrong element, if any. Not its job: mapping,
C text.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from isamap.codegen import CSource, Toolchain, find_toolchain, generate_c, generate_main
from isamap.hwdesc import Hardware
from isamap.ir import Kernel, interpret, is_float, numpy_dtype, random_arrays
from isamap.program import Program, unpack
from isamap.verify import Mismatch, compare

from .binding import bytes_of
from .mapped import Mapped, map_program

RUN_SECONDS = 120.0
SMALL = 4  # floats drawn as whole numbers up to this: their sums are exact


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """What a machine computed under its emulator, held against the kernel's meaning.

    `command`: how its programs are run. `mismatch` None: every element is exactly right.
    """

    mapped: Mapped
    source: CSource
    command: tuple[str, ...]
    mismatch: Mismatch | None


def run_on(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    layouts: str = "natural",
    time_limit_s: float = 10.0,
    may_reassociate: bool = False,
    seed: int = 0,
    flags: tuple[str, ...] = (),
) -> RemoteRun:
    """Compile a kernel for a machine, run it there (under the emulator that the machine's file
    names) on random inputs, and compare with the kernel's meaning.

    Floats are small whole numbers, whose sums are exact, so that every element must be exactly
    right. `flags`: further ones for the compiler.

    Raises:
        IsamapError: compiler or emulator is not installed (the hint names packages), or failed.
    """
    mapped = map_program(kernel, hw, sizes, name, layouts, time_limit_s, may_reassociate)
    source = generate_c(mapped.program, mapped.hardware, mapped.given)
    toolchain = find_toolchain(mapped.hardware)
    arrays = whole_arrays(mapped.kernel, seed)
    with tempfile.TemporaryDirectory(prefix="isamap-run-") as folder:
        got = _execute(source, toolchain, arrays, Path(folder), flags)
    expected = interpret(mapped.kernel, arrays)
    wrong = compare(got, expected, "the kernel's meaning")
    return RemoteRun(mapped, source, toolchain.run, wrong)


def execute_c(
    program: Program,
    hw: Hardware,
    arrays: Mapping[str, np.ndarray],
    flags: tuple[str, ...] = (),
) -> dict[str, np.ndarray]:
    """Outputs of a program, by buffer, compiled from its C and run on the machine (or under the
    emulator that the machine's file names). `flags`: further ones for the compiler.

    Raises:
        IsamapError: as for `run_on`.
    """
    source = generate_c(program, hw, frozenset(arrays))
    toolchain = find_toolchain(hw)
    with tempfile.TemporaryDirectory(prefix="isamap-run-") as folder:
        return _execute(source, toolchain, arrays, Path(folder), flags)


def whole_arrays(kernel: Kernel, seed: int) -> dict[str, np.ndarray]:
    """Random inputs: integers over their full range, floats small whole numbers."""
    arrays = random_arrays(kernel, seed)
    generator = np.random.default_rng(seed)
    for buffer in kernel.buffers:
        if buffer.name in arrays and is_float(buffer.dtype):
            whole = generator.integers(-SMALL, SMALL, buffer.shape, endpoint=True)
            arrays[buffer.name] = np.asarray(whole).astype(numpy_dtype(buffer.dtype))
    return arrays


def _execute(
    source: CSource,
    toolchain: Toolchain,
    arrays: Mapping[str, np.ndarray],
    folder: Path,
    flags: tuple[str, ...],
) -> dict[str, np.ndarray]:
    """Outputs of one call in a process of its own."""
    (folder / f"{source.name}.c").write_text(source.text)
    (folder / f"{source.name}.h").write_text(source.header)
    (folder / "main.c").write_text(generate_main(source))
    program = folder / "program"
    toolchain.compile_program(
        (folder / f"{source.name}.c", folder / "main.c"), program, ("-static", *flags)
        if toolchain.run else flags,
    )  # fmt: skip
    held = dict(arrays)
    for p in source.parameters:
        held.setdefault(p.buffer, np.zeros(p.layout.shape, numpy_dtype(p.layout.dtype)))
    places = [bytes_of(p, held, source.parameters, {}).tobytes() for p in source.parameters]
    (folder / "input").write_bytes(b"".join(places))
    toolchain.execute(program, (str(folder / "input"), str(folder / "output")), RUN_SECONDS)
    data = np.frombuffer((folder / "output").read_bytes(), np.uint8)
    outputs: dict[str, np.ndarray] = {}
    for p in source.parameters:
        own, data = data[: p.layout.size_bytes], data[p.layout.size_bytes :]
        if p.is_written:
            outputs[p.buffer] = unpack(own, p.layout)
    return outputs
