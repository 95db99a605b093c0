"""A product of wide operands becomes a sum of products of narrow ones.

In: a verified kernel and a statement. Out: an equal kernel (i16), or a close one (f32). Not its
job: whether the machine's narrow product is that much faster.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Expr,
    Kernel,
    Literal,
    Loop,
    Role,
    Statement,
    wrap_integer,
)

from .attempt import statement_sites
from .edit import fresh_names, pick_loops, replace_statement, used_loops
from .fresh_loops import fresh_loops
from .reach import find_reach
from .variant import Rewrite
from .window import find_sum

OFFSET = 128  # x = 2**8 * high + low + OFFSET
INTEGER_PARTS: tuple[tuple[str, int], ...] = (("high", 8), ("low", 0))  # name, shift
PRODUCTS = (("low", "high"), ("high", "low"), ("high", "high"))  # of f32, the smallest first


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand: its parts (access and shift), their TEMPs, and how these are filled.

    The operand is the sum of 2**shift * part, plus `offset`.
    """

    whole: Access
    parts: tuple[tuple[Access, int], ...]
    offset: int = 0
    buffers: tuple[Buffer, ...] = ()
    fills: tuple[Statement, ...] = ()


def split_precision(kernel: Kernel, statement: int) -> Kernel:
    """Write `C += i32(x) * i32(y)` (i16, or i16 and i8), or `C += x * y` (f32), by narrow parts.

    **i16**, parts i8: `x = 2**8 * high + low + 128`, high = x >> 8 and low = (x & 255) - 128; both
    lie in -128 .. 127, and x = 2**8 * (x >> 8) + (x & 255) is two's complement, so this is exact
    for every x. (No a*high + b*low without offset does it with a, b > 0: its least and greatest
    value add up to -(a + b), those of i16 to -1, so a + b = 1.) With ox = 128 for an i16, 0 for
    an i8, and X = x - ox: `x*y = X*Y + ox*Y + oy*X + ox*oy`. The products of parts are summed in
    i32 TEMPs, one per shift, the parts alone, which need no product, in more of them; at the end C
    gets them all. Every step is exact modulo 2**32, so the result is.

    **f32**, parts bf16: high = bf16(x), low = bf16(x - high), `C += low*high' + high*low' +
    high*high'`, each exact in f32. bf16 rounds with u = 2**-8: |x - high| <= u |x|, a difference
    f32 holds, and |x - high - low| <= u**2 |x|. Left out are low*low' and the parts' own errors:
    at most u**2 (1 + u)**2 + u**2 + u**2 (1 + u**2) < 3.01 * 2**-16 of |x y|. So with K terms,
    S = |C| + sum |x y|: error <= (3.01 * 2**-16 + 3.1 * (K + 1) * 2**-24) * S to first order,
    for finite |x| < 2**127 and where no part underflows (below 2**-126).

    Every part is a TEMP of the elements that the statement reads, padding included.

    Raises:
        KernelError: the statement is not alone under its loops, or is no sum of such products.

    Source: i16: derived here. f32: Henry, Tang, Heinecke, Leveraging the bfloat16 Artificial
    Intelligence Datatype For Higher-Precision Computations, ARITH 2019; the bound: derived here.
    """
    found = find_sum(kernel, statement)
    dtype = kernel.buffer(found.target.buffer).dtype
    match found.value, dtype:
        case Apply("*", (Access() as x, Access() as y)), "f32":
            return split_floats(kernel, statement, x, y)
        case Apply("*", (Apply("i32", (Access() as x,)), Apply("i32", (Access() as y,)))), "i32":
            types = {kernel.buffer(access.buffer).dtype for access in (x, y)}
            if types in ({"i16"}, {"i16", "i8"}):
                return split_integers(kernel, statement, x, y)
    raise KernelError(
        f"statement {statement} of {kernel.name!r} is no sum of products of i16 in i32, or of f32",
        loc=found.loc,
        hint="its form is C[i, j] += i32(A[i, k]) * i32(B[k, j]), or C[i, j] += A[i, k] * B[k, j]",
    )


def split_floats(kernel: Kernel, statement: int, x: Access, y: Access) -> Kernel:
    """The three products of bf16 parts, summed into the target."""
    old = kernel.statements[statement]
    taken: list[str] = []
    left = split_operand(kernel, old, x, taken)
    right = left if x == y else split_operand(kernel, old, y, taken)
    products: list[Statement] = []
    for first, second in PRODUCTS:
        parts = (pick_part(left, first), pick_part(right, second))
        value = Apply("*", tuple(Apply("f32", (part,)) for part in parts))
        products.append(replace(old, value=value))
    operands = tuple(dict.fromkeys((left, right)))
    fills = [fill for operand in operands for fill in operand.fills]
    buffers = [buffer for operand in operands for buffer in operand.buffers]
    steps = fresh_loops(kernel, (*fills, *products), taken)
    return replace_statement(kernel, statement, steps, buffers)


def pick_part(operand: Operand, name: str) -> Access:
    """The part called `name`."""
    return operand.parts[[part for part, _ in INTEGER_PARTS].index(name)][0]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the total: the sums it needs, the statements that sum, its value."""

    sums: tuple[Buffer, ...]
    steps: tuple[Statement, ...]
    term: Expr


def split_integers(kernel: Kernel, statement: int, x: Access, y: Access) -> Kernel:
    """The products of i8 parts by shift, the sums of the operands, and the total."""
    old = kernel.statements[statement]
    taken: list[str] = []
    left = split_operand(kernel, old, x, taken)
    right = left if x == y else split_operand(kernel, old, y, taken)
    operands = tuple(dict.fromkeys((left, right)))
    pieces = sum_products(kernel, old, left, right, taken)
    for operand, offset in ((left, right.offset), (right, left.offset)):
        if offset:
            pieces += sum_parts(kernel, old, operand, offset, taken)
    total: Expr = pieces[0].term
    for piece in pieces[1:]:
        total = Apply("+", (total, piece.term))
    kept = tuple(loop for loop in old.loops if old.target.moves_with(loop.name))
    if left.offset and right.offset:
        count = prod(loop.extent for loop in old.loops if loop not in kept)
        total = Apply("+", (total, wrapped(left.offset * right.offset * count)))
    steps = [
        *(fill for operand in operands for fill in operand.fills),
        *(step for piece in pieces for step in piece.steps),
        replace(old, loops=kept, value=total),
    ]
    parts = [buffer for operand in operands for buffer in operand.buffers]
    sums = [buffer for piece in pieces for buffer in piece.sums]
    alone = fresh_loops(kernel, steps, taken)
    return replace_statement(kernel, statement, alone, (*parts, *sums))


def sum_products(
    kernel: Kernel, old: Statement, left: Operand, right: Operand, taken: list[str]
) -> list[Piece]:
    """The products of parts, one sum per shift, the largest shift first."""
    shifts: dict[int, list[Expr]] = {}
    for first, up in left.parts:
        for second, more in right.parts:
            product = Apply("*", (Apply("i32", (first,)), Apply("i32", (second,))))
            shifts.setdefault(up + more, []).append(product)
    kept = tuple(loop for loop in old.loops if old.target.moves_with(loop.name))
    pieces: list[Piece] = []
    for shift in sorted(shifts, reverse=True):
        buffer, total = make_sum(kernel, kept, f"{old.target.buffer}_shift{shift}", taken)
        steps = (Statement(old.loops, total, "+=", value, old.loc) for value in shifts[shift])
        term = Apply("<<", (total, Literal(shift))) if shift else total
        pieces.append(Piece((buffer,), tuple(steps), term))
    return pieces


def sum_parts(
    kernel: Kernel, old: Statement, operand: Operand, offset: int, taken: list[str]
) -> list[Piece]:
    """`offset` times the sum of each part over all summed loops, those it lacks included."""
    loops = pick_loops(old.loops, used_loops(operand.whole))
    own = tuple(loop for loop in loops if old.target.moves_with(loop.name))
    rest = [o for o in old.loops if o not in loops and not old.target.moves_with(o.name)]
    times = offset * prod(loop.extent for loop in rest)
    pieces: list[Piece] = []
    for part, shift in operand.parts:
        buffer, total = make_sum(kernel, own, f"{part.buffer}_sum", taken)
        step = Statement(loops, total, "+=", Apply("i32", (part,)), old.loc)
        term = Apply("*", (total, wrapped(times << shift)))
        pieces.append(Piece((buffer,), (step,), term))
    return pieces


def wrapped(value: int) -> Literal:
    """The constant modulo 2**32."""
    return Literal(wrap_integer(value, "i32"))


def make_sum(
    kernel: Kernel, loops: tuple[Loop, ...], base: str, taken: list[str]
) -> tuple[Buffer, Access]:
    """An i32 TEMP with one element per iteration of `loops`, and the access to it."""
    (name,) = fresh_names(kernel, (base,), taken)
    taken.append(name)
    shape = tuple(loop.extent for loop in loops)
    indices = tuple(Affine.var(loop.name) for loop in loops)
    return Buffer(name, "i32", shape, Role.TEMP), Access(name, indices)


def split_operand(kernel: Kernel, old: Statement, whole: Access, taken: list[str]) -> Operand:
    """The parts of what `old` reads by `whole`; an i8 is its own part. Adds to `taken`."""
    buffer = kernel.buffer(whole.buffer)
    if buffer.dtype == "i8":
        return Operand(whole, ((whole, 0),))
    reach = find_reach(kernel, old, whole)
    narrow, values = narrow_parts(reach.element, buffer.dtype)
    names = fresh_names(kernel, (f"{buffer.name}_{part}" for part, _ in INTEGER_PARTS), taken)
    taken += names
    return Operand(
        whole,
        tuple((Access(n, reach.moved), shift) for n, (_, shift) in zip(names, INTEGER_PARTS)),
        OFFSET if buffer.dtype == "i16" else 0,
        tuple(Buffer(name, narrow, reach.shape, Role.TEMP) for name in names),
        tuple(
            Statement(reach.loops, Access(name, reach.here), "=", value, old.loc)
            for name, value in zip(names, values)
        ),
    )


def narrow_parts(read: Access, dtype: str) -> tuple[str, tuple[Expr, Expr]]:
    """The type of the parts, and high and low of the element `read`."""
    if dtype == "f32":
        high = Apply("bf16", (read,))
        return "bf16", (high, Apply("bf16", (Apply("-", (read, Apply("f32", (high,)))),)))
    low = Apply("-", (Apply("&", (read, Literal(255))), Literal(OFFSET)))
    return "i8", (Apply("i8", (Apply(">>", (read, Literal(8))),)), Apply("i8", (low,)))


def split_precision_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every sum of wide products."""
    yield from statement_sites(split_precision, kernel)


SPLIT_PRECISION = Rewrite(
    "split_precision",
    "x = 2**8 high + low + 128 by i8, exactly; f32 = bf16 + bf16, all but 3.01 * 2**-16 of x*y",
    True,
    split_precision_sites,
)
