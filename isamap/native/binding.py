"""The bytes behind a C function's pointers.

In: its parameters, checked arrays. Out: packed inputs, scratch, outputs brought back. Not its job:
checking arrays (`built`), C text.
"""

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue

import numpy as np

from isamap.codegen import Parameter
from isamap.program import pack, unpack

from .aligned import aligned_bytes

Packers = Mapping[str, Callable[..., None]]
Rooms = Mapping[str, np.ndarray]  # by parameter


@dataclass(frozen=True, slots=True)
class Binding:
    """Bytes for those parameters whose arrays do not lie as the program wants them.

    `ready`: inputs packed ahead, for all calls. The others' rooms are one call's alone: calls from
    several threads at once each take their own, and `spare` keeps them for later ones.
    """

    parameters: tuple[Parameter, ...]
    packers: Packers = field(repr=False)
    ready: Rooms = field(repr=False)
    spare: SimpleQueue[Rooms] = field(repr=False, default_factory=SimpleQueue)

    def lies_elsewhere(self, parameter: Parameter) -> bool:
        """Does it take another place than the caller's array?"""
        return _differs(parameter, self.parameters)

    def take_rooms(self) -> Rooms:
        """For one call, until they are given back."""
        try:
            return self.spare.get_nowait()
        except Empty:
            moved = (p for p in self.parameters if self.lies_elsewhere(p))
            return make_rooms(p for p in moved if p.name not in self.ready)

    def give_back(self, rooms: Rooms) -> None:
        """The call is over."""
        self.spare.put(rooms)

    def fill(self, arrays: Mapping[str, np.ndarray], rooms: Rooms) -> list[np.ndarray]:
        """Bytes of every parameter for one call; what is not ready is packed."""
        places = []
        for p in self.parameters:
            if p.name in rooms and p.is_read:
                self.pack(p, arrays[p.buffer], rooms[p.name])
            own = rooms.get(p.name, self.ready.get(p.name))
            places.append(arrays[p.buffer] if own is None else own)
        return places

    def pack(self, parameter: Parameter, array: np.ndarray, room: np.ndarray) -> None:
        """Bring an array, row-major, into the parameter's room."""
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
    moved = (p for p in parameters if _differs(p, parameters))
    given = [p for p in moved if p.buffer in arrays and p.is_read]
    binding = Binding(parameters, packers, make_rooms(given))
    for parameter in given:
        binding.pack(parameter, arrays[parameter.buffer], binding.ready[parameter.name])
    return binding


def make_rooms(parameters: Iterable[Parameter]) -> Rooms:
    """Bytes of each."""
    return {p.name: aligned_bytes(p.layout.size_bytes) for p in parameters}


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
