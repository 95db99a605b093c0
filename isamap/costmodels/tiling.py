"""What a schedule decides for one covering, and what follows from it for reuse.

In: a covering. Out: frozen decisions (`Tiling`) and the loops at which each stay keeps its data
(`guards`). Not its job: deciding, costing, emitting code.

The nest has two bodies: tile loops (level 1, order `outer`) around unit loops (level 0, order
`inner`) around one call. A stay at level 1 holds a tile of its operand, a stay at level 0 a single
block.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from isamap.mapper import Covering, OperandPlan, Passage, Residence, TileAxis, TiledLoop


@dataclass(frozen=True, slots=True)
class Stay:
    """How long an operand's blocks stay in one memory.

    `residence`: number within the operand's residences (0 is the one the unit reads). `slots`:
    rotating buffers (2: double buffering).
    `kept`: loops whose tiles all stay side by side, so that a loop outside them does not fetch
    again; of a single block, loops of whose units in a tile there is a block each.
    """

    operand: str
    residence: int
    level: int
    slots: int
    kept: tuple[str, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # searches look tilings up thousands of times
        own = self.operand, self.residence, self.level, self.slots, self.kept
        object.__setattr__(self, "_hash", hash(own))

    def __hash__(self) -> int:
        return self._hash

    @property
    def kept_tiles(self) -> tuple[str, ...]:
        """Loops whose tiles all stay."""
        return self.kept if self.level else ()

    @property
    def kept_units(self) -> tuple[str, ...]:
        """Loops whose units in a tile all stay, of stays that hold single blocks."""
        return () if self.level else self.kept


@dataclass(frozen=True, slots=True)
class Tiling:
    """Tile size in units per loop, both loop orders (outermost first), and every stay."""

    tiles: tuple[tuple[str, int], ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    stays: tuple[Stay, ...]
    _tile_of: dict[str, int] = field(init=False, repr=False, compare=False)
    _stay_of: dict[tuple[str, int], Stay] = field(init=False, repr=False, compare=False)
    # what `guards` found, for the covering that it was asked about last
    _guards: "dict[Stay, tuple[Covering, Guards]]" = field(init=False, repr=False, compare=False)
    # memory, alignment and bytes of all that lies on chip, by the covering's identity
    rooms: dict[int, tuple[Covering, tuple[tuple[str, int, int], ...]]] = field(
        init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        # the closed form asks for them by name thousands of times
        object.__setattr__(self, "_tile_of", dict(self.tiles))
        object.__setattr__(self, "_stay_of", {(s.operand, s.residence): s for s in self.stays})
        object.__setattr__(self, "_guards", {})
        object.__setattr__(self, "rooms", {})

    def tile(self, loop: str) -> int:
        """Units of `loop` in a tile."""
        return self._tile_of[loop]

    def with_tile(self, loop: str, tile: int) -> "Tiling":
        """With another size of one loop's tile."""
        tiles = tuple([(n, tile if n == loop else t) for n, t in self.tiles])
        return Tiling(tiles, self.outer, self.inner, self.stays)

    def stay(self, operand: str, residence: int) -> Stay:
        """The stay of an operand in the residence of that number."""
        return self._stay_of[operand, residence]


class Guards(NamedTuple):
    """Loops over which a stay's data does not change: it is fetched at their first iteration and
    drained at their last.

    `refetch_outer`, `refetch_inner`: loops the operand does not depend on and that nevertheless
    fetch again, all of it `passes` times.
    """

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    refetch_outer: tuple[str, ...]
    refetch_inner: tuple[str, ...]
    passes: float


def trips(covering: Covering, tiling: Tiling, loop: str) -> int:
    """Tiles of `loop`."""
    return -(-covering.units[loop] // tiling._tile_of[loop])


def last_units(covering: Covering, tiling: Tiling, loop: TiledLoop) -> int:
    """Units of the last tile of a loop."""
    return loop.units - (trips(covering, tiling, loop.name) - 1) * tiling.tile(loop.name)


def guards(covering: Covering, tiling: Tiling, stay: Stay) -> Guards:
    """Which loops keep the stay's data: those with no loop inside them that changes it."""
    known = tiling._guards.get(stay)
    if known is not None and known[0] is covering:
        return known[1]
    found = _find_guards(covering, tiling, stay)
    tiling._guards[stay] = covering, found
    return found


def _find_guards(covering: Covering, tiling: Tiling, stay: Stay) -> Guards:
    moving = covering.operand(stay.operand).loops
    tiles, units = tiling._tile_of, covering.units
    inner = [name for name in tiling.inner if tiles[name] > 1]
    outer = [name for name in tiling.outer if tiles[name] < units[name]]
    blocks = tuple(name for name in moving if name not in stay.kept_units)
    changing = blocks if stay.level == 0 else ()
    keeps_inner, refetch_inner, is_changed = _part(inner, moving, changing, False)
    changing = tuple(name for name in moving if name not in stay.kept_tiles)
    keeps_outer, refetch_outer, _ = _part(outer, moving, changing, is_changed)
    passes = 1.0
    for name in refetch_outer:
        twice = name in refetch_inner
        passes *= covering.loop(name).units if twice else trips(covering, tiling, name)
    for name in refetch_inner:
        if name not in refetch_outer:
            passes *= tiling.tile(name)
    return Guards(keeps_outer, keeps_inner, refetch_outer, refetch_inner, passes)


def _part(
    order: list[str], moving: tuple[str, ...], changing: tuple[str, ...], is_changed: bool
) -> tuple[tuple[str, ...], tuple[str, ...], bool]:
    """Of one body's loops that repeat and do not move the stay: those that keep its data, those
    that fetch it again; and whether anything from there inwards changes it, as `is_changed` says of
    the loops further inside."""
    keeps: list[str] = []
    again: list[str] = []
    for name in reversed(order):
        if name not in moving:
            (again if is_changed else keeps).append(name)
        is_changed = is_changed or name in changing
    return tuple(reversed(keeps)), tuple(reversed(again)), is_changed


def tile_units(covering: Covering, tiling: Tiling, stay: Stay, loop: str) -> int:
    """Units of `loop` that the stay holds side by side."""
    if stay.level == 0:
        return tiling.tile(loop) if loop in stay.kept_units else 1
    return covering.loop(loop).units if loop in stay.kept else tiling.tile(loop)


def axis_extent(covering: Covering, tiling: Tiling, stay: Stay, axis: TileAxis) -> int:
    """Positions of `axis` that the stay holds."""
    if not axis.spans:
        return tile_units(covering, tiling, stay, axis.loops[0])
    units = {name: tile_units(covering, tiling, stay, name) for name in axis.loops}
    loops = {name: covering.loop(name) for name in axis.loops}
    return axis.extent({n: min(units[n] * loop.block, loop.extent) for n, loop in loops.items()})


def axis_strides(
    covering: Covering, tiling: Tiling, stay: Stay, plan: OperandPlan, residence: Residence
) -> tuple[dict[str, int], int]:
    """Byte stride of every axis in the stay's memory, inside a tile where it is packed, and the
    bytes of one slot."""
    if residence.is_packed:
        return _packed_strides(covering, tiling, stay, plan, residence)
    strides: dict[str, int] = {}
    running = residence.position_bytes
    for name, step in residence.windows:
        strides[name] = running if step is None else step
        if not residence.is_boxed:
            running = strides[name] * _room(covering, tiling, stay, plan.axis(name), residence)
    for axis in reversed(plan.axes):
        if axis.name not in strides:
            strides[axis.name] = running
            # a single block of a ribbon further out
            is_alone = not stay.level and not stay.kept and axis.is_window
            if not is_alone:
                running *= axis_extent(covering, tiling, stay, axis)
    return strides, running


def _room(
    covering: Covering, tiling: Tiling, stay: Stay, axis: TileAxis, residence: Residence
) -> int:
    """Positions of a window that a tile has room for: whole blocks, where others begin behind
    it."""
    if not residence.holds_blocks(axis):
        return axis_extent(covering, tiling, stay, axis)
    (name,) = axis.loops
    return tile_units(covering, tiling, stay, name) * covering.loop(name).block


def _packed_strides(
    covering: Covering, tiling: Tiling, stay: Stay, plan: OperandPlan, residence: Residence
) -> tuple[dict[str, int], int]:
    """Units lie in the order in which the unit loops use them, tiles in that of the tile loops."""
    strides: dict[str, int] = {}
    running = residence.position_bytes
    for loop in reversed(tiling.inner):
        for axis in plan.axes:
            if loop in axis.loops:
                strides[axis.name] = running
                running *= tiling.tile(loop) if stay.level else 1
    for loop in stay.kept:
        running *= trips(covering, tiling, loop)
    return strides, running


def tile_strides(
    covering: Covering, tiling: Tiling, stay: Stay, plan: OperandPlan, residence: Residence
) -> dict[str, int]:
    """Bytes from one tile to the next along each kept loop."""
    if stay.level == 0:
        return {}
    strides, running = axis_strides(covering, tiling, stay, plan, residence)
    if not residence.is_packed:
        axes = ((axis, loop) for axis in plan.axes for loop in axis.loops if loop in stay.kept)
        return {
            loop: axis.step(covering.loop(loop)) * strides[axis.name] * tiling.tile(loop)
            for axis, loop in axes
        }
    apart: dict[str, int] = {}
    for loop in tiling.outer:
        if loop in stay.kept:
            running //= trips(covering, tiling, loop)
            apart[loop] = running
    return apart


def passage_strides(
    covering: Covering, tiling: Tiling, plan: OperandPlan, passage: Passage
) -> tuple[dict[str, int], int]:
    """Byte stride of every axis in a memory that blocks pass, and the bytes of one place."""
    if not passage.holds_tiles:
        return {axis.name: 0 for axis in plan.axes}, passage.block_bytes
    strides: dict[str, int] = {}
    running = passage.block_bytes
    for axis in reversed(plan.axes):
        strides[axis.name] = running
        running *= tiling.tile(axis.loops[0])
    return strides, running


def splits_along(covering: Covering, tiling: Tiling, plan: OperandPlan) -> str | None:
    """A loop of the operand along which every tile has two halves, equal ones if there is such a
    loop, or None."""
    names = [axis.loops[0] for axis in plan.axes if not axis.is_window]
    tiles = {name: tiling.tile(name) for name in names}
    whole = [n for n, t in tiles.items() if t > 1 and covering.loop(n).units % t == 0]
    return next((n for n in whole if tiles[n] % 2 == 0), whole[0] if whole else None)
