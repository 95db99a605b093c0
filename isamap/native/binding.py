"""The bytes behind a C function's pointers.

In: its parameters, checked arrays. Out: packed inputs, scratch, outputs brought back. Not its job:
checking arrays (`built`), C text.
"""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from isamap.codegen import Parameter
from isamap.program import pack, unpack

from .aligned import aligned_bytes

Packers = Mapping[str, Callable[..., None]]


@dataclass(frozen=True, slots=True)
class Binding:
    """The bytes of some parameters, by name: inputs given ahead, packed, and scratch."""

    parameters: tuple[Parameter, ...]
    packers: Packers = field(repr=False)
    places: Mapping[str, np.ndarray] = field(repr=False)

    def fill(self, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Bytes of every parameter for one call."""
        return [
            self.places[p.name]
            if p.name in self.places
            else bytes_of(p, arrays, self.parameters, self.packers)
            for p in self.parameters
        ]

    def empty(self, places: list[np.ndarray], arrays: Mapping[str, np.ndarray]) -> None:
        """Bring what was written in other layouts into the arrays."""
        for parameter, place in zip(self.parameters, places, strict=True):
            if parameter.is_written and not parameter.layout.is_natural:
                arrays[parameter.buffer][...] = unpack(place, parameter.layout)


def bind(
    parameters: tuple[Parameter, ...], packers: Packers, arrays: Mapping[str, np.ndarray]
) -> Binding:
    """Pack these inputs now, and make room for what is scratch."""
    places = {p.name: aligned_bytes(p.layout.size_bytes) for p in parameters if p.is_scratch}
    for p in parameters:
        if p.buffer in arrays and not p.is_written and not p.is_scratch:
            places[p.name] = bytes_of(p, arrays, parameters, packers)
    return Binding(parameters, packers, places)


def bytes_of(
    parameter: Parameter,
    arrays: Mapping[str, np.ndarray],
    others: tuple[Parameter, ...],
    packers: Packers,
) -> np.ndarray:
    """The array itself, row-major, where it lies as the program wants it, else its packed bytes.

    A buffer that is read in one place and written in another is copied for reading.
    """
    room = aligned_bytes(parameter.layout.size_bytes)
    if parameter.is_scratch or not (parameter.is_read or parameter.layout.is_natural):
        return room
    array = arrays[parameter.buffer]
    is_copied = not parameter.is_written and any(
        other.is_written and other.buffer == parameter.buffer for other in others
    )
    if parameter.layout.is_natural and not is_copied:
        return array
    if parameter.name in packers:
        packers[parameter.name](pointer(array), pointer(room))
    else:
        room[...] = pack(array.reshape(parameter.layout.shape), parameter.layout)
    return room


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """To its first byte."""
    return ctypes.c_void_p(array.ctypes.data)
