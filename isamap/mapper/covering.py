"""What the mapper decides: which instruction computes a statement, on which blocks, over which
copies.

In: nothing but these nodes. Out: frozen values that name everything a scheduler must know and
nothing it may decide. Not its job: finding matches (`match`), routes (`route`), tile sizes or order
(the scheduler).

Geometry. Every kernel loop is cut into *units* of `block` iterations; one call of the instruction
works on one unit of every loop. An operand's tile is addressed by *axes* (one per loop, or one per
sliding window such as y*2 + r) whose positions are units (plain axis) or elements (window axis),
and inside one position by *block dimensions*.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from isamap.ir import Kernel, Role, are_equal
from isamap.program import Layout


def synthetic_name(instruction_loop: str) -> str:
    """Name of the loop that stands for an instruction loop that runs over no kernel loop."""
    return f"one_{instruction_loop}"


@dataclass(frozen=True, slots=True)
class TiledLoop:
    """A kernel loop cut into units of `block` iterations; the last unit is partial unless `block`
    divides.

    `extent` is what is executed (padded up where the instruction demands it), `kernel_extent` what
    the kernel says; they differ only by zero padding in the operands' layouts. `is_held`: runs
    outside all others, one iteration at a time. `cores`: how many share the loop; `extent` is then
    the first one's and `all_extent` that of all together.
    """

    name: str
    kernel_extent: int
    extent: int
    block: int
    is_reduction: bool
    is_held: bool = False
    cores: int = 1
    all_extent: int | None = None
    # how many units cover the (first core's share of the) loop
    units: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", -(-self.extent // self.block))

    @property
    def is_partial(self) -> bool:
        """Is the last unit (of the first core's share) smaller than the others?"""
        return self.extent % self.block != 0

    @property
    def total_extent(self) -> int:
        """Iterations that all cores execute together."""
        return self.extent if self.all_extent is None else self.all_extent

    @property
    def total_units(self) -> int:
        """How many units cover the loop on all cores together."""
        return -(-self.total_extent // self.block)

    @property
    def is_uneven(self) -> bool:
        """Has some core fewer units than the first one?"""
        return self.units * self.cores != self.total_units

    @property
    def is_ragged(self) -> bool:
        """Has some core fewer iterations than the first one?"""
        return self.extent * self.cores != self.total_extent

    @property
    def active_cores(self) -> int:
        """How many cores have any unit."""
        return -(-self.total_units // self.units)


@dataclass(frozen=True, slots=True)
class BlockDim:
    """One dimension inside a block: `extent` iterations of `loop`, bound to `instruction_loop`."""

    loop: str
    extent: int
    instruction_loop: str


@dataclass(frozen=True, slots=True)
class TileAxis:
    """One addressing dimension of an operand's tile.

    A plain axis counts units of its one loop. A window axis counts elements of one buffer
    dimension;
    `spans` gives the elements moved per single iteration of each of its loops.
    """

    name: str
    loops: tuple[str, ...]
    spans: tuple[int, ...] = ()

    @property
    def is_window(self) -> bool:
        """Does the axis slide over elements instead of counting units?"""
        return bool(self.spans)

    @property
    def is_ribbon(self) -> bool:
        """Is it a window of a single loop, whose units lie side by side and are moved together?"""
        return len(self.spans) == 1

    def step(self, loop: TiledLoop) -> int:
        """Positions moved by one unit of `loop`."""
        return self.spans[self.loops.index(loop.name)] * loop.block if self.is_window else 1

    def extent(self, iterations: Mapping[str, int]) -> int:
        """Positions of a tile spanning so many units (plain axis) or iterations (window axis) per
        loop."""
        if not self.is_window:
            return iterations[self.loops[0]]
        pairs = zip(self.loops, self.spans, strict=True)
        return 1 + sum(span * (iterations[loop] - 1) for loop, span in pairs)


@dataclass(frozen=True, slots=True)
class External:
    """How an operand's buffer lies between tasks, seen by axes and block dimensions.

    `offset_bytes`: of the element read when all loops are 0. `home`: the managed memory that it
    lies in; None: the external memory.
    """

    layout: Layout
    axis_strides_bytes: tuple[int, ...]
    block_strides_bytes: tuple[int, ...]
    offset_bytes: int
    home: str | None = None


@dataclass(frozen=True, slots=True)
class CopyDim:
    """One dimension that a copy walks: block dimension number `block`, or the window axis called
    `axis`.

    `extent`: of a full block; 0 for a window axis, whose extent follows from the tile.
    """

    block: int | None
    axis: str | None
    extent: int
    source_stride_bytes: int
    target_stride_bytes: int


@dataclass(frozen=True, slots=True)
class Transfer:
    """How a block moves between two memories by one instruction.

    `assigned`: per instruction loop, the copy dimensions merged into it (innermost last; none:
    extent 1).
    `walked`: dimensions left to program loops. `planes` > 1: the target takes the element's bytes
    one plane after the other, `shift` being the instruction that shifts the source right in
    between. `immediates`: numbers that every call is given. `onward`: the transfer ends in a memory
    on the way, and goes on from there; `inward`: it begins in one, to which that brings the block.
    `rows`: an instruction loop that runs over more than a call takes of it, and one that is
    assigned nothing else: it runs over the whole parts of that, as over rows end to end.
    """

    instruction: str
    assigned: tuple[tuple[str, tuple[CopyDim, ...]], ...]
    walked: tuple[CopyDim, ...]
    planes: int = 1
    shift: "Transfer | None" = None
    immediates: tuple[tuple[str, int | float], ...] = ()
    onward: "Passage | None" = None
    inward: "Passage | None" = None
    rows: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A memory that blocks pass one by one on their way out or in, in `slots` places in turn.

    `transfer` takes a block of `block_bytes`, rounded to `align_bytes`, on from there, or brings it
    there. `holds_tiles`: a place has room for all blocks of a tile, which pass together, as units
    hand over tokens once per tile.
    """

    memory: str
    block_bytes: int
    align_bytes: int
    transfer: Transfer
    slots: int = 2
    holds_tiles: bool = False


@dataclass(frozen=True, slots=True)
class Residence:
    """An operand's stay in one managed memory, as elements of `dtype`.

    `windows`: the window axes that block dimensions are part of, innermost first, with the bytes
    per position; None where that follows from the tile, and the block strides of its loops are 0.
    `block_bytes`: room of one block (of one window position, if any), rounded to `align_bytes`; of
    the block with all its window positions where it `is_boxed`, which keeps tiles to one unit of
    the windows' loops.
    `fill` brings blocks in from the next outer memory, `zero` clears them, `finish` updates them in
    place before `drain` takes them out. `again` brings back sums that were taken out unfinished,
    where `zero` began them, or `fill` from another buffer. `opening`: the instruction that computes
    the first addend of each element onto zeros, where nothing clears them. `is_packed`: in the
    external memory, behind its caches, where what is used one after the other lies side by side.
    """

    memory: str
    dtype: str
    block_strides_bytes: tuple[int, ...]
    block_bytes: int
    align_bytes: int
    windows: tuple[tuple[str, int | None], ...] = ()
    is_boxed: bool = False
    fill: Transfer | None = None
    zero: Transfer | None = None
    again: Transfer | None = None
    drain: Transfer | None = None
    finish: tuple[Transfer, ...] = ()
    opening: str | None = None
    is_packed: bool = False

    def holds_blocks(self, axis: TileAxis) -> bool:
        """Do whole blocks of a ribbon lie here, as its positions are closer than what begins behind
        them must be aligned?"""
        step = dict(self.windows).get(axis.name)
        return axis.is_ribbon and step is not None and step % self.align_bytes > 0

    @property
    def position_bytes(self) -> int:
        """Room of one position of all axes that lie side by side."""
        step = self.windows[0][1] if self.windows and not self.is_boxed else None
        return self.block_bytes if step is None else step


@dataclass(frozen=True, slots=True)
class OperandPlan:
    """One operand of the compute instruction, of type `dtype`, and its way between the external
    memory and the unit; copies on the way may convert it.

    `residences`: from the unit outwards; the first is the memory that the instruction reads. None
    at all: the instruction works on the buffer in place, where it lies between tasks.
    `inlet`, `outlet`: the buffer before and after. `inlet_buffer`: what lies in the inlet;
    `buffer`, unless an instruction that updates in place begins with another one. `is_reordered`:
    its buffer will lie in the order of its use, which the schedule decides, not as the inlet says.
    `loops`: kernel loops that move this operand, in axis order; `has_window`: does any axis slide?
    Both follow from `axes`.
    """

    name: str
    buffer: str
    inlet_buffer: str
    role: Role
    dtype: str
    blocks: tuple[BlockDim, ...]
    axes: tuple[TileAxis, ...]
    residences: tuple[Residence, ...]
    inlet: External | None
    outlet: External | None
    is_reordered: bool = False
    loops: tuple[str, ...] = field(init=False, repr=False, compare=False)
    has_window: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "has_window", any(axis.is_window for axis in self.axes))
        moving = dict.fromkeys(loop for axis in self.axes for loop in axis.loops)
        object.__setattr__(self, "loops", tuple(moving))

    @property
    def is_output(self) -> bool:
        """Does the instruction write it?"""
        return self.role is not Role.IN

    @property
    def slides(self) -> bool:
        """Is there a window in the memory that the instruction reads? (A ribbon may lie in one
        further out, from where single blocks go on.)"""
        return self.has_window and (len(self.residences) < 2 or bool(self.windows_at(0)))

    def windows_at(self, residence: int) -> tuple[TileAxis, ...]:
        """The axes that are windows in the residence of that number."""
        windows = tuple(axis for axis in self.axes if axis.is_window)
        if len(self.residences) < 2:
            return windows
        names = {name for name, _ in self.residences[residence].windows}
        return tuple(axis for axis in windows if axis.name in names)

    @property
    def transfers(self) -> tuple[Transfer, ...]:
        """All that moves it, passages included."""
        rows = ((r.fill, r.zero, r.drain, *r.finish) for r in self.residences)
        found = [transfer for row in rows for transfer in row if transfer is not None]
        ways = (way for t in found for way in (t.onward, t.inward) if way is not None)
        return (*found, *(way.transfer for way in ways))

    @property
    def end_dtype(self) -> str:
        """The type in which it lies between tasks."""
        end = self.outlet or self.inlet
        assert end is not None, "an operand comes from somewhere or goes somewhere"
        return end.layout.dtype

    @property
    def ends(self) -> tuple[tuple[bool, str, External], ...]:
        """(is it the outlet, buffer, how that lies): before the run and after it, where it has
        them."""
        rows = ((False, self.inlet_buffer, self.inlet), (True, self.buffer, self.outlet))
        return tuple((is_out, name, end) for is_out, name, end in rows if end is not None)

    def axis(self, name: str) -> TileAxis:
        """The axis called `name`."""
        return next(axis for axis in self.axes if axis.name == name)


@dataclass(frozen=True, slots=True)
class CoreShare:
    """A loop shared out over `count` positions, `step` apart, along an axis of the cores."""

    loop: str
    axis: str
    count: int
    step: int


@dataclass(frozen=True, slots=True)
class Covering:
    """A statement computed by one instruction: binding, blocks, copies and layouts.

    `binding`: per instruction loop the kernel loops it runs over, outermost first (none: extent 1).
    `operands`: in the order of the instruction's operands. `shares`: loops that several cores
    share; of two over the same loop the first advances by as many units as the other one covers.
    `single`: the same covering on one core.
    """

    kernel: Kernel
    statement: int
    instruction: str
    binding: tuple[tuple[str, tuple[str, ...]], ...]
    immediates: tuple[tuple[str, int | float], ...]
    loops: tuple[TiledLoop, ...]
    operands: tuple[OperandPlan, ...]
    shares: tuple[CoreShare, ...] = ()
    single: "Covering | None" = field(default=None, compare=False)
    units: Mapping[str, int] = field(init=False, repr=False, compare=False)  # of each loop
    _loop_of: dict[str, TiledLoop] = field(init=False, repr=False, compare=False)
    _operand_of: dict[str, OperandPlan] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)
    _twins: object = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # the closed form asks for them by name thousands of times, and for what follows from it;
        # those of one hash would be compared all over each time
        plans = tuple(
            [(x.buffer, x.axes, tuple([r.memory for r in x.residences])) for x in self.operands]
        )
        own = self.instruction, self.binding, self.loops, self.shares, plans
        object.__setattr__(self, "_hash", hash(own))
        object.__setattr__(self, "_twins", None)
        object.__setattr__(self, "units", {loop.name: loop.units for loop in self.loops})
        object.__setattr__(self, "_loop_of", {loop.name: loop for loop in self.loops})
        object.__setattr__(self, "_operand_of", {plan.name: plan for plan in self.operands})

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Covering) and are_equal(self, other))

    def __hash__(self) -> int:
        return self._hash

    def loop(self, name: str) -> TiledLoop:
        """The loop called `name`."""
        return self._loop_of[name]

    def operand(self, name: str) -> OperandPlan:
        """The plan of the operand called `name`."""
        return self._operand_of[name]

    @property
    def on_one_core(self) -> "Covering":
        """The same covering on one core."""
        return self.single or self

    @property
    def held(self) -> tuple[str, ...]:
        """Loops outside all others, outermost first."""
        return tuple(loop.name for loop in self.loops if loop.is_held)

    def group(self, instruction_loop: str) -> tuple[str, ...]:
        """Loops that the instruction loop runs over, or the one that stands for none."""
        bound = dict(self.binding)[instruction_loop]
        stand_in = synthetic_name(instruction_loop)
        names = {loop.name for loop in self.loops}
        return bound or ((stand_in,) if stand_in in names else ())
