"""A product of i32 words and bytes becomes a sum of products of bytes.

In: a verified kernel and a statement. Out: an equal kernel. Not its job: i16 and f32
(`split_precision`), whether the machine's byte product is that much faster.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import prod

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Apply,
    Buffer,
    Expr,
    Kernel,
    Literal,
    Role,
    Statement,
)

from .attempt import statement_sites
from .edit import fresh_names, replace_statement
from .factors import interval
from .fresh_loops import fresh_loops
from .reach import find_reach
from .split_precision import make_sum
from .variant import Rewrite
from .window import find_sum

WORD_BYTES = 4


def split_words(kernel: Kernel, statement: int) -> Kernel:
    """Write `C += x * i32(y)`, x an i32 and y an i8, by the signed bytes of x.

    With x_0 = x, d_p = i8(x_p) and x_(p+1) = (x_p - d_p) >> 8 (the difference is a multiple of 256
    modulo 2**32, so the shift loses nothing but what modulo 2**32 does not see), x is the sum of
    256**p * d_p modulo 2**32, hence C the sum of `(d_p * y) << 8*p`. Four digits do for every x;
    fewer where the values that x can take are known to fit: n digits reach from -128 * (256**n -
    1) / 255 to 127 * (256**n - 1) / 255.

    Every digit is a TEMP of the elements that the statement reads, padding included; products of
    all digits but the lowest are summed in i32 TEMPs of their own.

    Raises:
        KernelError: the statement is not alone under its loops, or is no sum of such products.

    Source: balanced radix representation; derived here.
    """
    found = find_sum(kernel, statement)
    pair = _find_factors(kernel, found)
    if pair is None:
        raise KernelError(
            f"statement {statement} of {kernel.name!r} is no sum of products of i32 and i8 in i32",
            loc=found.loc,
            hint="its form is C[i, j] += T[i, k] * i32(B[k, j])",
        )
    word, byte = pair
    taken: list[str] = []
    digits = _split(kernel, found, word, taken)
    kept = tuple(loop for loop in found.loops if found.target.moves_with(loop.name))
    steps = [fill for _, fill, _ in digits]
    buffers = [buffer for buffer, _, _ in digits]
    for place, (_, _, digit) in enumerate(digits):
        value = Apply("*", (Apply("i32", (digit,)), byte))
        if place == 0:
            steps.append(replace(found, value=value))
            continue
        buffer, total = make_sum(kernel, kept, f"{found.target.buffer}_byte{place}", taken)
        buffers.append(buffer)
        shifted = Apply("<<", (total, Literal(8 * place)))
        steps.append(replace(found, target=total, value=value))
        steps.append(replace(found, loops=kept, value=shifted))
    return replace_statement(kernel, statement, fresh_loops(kernel, steps, taken), buffers)


def _find_factors(kernel: Kernel, found: Statement) -> tuple[Access, Expr] | None:
    """The word, and the byte with its cast."""
    if kernel.buffer(found.target.buffer).dtype != "i32":
        return None
    match found.value:
        case Apply("*", (Access() as word, Apply("i32", (Access() as byte,)) as wide)):
            pass
        case Apply("*", (Apply("i32", (Access() as byte,)) as wide, Access() as word)):
            pass
        case _:
            return None
    types = kernel.buffer(word.buffer).dtype, kernel.buffer(byte.buffer).dtype
    return (word, wide) if types == ("i32", "i8") else None


def _split(
    kernel: Kernel, found: Statement, word: Access, taken: list[str]
) -> list[tuple[Buffer, Statement, Access]]:
    """Per digit, the lowest first: its TEMP, the statement that fills it, how it is read."""
    reach = find_reach(kernel, found, word)
    rest: Expr = reach.element
    digits: list[tuple[Buffer, Statement, Access]] = []
    for place in range(_num_digits(kernel, word)):
        (name,) = fresh_names(kernel, (f"{word.buffer}_digit{place}",), taken)
        taken.append(name)
        digit = Access(name, reach.here)
        fill = Statement(reach.loops, digit, "=", Apply("i8", (rest,)), found.loc)
        buffer = Buffer(name, "i8", reach.shape, Role.TEMP)
        digits.append((buffer, fill, Access(name, reach.moved)))
        rest = Apply(">>", (Apply("-", (rest, Apply("i32", (digit,)))), Literal(8)))
    return digits


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


def split_words_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every sum of products of words and bytes."""
    yield from statement_sites(split_words, kernel)


SPLIT_WORDS = Rewrite(
    "split_words",
    "x = sum of 256**p * d_p by i8 digits d_p, exactly modulo 2**32",
    False,
    split_words_sites,
)
