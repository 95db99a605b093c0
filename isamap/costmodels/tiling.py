"""What a schedule decides for one covering, and what follows from it for reuse.

In: a covering. Out: frozen decisions (`Tiling`) and the loops at which each stay keeps its data
(`guards`). Not its job: deciding, costing, emitting code.

The nest has two bodies: tile loops (level 1, order `outer`) around unit loops (level 0, order
`inner`) around one call. A stay at level 1 holds a tile of its operand, a stay at level 0 a single
block.
"""

from dataclasses import dataclass

from isamap.mapper import Covering, OperandPlan, Residence, TileAxis


@dataclass(frozen=True, slots=True)
class Stay:
    """How long an operand's blocks stay in one memory.

    `residence`: number within the operand's residences (0 is the one the unit reads). `slots`:
    rotating buffers (2: double buffering).
    `kept`: loops whose tiles all stay side by side, so that a loop outside them does not fetch
    again.
    """

    operand: str
    residence: int
    level: int
    slots: int
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tiling:
    """Tile size in units per loop, both loop orders (outermost first), and every stay."""

    tiles: tuple[tuple[str, int], ...]
    outer: tuple[str, ...]
    inner: tuple[str, ...]
    stays: tuple[Stay, ...]

    def tile(self, loop: str) -> int:
        """Units of `loop` in a tile."""
        return dict(self.tiles)[loop]


@dataclass(frozen=True, slots=True)
class Guards:
    """Loops over which a stay's data does not change: it is fetched at their first iteration and
    drained at their last.

    `refetch_outer`, `refetch_inner`: loops the operand does not depend on and that nevertheless
    fetch again.
    """

    outer: tuple[str, ...]
    inner: tuple[str, ...]
    refetch_outer: tuple[str, ...]
    refetch_inner: tuple[str, ...]


def trips(covering: Covering, tiling: Tiling, loop: str) -> int:
    """Tiles of `loop`."""
    return -(-covering.loop(loop).units // tiling.tile(loop))


def guards(covering: Covering, tiling: Tiling, stay: Stay) -> Guards:
    """Which loops keep the stay's data: those with no loop inside them that changes it."""
    plan = operand_plan(covering, stay.operand)
    moving = set(plan.loops)
    changes_outer = [
        name in moving and name not in stay.kept and trips(covering, tiling, name) > 1
        for name in tiling.outer
    ]
    changes_inner = [
        stay.level == 0 and name in moving and tiling.tile(name) > 1 for name in tiling.inner
    ]
    keeps_outer: list[str] = []
    refetch_outer: list[str] = []
    for position, name in enumerate(tiling.outer):
        if name in moving or trips(covering, tiling, name) == 1:
            continue
        is_changed = any(changes_outer[position + 1 :]) or any(changes_inner)
        (refetch_outer if is_changed else keeps_outer).append(name)
    keeps_inner: list[str] = []
    refetch_inner: list[str] = []
    for position, name in enumerate(tiling.inner):
        if name in moving or tiling.tile(name) == 1:
            continue
        (refetch_inner if any(changes_inner[position + 1 :]) else keeps_inner).append(name)
    return Guards(
        tuple(keeps_outer), tuple(keeps_inner), tuple(refetch_outer), tuple(refetch_inner)
    )


def operand_plan(covering: Covering, name: str) -> OperandPlan:
    """The plan of the operand called `name`."""
    return next(plan for plan in covering.operands if plan.name == name)


def tile_units(covering: Covering, tiling: Tiling, stay: Stay, loop: str) -> int:
    """Units of `loop` that the stay holds side by side."""
    if stay.level == 0:
        return 1
    return covering.loop(loop).units if loop in stay.kept else tiling.tile(loop)


def axis_extent(covering: Covering, tiling: Tiling, stay: Stay, axis: TileAxis) -> int:
    """Positions of `axis` that the stay holds."""
    units = {name: tile_units(covering, tiling, stay, name) for name in axis.loops}
    if not axis.is_window:
        return axis.extent(units)
    loops = {name: covering.loop(name) for name in axis.loops}
    return axis.extent({n: min(units[n] * loop.block, loop.extent) for n, loop in loops.items()})


def axis_strides(
    covering: Covering, tiling: Tiling, stay: Stay, plan: OperandPlan, residence: Residence
) -> tuple[dict[str, int], int]:
    """Byte stride of every axis in the stay's memory, and the bytes of one slot."""
    strides: dict[str, int] = {}
    running = residence.position_bytes
    for name, step in residence.windows:
        strides[name] = running if step is None else step
        if not residence.is_boxed:
            running = strides[name] * axis_extent(covering, tiling, stay, plan.axis(name))
    for axis in reversed(plan.axes):
        if axis.name not in strides:
            strides[axis.name] = running
            running *= axis_extent(covering, tiling, stay, axis)
    return strides, running


def splits_along(covering: Covering, tiling: Tiling, plan: OperandPlan) -> str | None:
    """A loop of the operand along which every tile has two halves, or None."""
    for axis in plan.axes:
        name = axis.loops[0]
        if axis.is_window or tiling.tile(name) < 2:
            continue
        if covering.loop(name).units % tiling.tile(name) == 0:
            return name
    return None
