"""Where buffers lie that stay on chip between tasks.

In: tasks with the homes and layouts that their coverings ask for. Out: an address per buffer, from
the beginning of each memory on; what is left to the tasks. Not its job: which buffers stay on chip
(`keep_on_chip`), stays within a task (`place`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import lcm

from isamap.errors import MappingError
from isamap.hwdesc import Hardware
from isamap.program import Layout
from isamap.scheduler import same_layout

from .piece import Piece
from .spoiled_borders import spoiled_borders
from .unfit_homes import copied_homes, ragged_homes


@dataclass(frozen=True, slots=True)
class ChipHome:
    """A buffer's place in a managed memory for the whole program."""

    memory: str
    address: int
    layout: Layout


def place_homes(pieces: tuple[Piece, ...], hw: Hardware) -> Mapping[str, ChipHome]:
    """All buffers on chip, one after another in each memory, in the order of their first use.

    Raises:
        MappingError: tasks ask for different places or layouts of a buffer, or for too much room,
            or one reads around a buffer what another one has not written, or counts on zeros there,
            or copies what another one takes only if it was computed.
    """
    homes: dict[str, ChipHome] = {}
    ends: dict[str, int] = {}
    spoiled, ragged = spoiled_borders(pieces), ragged_homes(pieces)
    copied = copied_homes(pieces, hw)
    for name, external in (pair for piece in pieces for pair in piece.homes.items()):
        known = homes.get(name)
        if known is not None:
            if known.memory != external.home or not same_layout(known.layout, external.layout):
                raise MappingError(f"tasks lay buffer {name!r} out on chip differently")
            continue
        if name in spoiled or name in ragged:
            raise MappingError(f"a task writes around buffer {name!r} what another one reads")
        if name in copied:
            raise MappingError(f"a task takes only what is computed, and {name!r} may be copied")
        memory = external.home
        assert memory is not None, "only homes on chip are asked for"
        align = home_align(hw, memory)
        address = -(-ends.get(memory, 0) // align) * align
        homes[name] = ChipHome(memory, address, external.layout)
        ends[memory] = address + external.layout.size_bytes
        if ends[memory] > hw.memory(memory).size_bytes:  # layouts pad
            raise MappingError(f"no room for buffer {name!r} in {memory!r} between tasks")
    for piece in pieces:
        others = (homes.keys() & piece.task.touched) - piece.homes.keys()
        if others:
            raise MappingError(f"a task looks for {min(others)!r} off the chip")
    return homes


def home_ends(homes: Mapping[str, ChipHome], hw: Hardware) -> Mapping[str, int]:
    """First byte that suits every instruction after all homes, per memory that has any."""
    ends: dict[str, int] = {}
    for home in homes.values():
        align = home_align(hw, home.memory)
        end = -(-(home.address + home.layout.size_bytes) // align) * align
        ends[home.memory] = max(ends.get(home.memory, 0), end)
    return ends


def home_align(hw: Hardware, memory: str) -> int:
    """What suits every instruction that uses the memory."""
    rules = (rule for i in hw.instructions for rule in i.operands if rule.memory == memory)
    return lcm(hw.memory(memory).granule_bytes, *(rule.align_bytes for rule in rules))
