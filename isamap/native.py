"""From a kernel to a function on NumPy arrays: map, write C, compile, call.

In: a kernel, a machine with `emit: c`. Out: files, a callable, what another machine computed.
Not its job: mapping (`compile`), C text (`codegen`).
"""

import ctypes
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np

from .codegen import CSource, Parameter, Toolchain, find_toolchain, generate_c, generate_main
from .compile import PlanResult, Result
from .compile import map as map_kernel
from .errors import IsamapError
from .hwdesc import Hardware
from .ir import (
    Kernel,
    Role,
    Statement,
    covers,
    interpret,
    is_float,
    numpy_dtype,
    random_arrays,
)
from .program import Program, pack, unpack
from .verify import Mismatch, compare

RUN_SECONDS = 120.0
SMALL = 4  # floats drawn as whole numbers up to this: their sums are exact


class ArrayError(IsamapError):
    """An array that a compiled function cannot take."""


@dataclass(frozen=True, slots=True)
class Mapped:
    """A kernel's program and where it came from."""

    kernel: Kernel
    hardware: Hardware
    program: Program
    cycles: int


@dataclass(frozen=True, slots=True)
class CFiles:
    """What `build` wrote: the function's C, its header, the library, what it was made of."""

    source: Path
    header: Path
    library: Path
    depfile: Path


@dataclass(frozen=True, slots=True)
class BuiltKernel:
    """A kernel compiled for this processor; call it with arrays by buffer name.

    In and InOut buffers are given, Out buffers may be (else they are made). An array must have the
    buffer's shape and type and be row-major without gaps: nothing is copied, except buffers in
    `packed`, which are brought into the layout that the program wants on every call.
    """

    mapped: Mapped
    source: CSource
    files: CFiles
    _function: Callable[..., None] = field(repr=False)

    @property
    def kernel(self) -> Kernel:
        """The kernel at its sizes."""
        return self.mapped.kernel

    @property
    def program(self) -> Program:
        """The program whose C was compiled."""
        return self.mapped.program

    @property
    def cleared(self) -> tuple[str, ...]:
        """Out buffers that the kernel does not write everywhere: the rest is zeros."""
        written = {s.target.buffer for s in self.kernel.statements if self._covers(s)}
        return tuple(
            b.name for b in self.kernel.buffers if b.role is Role.OUT and b.name not in written
        )

    def _covers(self, statement: Statement) -> bool:
        return covers(statement, self.kernel.buffer(statement.target.buffer))

    @property
    def packed(self) -> tuple[str, ...]:
        """Buffers that are copied into another layout on every call."""
        rows = (p for p in self.source.parameters if not p.layout.is_natural and not p.is_scratch)
        return tuple(dict.fromkeys(p.buffer for p in rows))

    def __call__(self, **arrays: np.ndarray) -> np.ndarray | dict[str, np.ndarray]:
        """Run it; the output array, or outputs by name when there are several.

        Raises:
            ArrayError: an array is missing, unknown, of another shape, type or order, or overlaps
                an output.
        """
        held = self._check(arrays)
        places = [_bytes_of(p, held, self.source.parameters) for p in self.source.parameters]
        self._function(*(ctypes.c_void_p(place.ctypes.data) for place in places))
        for parameter, place in zip(self.source.parameters, places, strict=True):
            if parameter.is_written and not parameter.layout.is_natural:
                held[parameter.buffer][...] = _unpacked(parameter, place)
        outputs = {b.name: held[b.name] for b in self.kernel.buffers if _is_output(b.role)}
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def _check(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All arrays by buffer name, made where the caller gave none."""
        buffers = {b.name: b for b in self.kernel.buffers if b.role is not Role.TEMP}
        for name in arrays:
            if name not in buffers:
                raise ArrayError(
                    f"{self.kernel.name} has no buffer {name!r}",
                    hint=f"its buffers are {', '.join(buffers)}",
                )
        held: dict[str, np.ndarray] = {}
        for name, buffer in buffers.items():
            dtype = numpy_dtype(buffer.dtype)
            if name in arrays:
                held[name] = _fitting(name, arrays[name], buffer.shape, dtype, buffer.role)
                if name in self.cleared:
                    held[name][...] = 0
            elif buffer.role is Role.OUT:
                held[name] = np.zeros(buffer.shape, dtype)
            else:
                raise ArrayError(f"{self.kernel.name} needs an array for {name!r}")
        _check_apart(held, tuple(n for n, b in buffers.items() if _is_output(b.role)))
        return held


def build(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    *,
    sizes: Mapping[str, int] | None = None,
    name: str | None = None,
    out: str | PathLike[str] | None = None,
    layouts: str = "natural",
    time_limit_s: float = 10.0,
    may_reassociate: bool = False,
) -> BuiltKernel:
    """Map a kernel and compile its C for this processor; options as for `map`.

    Args:
        out: folder for the C file, header, depfile and library; a temporary one if left out.

    Raises:
        IsamapError: the machine's programs run elsewhere, or there is no compiler.
    """
    mapped = _map(kernel, hw, sizes, name, layouts, time_limit_s, may_reassociate)
    source = generate_c(mapped.program, mapped.hardware)
    toolchain = find_toolchain(mapped.hardware)
    if toolchain.run:
        raise IsamapError(
            f"programs for {mapped.hardware.name} run under {toolchain.run[0]}, not here",
            hint="use run_on, or 'isamap run-on'",
        )
    folder = Path(out) if out is not None else Path(tempfile.mkdtemp(prefix="isamap-build-"))
    files = _write_files(folder, source, mapped, kernel)
    toolchain.compile_shared(files.source, files.library)
    function = ctypes.CDLL(str(files.library.resolve()))[source.name]
    function.restype = None
    return BuiltKernel(mapped, source, files, function)


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
    mapped = _map(kernel, hw, sizes, name, layouts, time_limit_s, may_reassociate)
    source = generate_c(mapped.program, mapped.hardware)
    toolchain = find_toolchain(mapped.hardware)
    arrays = whole_arrays(mapped.kernel, seed)
    with tempfile.TemporaryDirectory(prefix="isamap-run-") as folder:
        got = _execute(source, toolchain, arrays, Path(folder), flags)
    expected = interpret(mapped.kernel, arrays)
    wrong = compare(got, expected, "the kernel's meaning")
    return RemoteRun(mapped, source, toolchain.run, wrong)


def whole_arrays(kernel: Kernel, seed: int) -> dict[str, np.ndarray]:
    """Random inputs: integers over their full range, floats small whole numbers."""
    arrays = random_arrays(kernel, seed)
    generator = np.random.default_rng(seed)
    for buffer in kernel.buffers:
        if buffer.name in arrays and is_float(buffer.dtype):
            whole = generator.integers(-SMALL, SMALL, buffer.shape, endpoint=True)
            arrays[buffer.name] = np.asarray(whole).astype(numpy_dtype(buffer.dtype))
    return arrays


def _map(
    kernel: str | PathLike[str] | Kernel,
    hw: str | PathLike[str] | Hardware,
    sizes: Mapping[str, int] | None,
    name: str | None,
    layouts: str,
    time_limit_s: float,
    may_reassociate: bool,
) -> Mapped:
    result = map_kernel(
        kernel, hw, sizes=sizes, name=name, layouts=layouts, time_limit_s=time_limit_s,
        verify="off", may_reassociate=may_reassociate,
    )  # fmt: skip
    cycles = result.timing.cycles if result.timing is not None else 0
    match result:
        case Result():
            return Mapped(result.kernel, result.hardware, result.schedule.program, cycles)
        case PlanResult():
            return Mapped(result.kernel, result.hardware, result.plan.program, cycles)


def _write_files(
    folder: Path, source: CSource, mapped: Mapped, kernel: str | PathLike[str] | Kernel
) -> CFiles:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stem = folder / source.name
        library = stem.parent / f"lib{source.name}.so"
        files = CFiles(stem.with_suffix(".c"), stem.with_suffix(".h"), library,
                       stem.with_suffix(".d"))  # fmt: skip
        files.source.write_text(source.text)
        files.header.write_text(source.header)
        origins = [mapped.hardware.file, *([] if isinstance(kernel, Kernel) else [str(kernel)])]
        made_of = " ".join(_escaped(path) for path in origins if Path(path).is_file())
        files.depfile.write_text(f"{_escaped(str(files.library))}: {made_of}\n")
    except OSError as error:
        raise IsamapError(f"cannot write {error.filename}: {error.strerror}") from error
    return files


def _escaped(path: str) -> str:
    return path.replace(" ", "\\ ")


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
    places = [_bytes_of(p, held, source.parameters).tobytes() for p in source.parameters]
    (folder / "input").write_bytes(b"".join(places))
    toolchain.execute(program, (str(folder / "input"), str(folder / "output")), RUN_SECONDS)
    data = np.frombuffer((folder / "output").read_bytes(), np.uint8)
    outputs: dict[str, np.ndarray] = {}
    for p in source.parameters:
        own, data = data[: p.layout.size_bytes], data[p.layout.size_bytes :]
        if p.is_written:
            outputs[p.buffer] = unpack(own, p.layout)
    return outputs


def _bytes_of(
    parameter: Parameter, arrays: Mapping[str, np.ndarray], others: tuple[Parameter, ...]
) -> np.ndarray:
    """The array itself where it lies as the program wants it, else its packed bytes.

    A buffer that is read in one place and written in another is copied for reading."""
    if parameter.is_scratch:
        return np.zeros(parameter.layout.size_bytes, np.uint8)
    array = arrays[parameter.buffer]
    is_alone = parameter.is_written or all(
        other is parameter or other.buffer != parameter.buffer for other in others
    )
    if parameter.layout.is_natural and array.flags.c_contiguous and is_alone:
        return array
    return pack(array.reshape(parameter.layout.shape), parameter.layout)


def _unpacked(parameter: Parameter, place: np.ndarray) -> np.ndarray:
    return unpack(place, parameter.layout)


def _fitting(
    name: str, array: np.ndarray, shape: tuple[int, ...], dtype: np.dtype, role: Role
) -> np.ndarray:
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        got = (
            f"{array.dtype}{list(array.shape)}"
            if isinstance(array, np.ndarray)
            else type(array).__name__
        )
        raise ArrayError(
            f"array {name!r} is {got}, expected {dtype}{list(shape)}",
            hint="nothing is converted: make an array of this type and shape",
        )
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise ArrayError(
            f"array {name!r} has strides {list(array.strides)} bytes, expected row-major order"
            " without gaps, aligned to its elements",
            hint="nothing is copied: use numpy.ascontiguousarray",
        )
    if _is_output(role) and not array.flags.writeable:
        raise ArrayError(f"array {name!r} is written, but it is read-only")
    return array


def _check_apart(arrays: Mapping[str, np.ndarray], outputs: tuple[str, ...]) -> None:
    for output in outputs:
        for name, array in arrays.items():
            if name != output and np.may_share_memory(array, arrays[output]):
                raise ArrayError(f"arrays {name!r} and {output!r} overlap, and one is written")


def _is_output(role: Role) -> bool:
    return role in (Role.OUT, Role.INOUT)
