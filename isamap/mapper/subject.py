"""The operand under planning and what is known about it.

In: a match, tiled loops, the machine. Out: frozen values. Not its job: planning.
"""

from dataclasses import dataclass

from isamap.hwdesc import ExtentKind, Hardware
from isamap.ir import Access, Buffer, Expr

from .covering import BlockDim, TileAxis, TiledLoop
from .match import Match


@dataclass(frozen=True, slots=True)
class Source:
    """An access and its buffer; `rank`: dimensions that the kernel's array has (further ones have
    extent 1). `home`: the managed memory where it lies between tasks; None: the external memory.
    `is_late`: its values are not there in time for entries of a fifo that must be."""

    access: Access
    buffer: Buffer
    rank: int
    home: str | None = None
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """The operand to plan and everything around it; `inlet`: where a target's earlier value lies
    when that is another buffer."""

    hw: Hardware
    match: Match
    loops: tuple[TiledLoop, ...]
    name: str
    own: Source
    inlet: Source | None
    synthetic: tuple[tuple[str, str], ...]  # instruction loop -> its synthetic kernel loop
    volatile: tuple[str, ...] = ()  # held loops over which it may not stay on chip
    outlet: Source | None = None  # what is stored in its place, and what that is
    value: Expr | None = None

    @property
    def access(self) -> Access:
        """The kernel's access that the operand is bound to."""
        return self.own.access

    @property
    def buffer(self) -> Buffer:
        """The buffer of that access."""
        return self.own.buffer

    @property
    def dtype(self) -> str:
        """The type that the instruction reads or writes; copies may convert what lies in the buffer
        into it."""
        return self.match.instruction.semantics.buffer(self.name).dtype

    @property
    def is_target(self) -> bool:
        """Does the instruction write the operand?"""
        return self.match.instruction.result.buffer == self.name

    @property
    def must_run_past(self) -> bool:
        """Do loops run past the kernel's extents only where the instruction takes no less?"""
        return not any(
            self.loop(name).extent > self.loop(name).kernel_extent
            for loop, group in self.match.binding
            if self.match.instruction.extent(loop).kind is ExtentKind.AT_MOST
            for name in group
        )

    def loop(self, name: str) -> TiledLoop:
        """The tiled loop called `name`."""
        return next(loop for loop in self.loops if loop.name == name)


def bound_windows(axes: tuple[TileAxis, ...], blocks: tuple[BlockDim, ...]) -> tuple[TileAxis, ...]:
    """The window axes that block dimensions are part of, and ribbons."""
    bound = {block.loop for block in blocks}
    windows = (axis for axis in axes if axis.is_window)
    return tuple(axis for axis in windows if axis.is_ribbon or bound & set(axis.loops))
