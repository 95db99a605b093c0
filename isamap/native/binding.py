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
    """Bytes for those parameters whose arrays do not lie as the program wants them.

    `rooms`: by parameter; the others are the caller's arrays themselves. `ready`: rooms whose
    inputs were packed ahead.
    """

    parameters: tuple[Parameter, ...]
    packers: Packers = field(repr=False)
    rooms: Mapping[str, np.ndarray] = field(repr=False)
    ready: frozenset[str]

    def fill(self, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Bytes of every parameter for one call; what is not ready is packed."""
        places = []
        for p in self.parameters:
            if p.name not in self.rooms:
                places.append(arrays[p.buffer])
                continue
            if p.is_read and p.name not in self.ready:
                self.pack(p, arrays[p.buffer])
            places.append(self.rooms[p.name])
        return places

    def pack(self, parameter: Parameter, array: np.ndarray) -> None:
        """Bring an array, row-major, into the parameter's room."""
        room = self.rooms[parameter.name]
        if parameter.name in self.packers:
            self.packers[parameter.name](pointer(array), pointer(room))
        else:
            room[...] = pack(array.reshape(parameter.layout.shape), parameter.layout)

    def empty(self, places: list[np.ndarray], arrays: Mapping[str, np.ndarray]) -> None:
        """Bring what was written in other layouts into the arrays."""
        for parameter, place in zip(self.parameters, places, strict=True):
            if parameter.is_written and not parameter.layout.is_natural:
                arrays[parameter.buffer][...] = unpack(place, parameter.layout)


def bind(
    parameters: tuple[Parameter, ...], packers: Packers, arrays: Mapping[str, np.ndarray]
) -> Binding:
    """Make room, and pack these inputs now."""
    rooms = {
        p.name: aligned_bytes(p.layout.size_bytes) for p in parameters if _differs(p, parameters)
    }
    given = [p for p in parameters if p.buffer in arrays and p.is_read and p.name in rooms]
    binding = Binding(parameters, packers, rooms, frozenset(p.name for p in given))
    for parameter in given:
        binding.pack(parameter, arrays[parameter.buffer])
    return binding


def _differs(parameter: Parameter, others: tuple[Parameter, ...]) -> bool:
    """Is the caller's array not what the function takes? A buffer that is read in one place and
    written in another is copied for reading."""
    is_copied = not parameter.is_written and any(
        other.is_written and other.buffer == parameter.buffer for other in others
    )
    return parameter.is_scratch or not parameter.layout.is_natural or is_copied


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    """To its first byte."""
    return ctypes.c_void_p(array.ctypes.data)
