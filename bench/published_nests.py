"""Matrix products as their machines' makers publish them, without anything kept between products.

In: sizes. Out: Programs for hw_specs/trainium.yaml and hw_specs/tpu_v1.yaml. Not its job: being
optimal; they are what resident weights are compared with (Gemmini's own is `gemmini_heuristic`).

Sources: Trainium: AWS NKI documentation, matrix multiplication, `nki_matmul_tiled_`: tiles of 128
rows, 512 columns, 128 of the sum; loops rows, columns, sum; both tiles are loaded for every
product. TPU v1: Jouppi et al., ISCA 2017, section 2: activations go to the unified buffer once;
weights pass the FIFO tile by tile, each is shifted in while the array works on the one before.

What they are given, so that they are not crippled: tiles rotate through as many places as hide
every latency (Trainium: `SLOTS`; TPU v1: all that the FIFO and the array have), successive results
through two.
"""

from collections.abc import Callable
from dataclasses import dataclass

from isamap.ir import Affine
from isamap.program import (
    Address,
    Edge,
    For,
    Issue,
    Node,
    Operand,
    Placement,
    Program,
    Rotation,
    Span,
    When,
    natural_layout,
)

SLOTS = 8  # of Trainium's SBUF for the tiles of either factor
PARTITIONS, COLUMNS = 128, 512
BANK_BYTES = 4 * PARTITIONS * COLUMNS
N = 256  # rows and columns of TPU v1's array
FIFO_TILES, ARRAY_TILES = 4, 2


@dataclass(frozen=True, slots=True)
class Product:
    """C[m, n] = A[m, k] B[k, n], all row-major; m fits one call."""

    m: int
    n: int
    k: int


def nki_program(shape: Product) -> Program:
    """C in f32 of bf16 factors on Trainium; A is stationary, B moves."""
    nest = _Nest(shape, COLUMNS, PARTITIONS, "bf16", "f32")
    a_bytes, b_bytes = 2 * PARTITIONS * PARTITIONS, 2 * PARTITIONS * COLUMNS
    rows, depth, columns = nest.rows, nest.depth, nest.columns
    a = nest.turning(0, SLOTS, a_bytes)
    b = nest.turning(SLOTS * a_bytes, SLOTS, b_bytes)
    w = nest.turning(0, 2, BANK_BYTES // 4)
    sums = Address(Affine(), (Rotation(Affine.var("j"), 2, BANK_BYTES),))
    out = Address(
        Affine((), SLOTS * (a_bytes + b_bytes)), (Rotation(Affine.var("j"), 2, BANK_BYTES),)
    )
    part, half = 4 * PARTITIONS, 2 * PARTITIONS  # bytes of a column
    inner = (
        _call("load_t", {"p": depth, "f": rows},
              ("S", "hbm", nest.a_tile(), (2 * shape.k, 2)), ("D", "sbuf", a, (2, half))),
        _call("load", {"p": depth, "f": columns},
              ("S", "hbm", nest.b_tile(), (2 * shape.n, 2)), ("D", "sbuf", b, (2, half))),
        _call("load_weights", {"k": depth, "m": rows},
              ("S", "sbuf", a, (2, half)), ("W", "stationary", w, (half, 2))),
        *nest.first_or_later(lambda first: _call(
            "matmul_first" if first else "matmul", {"m": rows, "n": columns, "k": depth},
            ("W", "stationary", w, (half, 2)), ("X", "sbuf", b, (2, half)),
            ("C", "psum", sums, (4, part)))),
    )  # fmt: skip
    done = (
        _call("copy_from_psum", {"p": rows, "f": columns},
              ("S", "psum", sums, (4, part)), ("D", "sbuf", out, (4, part))),
        _call("store_f32", {"p": rows, "f": columns},
              ("S", "sbuf", out, (4, part)), ("D", "hbm", nest.c_tile(), (4 * shape.n, 4))),
    )  # fmt: skip
    return nest.program("nki_matmul", "trainium", (), inner, done)


def tpu_program(shape: Product) -> Program:
    """C in i32 of i8 factors on TPU v1; B's tiles are the weights."""
    nest = _Nest(shape, N, N, "i8", "i32")
    rows, depth, columns = nest.rows, nest.depth, nest.columns
    activations = Address(Affine.of([("p", shape.m * N)]))
    fifo = nest.turning(0, FIFO_TILES, N * N)
    array = nest.turning(0, ARRAY_TILES, N * N)
    sums = Address(Affine(), (Rotation(Affine.var("j"), 2, 4 * N * shape.m),))
    read = _call("read_host_memory", {"r": rows, "c": depth},
                 ("S", "dram", nest.a_tile(), (shape.k, 1)),
                 ("D", "unified_buffer", activations, (N, 1)))  # fmt: skip
    inner = (
        _call("read_weights", {"k": depth, "j": columns},
              ("S", "dram", nest.b_tile(), (shape.n, 1)), ("D", "weight_fifo", fifo, (N, 1))),
        _call("shift_weights", {"k": depth, "j": columns},
              ("S", "weight_fifo", fifo, (N, 1)), ("W", "array", array, (N, 1))),
        *nest.first_or_later(lambda first: _call(
            "matrix_multiply_first" if first else "matrix_multiply",
            {"i": rows, "j": columns, "k": depth},
            ("A", "unified_buffer", activations, (N, 1)), ("W", "array", array, (N, 1)),
            ("C", "accumulators", sums, (4 * N, 4)))),
    )  # fmt: skip
    out = ("D", "dram", nest.c_tile(), (4 * shape.n, 4))
    read_sums = {"i": rows, "j": columns}
    done = (_call("read_sums", read_sums, ("S", "accumulators", sums, (4 * N, 4)), out),)
    before = (For("p", Span(nest.k_tiles), (read,)),)
    return nest.program("tpu_matmul", "tpu_v1", before, inner, done)


class _Nest:
    """Loops j over tiles of columns, p over tiles of the sum; where the tiles are."""

    def __init__(self, shape: Product, n: int, k: int, factor: str, total: str) -> None:
        assert shape.m <= min(k, N), "rows fit one call"
        self.shape, self.n, self.k = shape, n, k
        self.j_tiles, self.k_tiles = -(-shape.n // n), -(-shape.k // k)
        self.rows = Span(shape.m)
        self.columns = Span(n, shape.n, Affine.of([("j", n)]))
        self.depth = Span(k, shape.k, Affine.of([("p", k)]))
        sizes = {"A": (shape.m, shape.k), "B": (shape.k, shape.n), "C": (shape.m, shape.n)}
        self.places: dict[str, Placement] = {}
        address = 0
        for name, size in sizes.items():
            layout = natural_layout(total if name == "C" else factor, size)
            self.places[name] = Placement(name, address, layout)
            address += -(-layout.size_bytes // 64) * 64
        self.element = self.places["A"].layout.size_bytes // (shape.m * shape.k)

    def a_tile(self) -> Address:
        return self._at("A", [("p", self.k * self.element)])

    def b_tile(self) -> Address:
        down = self.k * self.shape.n * self.element
        return self._at("B", [("p", down), ("j", self.n * self.element)])

    def c_tile(self) -> Address:
        return self._at("C", [("j", 4 * self.n)])

    def _at(self, name: str, terms: list[tuple[str, int]]) -> Address:
        return Address(Affine.of(terms, self.places[name].address))

    def turning(self, base: int, slots: int, size_bytes: int) -> Address:
        """A place that successive products take in turn."""
        count = Affine.of([("j", self.k_tiles), ("p", 1)])
        return Address(Affine((), base), (Rotation(count, slots, size_bytes),))

    def first_or_later(self, call: Callable[[bool], Issue]) -> tuple[Node, ...]:
        """The first product of a sum overwrites, the others add."""
        return (
            When((("p", Edge.FIRST),), (call(True),)),
            When((("p", Edge.LATER),), (call(False),)),
        )

    def program(
        self,
        name: str,
        machine: str,
        before: tuple[Node, ...],
        inner: tuple[Node, ...],
        done: tuple[Node, ...],
    ) -> Program:
        """`inner` for every tile of the sum, `done` for every tile of columns."""
        nest = For("j", Span(self.j_tiles), (For("p", Span(self.k_tiles), inner), *done))
        inputs = (self.places["A"], self.places["B"])
        return Program(name, machine, inputs, (self.places["C"],), (*before, nest))


def _call(
    instruction: str,
    extents: dict[str, Span],
    *operands: tuple[str, str, Address, tuple[int, ...]],
) -> Issue:
    return Issue(instruction, tuple(Operand(*row) for row in operands), tuple(extents.items()))
