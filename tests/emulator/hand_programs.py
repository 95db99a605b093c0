"""Programs for the emulator's tests, built by hand.

In: sizes. Out: Programs for the machines beside this file. Not its job: being good programs.
"""

from pathlib import Path

from isamap.hwdesc import Hardware, load_hardware
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

MACHINES = Path(__file__).parent / "machines"


def machine(name: str) -> Hardware:
    """The test machine called `name`."""
    return load_hardware(MACHINES / f"{name}.yaml")


def at(constant: int = 0, turn: tuple[str, int, int] | None = None, **loops: int) -> Address:
    """An address: constant plus bytes per loop step; `turn` is (counter loop, modulo, stride)."""
    rotations = (Rotation(Affine.var(turn[0]), turn[1], turn[2]),) if turn else ()
    return Address(Affine.of(loops.items(), constant), rotations)


def edge(size: int, loop: str, tile: int = 16) -> Span:
    """min(tile, what is left of `size` at tile number `loop`)."""
    if size % tile == 0:
        return Span(tile)
    return Span(tile, size, Affine.of([(loop, tile)]))


def ceildiv(a: int, b: int) -> int:
    """Quotient rounded up."""
    return -(-a // b)


def gemm(m: int, n: int, k: int, buffers: int = 1) -> Program:
    """C[m, n] = A[m, k] B[k, n] in 16-tiles, one accumulator, A and B tiles in `buffers` rotating
    places."""
    lengths = {"i": edge(m, "i"), "j": edge(n, "j"), "k": edge(k, "k")}
    b_base, c_base = m * k, -(-(m * k + k * n) // 4) * 4
    turn = ("k", buffers, 256) if buffers > 1 else None
    a_tile = Operand("D", "sram", at(0, turn), (16, 1))
    b_tile = Operand("D", "sram", at(4096, turn), (16, 1))
    acc = Operand("D", "acc", at(), (64, 4))
    load_a = Issue(
        "load",
        (Operand("S", "dram", at(0, i=16 * k, k=16), (k, 1)), a_tile),
        (("r", lengths["i"]), ("c", lengths["k"])),
    )
    load_b = Issue(
        "load",
        (Operand("S", "dram", at(b_base, j=16, k=16 * n), (n, 1)), b_tile),
        (("r", lengths["k"]), ("c", lengths["j"])),
    )
    mma = Issue(
        "mma",
        (
            Operand("A", "sram", a_tile.address, (16, 1)),
            Operand("B", "sram", b_tile.address, (16, 1)),
            acc,
        ),
        (("i", lengths["i"]), ("j", lengths["j"]), ("k", lengths["k"])),
    )
    clear = Issue(
        "clear",
        (acc,),
        (("i", lengths["i"]), ("j", lengths["j"])),
    )
    store = Issue(
        "store",
        (
            Operand("S", "acc", at(), (64, 4)),
            Operand("D", "dram", at(c_base, i=64 * n, j=64), (4 * n, 4)),
        ),
        (("r", lengths["i"]), ("c", lengths["j"])),
    )
    in_k = For(
        "k", Span(ceildiv(k, 16)), (When((("k", Edge.FIRST),), (clear,)), load_a, load_b, mma)
    )
    in_j = For("j", Span(ceildiv(n, 16)), (in_k, store))
    body = (For("i", Span(ceildiv(m, 16)), (in_j,)),)
    return Program(
        "gemm",
        "tiny",
        (
            Placement("A", 0, natural_layout("i8", (m, k))),
            Placement("B", b_base, natural_layout("i8", (k, n))),
        ),
        (Placement("C", c_base, natural_layout("i32", (m, n))),),
        body,
    )


def issue_load(
    source: int,
    target: int,
    rows: int = 16,
    pitch: int = 16,
    pops: tuple[str, ...] = (),
    pushes: tuple[str, ...] = (),
) -> Issue:
    """A tile from DRAM (rows 16 bytes apart) to the scratchpad (rows `pitch` bytes apart)."""
    operands = (
        Operand("S", "dram", at(source), (16, 1)),
        Operand("D", "sram", at(target), (pitch, 1)),
    )
    return Issue("load", operands, (("r", Span(rows)), ("c", Span(16))), pops=pops, pushes=pushes)


def issue_mma(
    a: int,
    b: int,
    d: int,
    pitch: int = 16,
    rows: int = 16,
    pops: tuple[str, ...] = (),
    pushes: tuple[str, ...] = (),
) -> Issue:
    """D += A B on whole tiles, `rows` of them in A and D."""
    operands = (
        Operand("A", "sram", at(a), (pitch, 1)),
        Operand("B", "sram", at(b), (pitch, 1)),
        Operand("D", "acc", at(d), (64, 4)),
    )
    extents = (("i", Span(rows)), ("j", Span(16)), ("k", Span(16)))
    return Issue("mma", operands, extents, pops=pops, pushes=pushes)


def issue_clear(d: int, rows: int = 16, pops: tuple[str, ...] = ()) -> Issue:
    """D = 0."""
    operands = (Operand("D", "acc", at(d), (64, 4)),)
    return Issue("clear", operands, (("i", Span(rows)), ("j", Span(16))), pops=pops)


def issue_store(
    source: int,
    target: int,
    rows: int = 16,
    pops: tuple[str, ...] = (),
    pushes: tuple[str, ...] = (),
) -> Issue:
    """A tile from the accumulator to DRAM, rows 64 bytes apart."""
    operands = (
        Operand("S", "acc", at(source), (64, 4)),
        Operand("D", "dram", at(target), (64, 4)),
    )
    return Issue("store", operands, (("r", Span(rows)), ("c", Span(16))), pops=pops, pushes=pushes)


def straight(calls: tuple[Node, ...], hardware: str = "tiny", repeats: int = 1) -> Program:
    """The calls one after the other, with X (4 KiB) at byte 0 and Y (16 KiB) at byte 4096 of
    DRAM."""
    x, y = natural_layout("i8", (4096,)), natural_layout("i32", (4096,))
    body = calls if repeats == 1 else (For("again", Span(repeats), calls),)
    return Program(
        "straight",
        hardware,
        (Placement("X", 0, x), Placement("Y", 4096, y)),
        (Placement("Y", 4096, y),),
        body,
    )
