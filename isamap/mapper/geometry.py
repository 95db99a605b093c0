"""What a layout in the external memory must serve.

In: an operand's access, its tiled loops, axes and block dimensions. Out: a frozen value. Not its
job: layouts.
"""

from dataclasses import dataclass

from isamap.ir import Access, Buffer

from .covering import BlockDim, TileAxis, TiledLoop


@dataclass(frozen=True, slots=True)
class Geometry:
    """What a layout must serve: an access under tiled loops, seen by axes and block dimensions.

    `element_bytes`: distance of neighbouring elements (1 for byte planes). `planes`: bytes stored
    apart.
    `rank`: dimensions that the kernel's array has; further ones have extent 1. `gathers`: may an
    element lie in several places (never in an output)? `keeps`: must every element lie somewhere,
    because those that the kernel does not write keep their values?
    """

    buffer: Buffer
    access: Access
    loops: tuple[TiledLoop, ...]
    axes: tuple[TileAxis, ...]
    blocks: tuple[BlockDim, ...]
    element_bytes: int
    planes: int
    rank: int
    gathers: bool = False
    keeps: bool = False

    @property
    def padding(self) -> int:
        """What reads outside the array give; `cover` refuses what is no integer."""
        return int(self.access.pad or 0)

    def bounds(self, dim: int) -> tuple[int, int]:
        """Smallest and largest index along `dim` over all executed iterations."""
        low = high = self.access.indices[dim].constant
        for loop in self.loops:
            reach = self.access.indices[dim].coefficient(loop.name) * (loop.extent - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def last_kept(self, dim: int) -> int:
        """Last index along `dim` that must lie somewhere though nothing touches it."""
        return self.buffer.shape[dim] - 1 if self.keeps else 0
