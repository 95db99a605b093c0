"""A product of f32 becomes a sum of products of bf16.

In: a verified kernel and a statement. Out: a close kernel. Not its job: integers
(`split_integers`), whether the machine's narrow product is that much faster.
"""

from dataclasses import dataclass, replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import Access, Apply, Buffer, Expr, Kernel, Role, Statement

from .attempt import statement_sites
from .edit import fresh_names, replace_statement
from .fresh_loops import fresh_loops
from .reach import find_reach
from .variant import Rewrite
from .window import find_sum


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand: its parts as they are read, their TEMPs, and how these are filled."""

    high: Access
    low: Access
    buffers: tuple[Buffer, ...]
    fills: tuple[Statement, ...]


def split_floats(kernel: Kernel, statement: int) -> Kernel:
    """Write `C += x * y` in f32 by the bf16 parts of both.

    high = bf16(x), low = bf16(x - high), `C += low*high' + high*low' + high*high'`, each exact in
    f32. bf16 rounds with u = 2**-8: |x - high| <= u |x|, a difference f32 holds, and |x - high -
    low| <= u**2 |x|. Left out are low*low' and the parts' own errors: at most u**2 (1 + u)**2 +
    u**2 + u**2 (1 + u**2) < 3.01 * 2**-16 of |x y|. So with K terms, S = |C| + sum |x y|: error
    <= (3.01 * 2**-16 + 3.1 * (K + 1) * 2**-24) * S to first order, for finite |x| < 2**127 and
    where no part underflows (below 2**-126).

    Every part is a TEMP of the elements that the statement reads, padding included.

    Raises:
        KernelError: the statement is not alone under its loops, or is no sum of such products.

    Source: Henry, Tang, Heinecke, Leveraging the bfloat16 Artificial Intelligence Datatype For
    Higher-Precision Computations, ARITH 2019; the bound: derived here.
    """
    found = find_sum(kernel, statement)
    taken: list[str] = []
    match found.value, kernel.buffer(found.target.buffer).dtype:
        case Apply("*", (Access() as x, Access() as y)), "f32":
            left = _split(kernel, found, x, taken)
            right = left if x == y else _split(kernel, found, y, taken)
        case _:
            raise KernelError(
                f"statement {statement} of {kernel.name!r} is no sum of products of f32",
                loc=found.loc,
                hint="its form is C[i, j] += A[i, k] * B[k, j]",
            )
    pairs = ((left.low, right.high), (left.high, right.low), (left.high, right.high))
    values = (Apply("*", tuple(Apply("f32", (part,)) for part in pair)) for pair in pairs)
    operands = tuple(dict.fromkeys((left, right)))
    fills = [fill for operand in operands for fill in operand.fills]
    products = [replace(found, value=value) for value in values]  # the smallest first
    return replace_statement(
        kernel,
        statement,
        fresh_loops(kernel, (*fills, *products), taken),
        [buffer for operand in operands for buffer in operand.buffers],
    )


def _split(kernel: Kernel, found: Statement, whole: Access, taken: list[str]) -> Operand:
    """The parts of what `found` reads by `whole`. Adds to `taken`."""
    reach = find_reach(kernel, found, whole)
    names = fresh_names(kernel, (f"{whole.buffer}_high", f"{whole.buffer}_low"), taken)
    taken += names
    high = Apply("bf16", (reach.element,))
    rest: Expr = Apply("-", (reach.element, Apply("f32", (high,))))
    return Operand(
        Access(names[0], reach.moved),
        Access(names[1], reach.moved),
        tuple(Buffer(name, "bf16", reach.shape, Role.TEMP) for name in names),
        tuple(
            Statement(reach.loops, Access(name, reach.here), "=", value, found.loc)
            for name, value in zip(names, (high, Apply("bf16", (rest,))), strict=True)
        ),
    )


SPLIT_FLOATS = Rewrite(
    "split_floats",
    "f32 = bf16 + bf16, all but 3.01 * 2**-16 of x*y",
    True,
    partial(statement_sites, split_floats),
)
