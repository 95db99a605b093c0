"""A compiled kernel: call it with NumPy arrays.

In: arrays by buffer name. Out: output arrays; whatever cannot be taken is refused. Not its job:
making the library (`build`).
"""

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from isamap.codegen import CSource, Parameter
from isamap.errors import IsamapError
from isamap.ir import Kernel, Role, Statement, covers, numpy_dtype
from isamap.program import Program, pack, unpack

from .mapped import Mapped


class ArrayError(IsamapError):
    """An array that a compiled function cannot take."""


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
        places = [bytes_of(p, held, self.source.parameters) for p in self.source.parameters]
        self.run([ctypes.c_void_p(place.ctypes.data) for place in places])
        for parameter, place in zip(self.source.parameters, places, strict=True):
            if parameter.is_written and not parameter.layout.is_natural:
                held[parameter.buffer][...] = _unpacked(parameter, place)
        outputs = {b.name: held[b.name] for b in self.kernel.buffers if _is_output(b.role)}
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def run(self, places: Sequence[ctypes.c_void_p]) -> None:
        """The bare C function: a pointer per `source.parameters`, in their layouts, unchecked."""
        self._function(*places)

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


def bytes_of(
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
