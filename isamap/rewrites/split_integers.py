"""Wide and unsigned integers in products become signed bytes.

In: a verified kernel and a statement. Out: an equal kernel. Not its job: multiplying out
(`expand`), floats (`split_floats`), whether the machine's byte product is that much faster.
"""

from dataclasses import dataclass, replace
from functools import partial
from math import prod

from isamap.errors import KernelError
from isamap.ir import Access, Apply, Buffer, Expr, Kernel, Literal, Role, Statement

from .attempt import statement_sites
from .edit import fresh_names, replace_statement
from .expand import expand
from .factors import add_up, interval
from .fresh_loops import fresh_loops
from .reach import Reach, find_reach
from .variant import Rewrite
from .window import find_sum

WORD_BYTES = 4
CENTRE = 128  # what an unsigned byte is above a signed one


@dataclass(frozen=True, slots=True)
class Bytes:
    """An integer as the sum of 256**place * byte, the lowest first, plus `offset`.

    `values` compute the bytes, for the TEMPs `names`.
    """

    names: tuple[str, ...]
    values: tuple[Expr, ...]
    offset: int = 0


def split_integers(kernel: Kernel, statement: int) -> Kernel:
    """Write `C += i32(x) * i32(y)` by the signed bytes of what is no i8, and multiply out.

    A **u8** is its byte and 128: x = i8(x - 128) + 128, wrapping. An **i16** is 2**8 * (x >> 8) +
    (x & 255), two's complement, so 2**8 * high + low + 128 with low = i8(x - 128); a **u16** has
    128 more in its high byte as well. (No a*high + b*low without offset makes all i16 with a, b >
    0: its least and greatest value add up to -(a + b), those of i16 to -1, so a + b = 1.)

    An **i32** has digits d_p = i8((x + c_p) >> 8*p) with c_p = 128 * (256**p - 1) / 255: the bytes
    e_p of x + c_4 are those of an unsigned number, and d_p = e_p - 128, so the sum of 256**p * d_p
    is x modulo 2**32, whether the addition wraps or not. Four digits do for every x; fewer where
    the values that x can take are known to fit: n digits reach from -128 * (256**n - 1) / 255 to
    127 * (256**n - 1) / 255.

    Every byte is a TEMP of the elements that the statement reads, padding included.

    Raises:
        KernelError: the statement does not sum in i32; no such integer moves with a summed loop; or
            as `expand`.

    Source: balanced radix representation; derived here.
    """
    found = find_sum(kernel, statement)
    summed = [loop.name for loop in found.loops if not found.target.moves_with(loop.name)]
    known: dict[Access, Expr] = {}
    taken: list[str] = []
    buffers: list[Buffer] = []
    fills: list[Statement] = []

    def change(value: Expr) -> Expr:
        read = _wide(kernel, value)
        if read is None or not any(read.moves_with(name) for name in summed):
            if isinstance(value, Apply):
                return replace(value, args=tuple(map(change, value.args)))
            return value
        if read not in known:
            reach = find_reach(kernel, found, read)
            parts = _bytes_of(kernel, read, reach, taken)
            taken.extend(parts.names)
            buffers.extend(Buffer(name, "i8", reach.shape, Role.TEMP) for name in parts.names)
            fills.extend(
                Statement(reach.loops, Access(name, reach.here), "=", byte, found.loc)
                for name, byte in zip(parts.names, parts.values, strict=True)
            )
            known[read] = _add_up(parts, reach)
        return known[read]

    value = change(found.value)
    if not fills or kernel.buffer(found.target.buffer).dtype != "i32":
        raise KernelError(
            f"statement {statement} of {kernel.name!r} sums no wide or unsigned integers in i32",
            loc=found.loc,
            hint="its form is C[i, j] += i32(A[i, k]) * i32(B[k, j])",
        )
    steps = (*fresh_loops(kernel, fills, taken), replace(found, value=value))
    return expand(replace_statement(kernel, statement, steps, buffers), statement + len(fills))


def _wide(kernel: Kernel, value: Expr) -> Access | None:
    """What the value reads, if that is an i32, or an i16, u16 or u8 in i32."""
    match value:
        case Access(name) if kernel.buffer(name).dtype == "i32":
            return value
        case Apply("i32", (Access(name) as read,)):
            return read if kernel.buffer(name).dtype in ("i16", "u16", "u8") else None
        case _:
            return None


def _add_up(parts: Bytes, reach: Reach) -> Expr:
    """The integer again, in i32."""
    terms: list[Expr] = []
    for place, name in enumerate(parts.names):
        byte = Apply("i32", (Access(name, reach.moved),))
        terms.append(Apply("*", (byte, Literal(256**place))) if place else byte)
    if parts.offset:
        terms.append(Literal(parts.offset))
    return add_up(terms)


def _bytes_of(kernel: Kernel, read: Access, reach: Reach, taken: list[str]) -> Bytes:
    """The bytes of what `reach.element` reads."""
    x, centre = reach.element, Literal(CENTRE)
    low, high = fresh_names(kernel, (f"{read.buffer}_low", f"{read.buffer}_high"), taken)
    inner, upper = Apply("i8", (Apply("-", (x, centre)),)), Apply(">>", (x, Literal(8)))
    match kernel.buffer(read.buffer).dtype:
        case "u8":
            return Bytes((low,), (inner,), CENTRE)
        case "i16":
            return Bytes((low, high), (inner, Apply("i8", (upper,))), CENTRE)
        case "u16":
            outer = Apply("i8", (Apply("-", (upper, centre)),))
            return Bytes((low, high), (inner, outer), 256 * CENTRE + CENTRE)
    places = range(_num_digits(kernel, read))
    names = fresh_names(kernel, (f"{read.buffer}_digit{place}" for place in places), taken)
    return Bytes(tuple(names), tuple(_digit(x, place) for place in places))


def _digit(x: Expr, place: int) -> Expr:
    """The byte of an i32 at a place, the lowest is 0."""
    if not place:
        return Apply("i8", (x,))
    added = Apply("+", (x, Literal(CENTRE * (256**place - 1) // 255)))
    return Apply("i8", (Apply(">>", (added, Literal(8 * place))),))


def _num_digits(kernel: Kernel, word: Access) -> int:
    """As many as the values of the word need, if they are known."""
    low, high = _value_range(kernel, word.buffer)
    low, high = min(low, word.pad or 0), max(high, word.pad or 0)
    for count in range(1, WORD_BYTES):
        ones = (256**count - 1) // 255
        if -128 * ones <= low and high <= 127 * ones:
            return count
    return WORD_BYTES


def _value_range(kernel: Kernel, name: str) -> tuple[float, float]:
    """Least and greatest value of a TEMP that one statement sums up from zero, else of the type."""
    writers = [s for s in kernel.statements if s.target.buffer == name]
    unknown = (-float("inf"), float("inf"))
    if kernel.buffer(name).role is not Role.TEMP or len(writers) != 1:
        return unknown
    statement = writers[0]
    if statement.update not in ("=", "+="):
        return unknown
    low, high = interval(statement.value, "i32", kernel)
    moving = [n for index in statement.target.indices for n in index.names]
    is_plain = len(set(moving)) == len(moving) == len(statement.target.indices)
    if statement.update == "+=" and not is_plain:
        return unknown
    times = prod(loop.extent for loop in statement.loops if loop.name not in moving)
    times = times if statement.update == "+=" else 1
    least, most = min(0, low * times), max(0, high * times)
    fits = least >= -(2**31) and most < 2**31
    return (least, most) if fits else unknown


SPLIT_INTEGERS = Rewrite(
    "split_integers",
    "x = sum of 256**p * d_p by i8 digits d_p, and 128 where it is unsigned or i16",
    False,
    partial(statement_sites, split_integers),
)
