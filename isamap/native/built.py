"""A compiled kernel: call it with NumPy arrays.

In: arrays by buffer name. Out: output arrays; whatever cannot be taken is refused. Not its job:
making the library (`build`).
"""

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from isamap.codegen import CSource
from isamap.errors import IsamapError
from isamap.ir import Buffer, Kernel, Role, Statement, covers, numpy_dtype
from isamap.program import Program
from isamap.verify import Check, Verification

from .binding import Binding, Packers, bind, pointer
from .mapped import Mapped


class _Threads:
    """Have functions of this process run on several threads? A process that is forked off then
    has what OpenMP knows of them, but not the threads, and would wait for them without end."""

    have_run = False
    are_lost = False

    @classmethod
    def lose(cls) -> None:
        """In the process that was forked off."""
        cls.are_lost = cls.have_run


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Threads.lose)


class ArrayError(IsamapError):
    """Arrays that a compiled function cannot take."""


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
    `verification`: what running it on random inputs showed; never that it is wrong.
    """

    mapped: Mapped = field(repr=False)
    source: CSource = field(repr=False)
    _write: Callable[[], CFiles] = field(repr=False)  # again: the same files
    _function: Callable[..., None] = field(repr=False)
    _packers: Packers = field(default_factory=dict, repr=False)
    verification: Verification = Verification(Check.OFF)

    @property
    def files(self) -> CFiles:
        """In the folder that was asked for; else in one that is made now and goes with this
        process."""
        return self._write()

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

    def __call__(
        self, *nameless: object, **arrays: np.ndarray
    ) -> np.ndarray | dict[str, np.ndarray]:
        """Run it; the output array, or outputs by name when there are several.

        Raises:
            ArrayError: an array is missing, unknown, without its buffer's name, of another shape,
                type or order, masked, or overlaps an output.
        """
        return self.prepare()(*nameless, **arrays)

    def prepare(self, *nameless: object, **arrays: np.ndarray) -> "PreparedKernel":
        """The kernel with inputs that stay the same, such as weights: packed now, once.

        Raises:
            ArrayError: as for a call, or an array is no pure input.
        """
        self.refuse_nameless(nameless)
        for name, array in arrays.items():
            buffer = self._buffers().get(name)
            if buffer is None or buffer.role is not Role.IN:
                inputs = [b.name for b in self.kernel.buffers if b.role is Role.IN]
                raise ArrayError(
                    f"{self.kernel.name} has no input {name!r} that could be given ahead",
                    hint=f"its inputs are {', '.join(inputs)}",
                )
            _fitting(name, array, buffer)
        return PreparedKernel(self, arrays, bind(self.source.parameters, self._packers, arrays))

    def run(self, places: Sequence[ctypes.c_void_p]) -> None:
        """The bare C function: a pointer per `source.parameters`, in their layouts, unchecked.

        Raises:
            IsamapError: it runs on several threads, and this process was forked off from one in
                which such functions have run.
        """
        if self.source.num_threads > 1:
            if _Threads.are_lost:
                raise IsamapError(
                    f"{self.kernel.name} runs on {self.source.num_threads} threads, which this"
                    " process, forked off from one that has run such functions, cannot start",
                    hint="start processes with multiprocessing.get_context('spawn'), or build it"
                    " for one thread",
                )
            _Threads.have_run = True
        self._function(*places)

    def __reduce__(self) -> tuple[object, ...]:
        """It stays in its process.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            f"the built kernel {self.kernel.name} is a library loaded into this process and cannot"
            " be pickled: build it again where it is called, or hand on the folder `out`"
        )

    def check(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """All arrays by buffer name, made where the caller gave none.

        Raises:
            ArrayError: as for a call.
        """
        buffers = self._buffers()
        for name in arrays:
            if name not in buffers:
                raise ArrayError(
                    f"{self.kernel.name} has no buffer {name!r}",
                    hint=f"its buffers are {', '.join(buffers)}",
                )
        held: dict[str, np.ndarray] = {}
        for name, buffer in buffers.items():
            if name in arrays:
                held[name] = _fitting(name, arrays[name], buffer)
            elif buffer.role is Role.OUT:
                held[name] = np.zeros(buffer.shape, numpy_dtype(buffer.dtype))
            else:
                raise ArrayError(f"{self.kernel.name} needs an array for {name!r}")
        _check_apart(held, tuple(n for n, b in buffers.items() if b.role.is_returned))
        return held

    def refuse_nameless(self, arrays: tuple[object, ...]) -> None:
        """Which is which is said by name: two of one shape would be exchanged unseen.

        Raises:
            ArrayError: there are any.
        """
        if arrays:
            named = ", ".join(f"{name}=.." for name in self._buffers())
            raise ArrayError(
                f"{self.kernel.name} takes its arrays by name, {len(arrays)} came without",
                hint=f"its buffers are {named}",
            )

    def _buffers(self) -> dict[str, Buffer]:
        return {b.name: b for b in self.kernel.buffers if b.role is not Role.TEMP}


@dataclass(frozen=True, slots=True)
class PreparedKernel:
    """A compiled kernel with some of its inputs given once; call it with the others.

    These inputs are packed already, and scratch buffers are kept from call to call; several threads
    may call at once. Arrays that lie as the program wants them are kept as they are, not copied.
    """

    built: BuiltKernel
    given: Mapping[str, np.ndarray]
    binding: Binding = field(repr=False)

    def __call__(
        self, *nameless: object, **arrays: np.ndarray
    ) -> np.ndarray | dict[str, np.ndarray]:
        """Run it; as for a BuiltKernel, without the inputs given before.

        Raises:
            ArrayError: as for a BuiltKernel, or an array was given before.
        """
        self.built.refuse_nameless(nameless)
        held = self._check(arrays)
        self._run(held)
        kernel = self.built.kernel
        outputs = {b.name: held[b.name] for b in kernel.buffers if b.role.is_returned}
        return next(iter(outputs.values())) if len(outputs) == 1 else outputs

    def repeat(self, **arrays: np.ndarray) -> Callable[[], None]:
        """A call on these arrays, checked once: each time it runs, it reads them anew. For one
        thread at a time.

        Raises:
            ArrayError: as for a call.
        """
        held = self._check(arrays)
        is_direct = all(
            p.name in self.binding.ready or p.is_scratch or not self.binding.lies_elsewhere(p)
            for p in self.built.source.parameters
        )
        if not is_direct or self.built.cleared:
            return lambda: self._run(held)
        places = self.binding.fill(held, self.binding.take_rooms())
        pointers = [pointer(place) for place in places]

        def run(_: object = places) -> None:  # which must live as long as this
            self.built.run(pointers)

        return run

    def _check(self, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        twice = [name for name in arrays if name in self.given]
        if twice:
            raise ArrayError(f"array {twice[0]!r} was given when the kernel was prepared")
        return self.built.check({**self.given, **arrays})

    def _run(self, held: Mapping[str, np.ndarray]) -> None:
        for name in self.built.cleared:
            held[name][...] = 0
        rooms = self.binding.take_rooms()
        places = self.binding.fill(held, rooms)
        self.built.run([pointer(place) for place in places])
        self.binding.empty(places, held)
        self.binding.give_back(rooms)


def _fitting(name: str, array: np.ndarray, buffer: Buffer) -> np.ndarray:
    shape, dtype = buffer.shape, numpy_dtype(buffer.dtype)
    if isinstance(array, np.ma.MaskedArray):
        raise ArrayError(
            f"array {name!r} is masked, and the function knows of no masks",
            hint="give array.filled(number), or array.data if what is masked counts as well",
        )
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
    if buffer.role.is_returned and not array.flags.writeable:
        raise ArrayError(f"array {name!r} is written, but it is read-only")
    return array


def _check_apart(arrays: Mapping[str, np.ndarray], outputs: tuple[str, ...]) -> None:
    for output in outputs:
        for name, array in arrays.items():
            if name != output and np.may_share_memory(array, arrays[output]):
                raise ArrayError(f"arrays {name!r} and {output!r} overlap, and one is written")
