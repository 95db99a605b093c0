"""Gemmini's own matmul: the tiling heuristic and loop nest of its C library, as a Program.

In: sizes, which operands are stored transposed. Out: a Program for hw_specs/gemmini.yaml. Not its
job: being optimal; it is the baseline that schedules are compared with.

Source: Gemmini's C library (`tiled_matmul_auto`, `tiled_matmul_outer`) and its loop unroller;
Genc et al., DAC 2021.

What the baseline is given, so that it is not crippled:
- successive blocks alternate between the halves of the scratchpad, successive output blocks between
  the halves of the accumulator (double buffering of every operand);
- load, preload, execute and store run on queues of their own, as the unroller's state machines do,
  without a limit on how far one may run ahead;
- inside a block loads are issued in the order in which the products need them: never slower in the
  emulator than the library's other order, the whole bias first (`LoadOrder.BIAS_FIRST`, kept for
  the comparison);
- weights always alternate between the array's two register sets, over the ends of blocks too;
- the library cannot transpose both operands: B then comes packed as [k, n], at no cost.
"""

from dataclasses import dataclass
from enum import Enum

from isamap.ir import Affine
from isamap.program import (
    Address,
    Axis,
    Edge,
    For,
    Issue,
    Layout,
    Node,
    Operand,
    Placement,
    Program,
    Rotation,
    Span,
    When,
    natural_layout,
)

DIM = 16  # rows and columns of a tile
HALF_SCRATCHPAD_ROWS = 8192  # of DIM bytes
HALF_ACCUMULATOR_ROWS = 512  # of DIM i32
START_IJ, START_K = 5, 51  # tiles the heuristic starts from
MAX_REUSED_BLOCKS = 2  # A or B stays when it has no more blocks than there are halves
TILE_BYTES = DIM * DIM
ACCUMULATOR_TILE_BYTES = 4 * DIM * DIM


class LoadOrder(Enum):
    """In which order a block's loads are issued."""

    FIRST_USE = "first use"
    BIAS_FIRST = "bias first"


@dataclass(frozen=True, slots=True)
class Blocking:
    """Tiles of DIM in a block along i, j and k."""

    i: int
    j: int
    k: int


@dataclass(frozen=True, slots=True)
class Shape:
    """C[m, n] += op(A)[m, k] op(B)[k, n]; `a_t`, `b_t`: stored as [k, m], [n, k]."""

    m: int
    n: int
    k: int
    a_t: bool = False
    b_t: bool = False

    @property
    def is_b_packed(self) -> bool:
        """Does B have to be repacked, because the array transposes only one operand?"""
        return self.a_t and self.b_t

    @property
    def transposes_b(self) -> bool:
        """Does the array transpose B?"""
        return self.b_t and not self.a_t


def choose_blocking(m: int, n: int, k: int) -> Blocking:
    """The library's default block: grow j, i, k in turn by a tile while half the memories hold it.

    Units: tiles of DIM. Source: Gemmini's C library, `tiled_matmul_auto`.
    """
    most = {"i": ceildiv(m, DIM), "j": ceildiv(n, DIM), "k": ceildiv(k, DIM)}
    block = {
        "i": min(most["i"], START_IJ),
        "j": min(most["j"], START_IJ),
        "k": min(most["k"], START_K),
    }
    has_grown = True
    while has_grown:
        has_grown = False
        for axis in ("j", "i", "k"):
            grown = {**block, axis: block[axis] + 1}
            if grown[axis] <= most[axis] and _fits(**grown):
                block, has_grown = grown, True
    return Blocking(**block)


def _fits(i: int, j: int, k: int) -> bool:
    """Do a block's operands fit half the scratchpad, and its sums half the accumulator?"""
    is_operands_fit = (i * k + k * j) * DIM <= HALF_SCRATCHPAD_ROWS
    return is_operands_fit and i * j * DIM <= HALF_ACCUMULATOR_ROWS


def heuristic_program(shape: Shape, order: LoadOrder = LoadOrder.FIRST_USE) -> Program:
    """The library's program for one matmul.

    Shapes: A is [m, k] or [k, m] i8, B is [k, n] or [n, k] i8, C is [m, n] i32, row-major
    (but see `Shape.is_b_packed`).
    """
    block = choose_blocking(shape.m, shape.n, shape.k)
    a = natural_layout("i8", (shape.k, shape.m) if shape.a_t else (shape.m, shape.k))
    b = natural_layout("i8", (shape.n, shape.k) if shape.b_t else (shape.k, shape.n))
    if shape.is_b_packed:
        b = _transposed_layout(shape.n, shape.k)
    c = Placement("C", _c_base(shape), natural_layout("i32", (shape.m, shape.n)))
    parts = tuple(_Nest(shape, block, part).blocks(order) for part in _column_parts(shape, block))
    num_i = ceildiv(ceildiv(shape.m, DIM), block.i)
    inputs = (Placement("A", 0, a), Placement("B", shape.m * shape.k, b), c)
    body = (For("i", Span(num_i), parts),)
    return Program("gemmini_heuristic", "gemmini", inputs, (c,), body)


def ceildiv(a: int, b: int) -> int:
    """Quotient rounded up."""
    return -(-a // b)


@dataclass(frozen=True, slots=True)
class _ColumnPart:
    """`count` neighbouring blocks along j of `tiles` tiles each, after `first` others."""

    first: int
    count: int
    tiles: int


def _column_parts(shape: Shape, block: Blocking) -> tuple[_ColumnPart, ...]:
    """The whole blocks and what is left: apart, so that preloads can be counted."""
    whole, rest = divmod(ceildiv(shape.n, DIM), block.j)
    parts = [_ColumnPart(0, whole, block.j)] if whole else []
    return (*parts, *([_ColumnPart(whole, 1, rest)] if rest else ()))


class _Nest:
    """Inside block loop i: block loops j (a part of it), k, tile loops kk, jj, ii, and calls."""

    def __init__(self, shape: Shape, block: Blocking, part: _ColumnPart) -> None:
        self.shape, self.block, self.part = shape, block, part
        self.k_tiles, self.j_tiles = ceildiv(shape.k, DIM), ceildiv(shape.n, DIM)
        num_i = ceildiv(ceildiv(shape.m, DIM), block.i)
        self.num_j = ceildiv(self.j_tiles, block.j)
        self.num_k = ceildiv(self.k_tiles, block.k)
        self.reuses_a = num_i * self.num_k <= MAX_REUSED_BLOCKS
        self.reuses_b = self.num_j * self.num_k <= MAX_REUSED_BLOCKS
        self.b_base, self.c_base = shape.m * shape.k, _c_base(shape)
        # Tile numbers, and how many of the tile's rows or columns exist.
        self.i = Affine.of([("i", block.i), ("ii", 1)])
        self.j = Affine.of([("j", block.j), ("jj", 1)], part.first * block.j)
        self.k = Affine.of([("k", block.k), ("kk", 1)])
        self.rows = _edge(shape.m, self.i)
        self.columns = _edge(shape.n, self.j)
        self.depth = _edge(shape.k, self.k)

    def blocks(self, order: LoadOrder) -> For:
        """Block loops j, k; k innermost."""
        body = self.tiles(order)
        if order is LoadOrder.BIAS_FIRST:
            body = (When((("k", Edge.FIRST),), self.bias_loads()), *body)
        return For("j", Span(self.part.count), (For("k", Span(self.num_k), body),))

    def bias_loads(self) -> tuple[Node, ...]:
        """C of the block, tile row by tile row."""
        return (self.over_i((self.over_j((self.load_c(),)),)),)

    def tiles(self, order: LoadOrder) -> tuple[Node, ...]:
        """Tile loops k, j, i: weights once per (k, j), loads right before their first use."""
        first_i, first_j = ("ii", Edge.FIRST), ("jj", Edge.FIRST)
        load_b_when = (first_i, ("i", Edge.FIRST)) if self.reuses_b else (first_i,)
        load_a_when = (first_j, ("j", Edge.FIRST)) if self.reuses_a else (first_j,)
        is_a_there = self.reuses_a and self.part.first > 0
        body = [
            When(load_b_when, (self.load_b(),)),
            When((first_i,), (self.preload(),)),
            *([] if is_a_there else [When(load_a_when, (self.load_a(),))]),
        ]
        if order is LoadOrder.FIRST_USE:
            body.append(When((("k", Edge.FIRST), ("kk", Edge.FIRST)), (self.load_c(),)))
        store = When((("k", Edge.LAST), ("kk", Edge.LAST)), (self.store_c(),))
        nest = self.over_j((self.over_i((*body, self.compute(), store)),))
        return (For("kk", _tiles_left(self.shape.k, self.block.k, "k"), (nest,)),)

    def over_i(self, body: tuple[Node, ...]) -> For:
        return For("ii", _tiles_left(self.shape.m, self.block.i, "i"), body)

    def over_j(self, body: tuple[Node, ...]) -> For:
        return For("jj", Span(self.part.tiles), body)

    def load_a(self) -> Issue:
        """One tile of A as it lies: [i, k] or, transposed, [k, i]."""
        if self.shape.a_t:
            return self.load(self.k, self.i, self.shape.m, 0, self.depth, self.rows, self.a_tile())
        return self.load(self.i, self.k, self.shape.k, 0, self.rows, self.depth, self.a_tile())

    def load_b(self) -> Issue:
        """One tile of B as it lies: [k, j] or, transposed, [j, k]."""
        base = self.b_base
        row, column, pitch = self.k, self.j, self.shape.n
        extents = self.depth, self.columns
        if self.shape.transposes_b:
            row, column, pitch = self.j, self.k, self.shape.k
            extents = self.columns, self.depth
        return self.load(row, column, pitch, base, *extents, self.b_tile())

    def load(
        self,
        row: Affine,
        column: Affine,
        pitch: int,
        base: int,
        num_rows: Span,
        num_columns: Span,
        target: Address,
    ) -> Issue:
        """mvin of tile (row, column) of an i8 matrix whose rows are `pitch` bytes apart."""
        source = row.scaled(DIM * pitch) + column.scaled(DIM) + base
        operands = (
            Operand("S", "dram", Address(source), (pitch, 1)),
            Operand("D", "scratchpad", target, (DIM, 1)),
        )
        return Issue("mvin", operands, (("r", num_rows), ("c", num_columns)))

    def load_c(self) -> Issue:
        """One tile of C as the bias."""
        operands = (
            Operand("S", "dram", self.c_in_dram(), (4 * self.shape.n, 4)),
            Operand("D", "accumulator", self.c_tile(), (4 * DIM, 4)),
        )
        return Issue("mvin_acc", operands, (("r", self.rows), ("c", self.columns)))

    def store_c(self) -> Issue:
        """One finished tile of C."""
        operands = (
            Operand("S", "accumulator", self.c_tile(), (4 * DIM, 4)),
            Operand("D", "dram", self.c_in_dram(), (4 * self.shape.n, 4)),
        )
        return Issue("mvout_acc", operands, (("r", self.rows), ("c", self.columns)))

    def preload(self) -> Issue:
        """Weights of (k, j) into one of the array's two register sets."""
        operands = (
            Operand("B", "scratchpad", self.b_tile(), (DIM, 1)),
            Operand("W", self.weights(), self.weights_slot(), (DIM, 1)),
        )
        name = "preload_t" if self.shape.transposes_b else "preload"
        return Issue(name, operands, (("k", self.depth), ("j", self.columns)))

    def compute(self) -> Issue:
        """One product of tiles."""
        operands = (
            Operand("A", "scratchpad", self.a_tile(), (DIM, 1)),
            Operand("W", self.weights(), self.weights_slot(), (DIM, 1)),
            Operand("C", "accumulator", self.c_tile(), (4 * DIM, 4)),
        )
        name = "compute_at" if self.shape.a_t else "compute"
        name = "compute_wt" if self.shape.transposes_b else name
        return Issue(name, operands, (("i", self.rows), ("j", self.columns), ("k", self.depth)))

    def weights(self) -> str:
        return "weights_t" if self.shape.transposes_b else "weights"

    def weights_slot(self) -> Address:
        """Successive preloads alternate: the counter is the number of preloads before this one."""
        part = self.part
        per_block = part.tiles * self.k_tiles
        count = self.k.scaled(part.tiles) + Affine.of(
            [("i", self.j_tiles * self.k_tiles), ("j", per_block), ("jj", 1)],
            part.first * self.block.j * self.k_tiles,
        )
        return Address(Affine(), (Rotation(count, 2, TILE_BYTES),))

    def block_number(self) -> Affine:
        """How many blocks ran before."""
        before = self.part.first * self.num_k
        return Affine.of([("i", self.num_j * self.num_k), ("j", self.num_k), ("k", 1)], before)

    def a_tile(self) -> Address:
        """Tile (i, k) of A, in the half of its block; blocks that stay have a half each."""
        tile = Affine.of([("ii", self.block.k), ("kk", 1)])
        half = Affine.of([("i", 1), ("k", 1)]) if self.reuses_a else self.block_number()
        return self.scratchpad(tile, half)

    def b_tile(self) -> Address:
        """Tile (k, j) of B, behind A's in the half."""
        tile = Affine.of([("kk", self.block.j), ("jj", 1)], self.block.i * self.block.k)
        half = Affine.of([("j", 1), ("k", 1)], self.part.first)
        half = half if self.reuses_b else self.block_number()
        return self.scratchpad(tile, half)

    def scratchpad(self, tile: Affine, half: Affine) -> Address:
        turn = Rotation(half, 2, HALF_SCRATCHPAD_ROWS * DIM)
        return Address(tile.scaled(TILE_BYTES), (turn,))

    def c_tile(self) -> Address:
        """Tile (i, j) of C; the next output block takes the other half."""
        tile = Affine.of([("ii", self.block.j), ("jj", 1)])
        half = Affine.of([("i", self.num_j), ("j", 1)], self.part.first)
        turn = Rotation(half, 2, HALF_ACCUMULATOR_ROWS * 4 * DIM)
        return Address(tile.scaled(ACCUMULATOR_TILE_BYTES), (turn,))

    def c_in_dram(self) -> Address:
        pitch = 4 * self.shape.n
        return Address(self.i.scaled(DIM * pitch) + self.j.scaled(4 * DIM) + self.c_base)


def _c_base(shape: Shape) -> int:
    """First byte of C in DRAM, behind A and B."""
    return ceildiv(shape.m * shape.k + shape.k * shape.n, 4) * 4


def _tiles_left(size: int, tiles: int, block_loop: str) -> Span:
    """Tiles of a block; the last block of `block_loop` may have fewer."""
    total = ceildiv(size, DIM)
    return (
        Span(tiles) if total % tiles == 0 else Span(tiles, total, Affine.of([(block_loop, tiles)]))
    )


def _edge(size: int, tile: Affine) -> Span:
    """min(DIM, what is left of `size` at tile number `tile`)."""
    return Span(DIM) if size % DIM == 0 else Span(DIM, size, tile.scaled(DIM))


def _transposed_layout(rows: int, columns: int) -> Layout:
    """An i8 array [rows, columns] that lies as [columns, rows]."""
    axes = (Axis(0, 1, rows, 1), Axis(1, 1, columns, rows))
    return Layout("i8", (rows, columns), axes, (0, 0), rows * columns)
