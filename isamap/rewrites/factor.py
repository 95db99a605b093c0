"""Distributivity: a factor leaves the sums over loops that it does not move with.

In: a verified kernel, a statement that sums products, factors, loops. Out: an equal kernel (floats:
up to rounding). Not its job: sums inside the value, maxima of products.
"""

from collections.abc import Iterator
from itertools import combinations

from isamap.errors import KernelError
from isamap.ir import Access, Affine, Buffer, Expr, Kernel, Loop, Statement

from .edit import (
    find_alone,
    fresh_names,
    make_temporary,
    pick_loops,
    rename_loops,
    replace_statement,
    used_loops,
)
from .factors import moving_loops, multiply, name_factor, split_factors
from .variant import Rewrite

MAX_FACTORS = 6  # a product of more has too many subsets to try them all


def factor(kernel: Kernel, position: int, inner: tuple[int, ...], loops: tuple[str, ...]) -> Kernel:
    """Sum the product of some factors over `loops` first, then multiply by the others.

    `y[t] += f(p, u, c) * g(u, c) * h(c, o)` becomes, for the factors 0 and 1 and the loop u,
    `part[p, c] += f * g` and `y[t] += part[p, c] * h`. The temporary has the type of `y`, so sums
    of integers stay exact modulo 2**bits.

    Args:
        kernel: any verified kernel.
        position: a statement with update `+=` that shares no loops with neighbours.
        inner: which factors (as numbered by `split_factors`) to sum first; not all.
        loops: what to sum over: loops that these factors move with, but neither the others nor the
            target do.

    Raises:
        KernelError: the statement is no such sum, or a loop moves another factor or the target.

    Source: distributive law; as variable elimination (Dechter, Bucket Elimination, 1999).
    """
    statement = find_alone(kernel, position)
    factors = find_factors(kernel, statement)
    chosen = tuple(factors[n] for n in inner)
    others = tuple(f for n, f in enumerate(factors) if n not in inner)
    if not chosen or not others or not loops:
        raise KernelError("factoring needs factors inside, factors outside, and a loop to sum over")
    check_summed(statement, chosen, others, loops)
    buffer, first = sum_first(kernel, statement, chosen, loops)
    kept = tuple(loop for loop in statement.loops if loop.name not in loops)
    dims = part_loops(statement, chosen, loops)
    read = Access(buffer.name, tuple(Affine.var(loop.name) for loop in dims))
    second = Statement(kept, statement.target, "+=", multiply((read, *others)), loc=statement.loc)
    return replace_statement(kernel, position, (first, second), (buffer,))


def find_factors(kernel: Kernel, statement: Statement) -> tuple[Expr, ...]:
    """Factors of a sum of products; KernelError when the statement is none."""
    target = statement.target.buffer
    if statement.update != "+=" or any(a.buffer == target for a in statement.reads):
        raise KernelError(f"the statement of {target!r} is no sum of other buffers' elements")
    return split_factors(statement.value, kernel.buffer(target).dtype, kernel)


def check_summed(
    statement: Statement, chosen: tuple[Expr, ...], others: tuple[Expr, ...], loops: tuple[str, ...]
) -> None:
    """KernelError unless the loops move chosen factors only."""
    for loop in loops:
        if statement.target.moves_with(loop) or any(loop in used_loops(f) for f in others):
            raise KernelError(f"loop {loop!r} moves the target or a factor that is to stay outside")
        if not any(loop in used_loops(f) for f in chosen):
            raise KernelError(f"loop {loop!r} moves none of the factors to sum")


def part_loops(
    statement: Statement, chosen: tuple[Expr, ...], loops: tuple[str, ...]
) -> tuple[Loop, ...]:
    """Loops that a partial sum keeps as dimensions."""
    used = moving_loops(chosen)
    return tuple(loop for loop in pick_loops(statement.loops, used) if loop.name not in loops)


def sum_first(
    kernel: Kernel, statement: Statement, chosen: tuple[Expr, ...], loops: tuple[str, ...]
) -> tuple[Buffer, Statement]:
    """The temporary and the statement that fills it, under loops of its own."""
    target = statement.target.buffer
    name = fresh_names(kernel, (f"{target}_part",))[0]
    dims = part_loops(statement, chosen, loops)
    buffer, element = make_temporary(name, kernel.buffer(target).dtype, dims)
    inside = (*dims, *pick_loops(statement.loops, loops))
    part = Statement(inside, element, "+=", multiply(chosen), loc=statement.loc)
    old = tuple(loop.name for loop in inside)
    names = dict(zip(old, fresh_names(kernel, old, (name,)), strict=True))
    return buffer, rename_loops(part, names)


def factor_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every way to sum some factors first; most loops first."""
    for position, statement in enumerate(kernel.statements):
        try:
            find_alone(kernel, position)
            factors = find_factors(kernel, statement)
        except KernelError:
            continue
        if not 2 <= len(factors) <= MAX_FACTORS:
            continue
        for inner, loops in choices(statement, factors):
            names = ", ".join(name_factor(f) for n, f in enumerate(factors) if n not in inner)
            site = f"{statement.target.buffer}: {names} out of {', '.join(loops)}"
            yield site, factor(kernel, position, inner, loops)


def choices(
    statement: Statement, factors: tuple[Expr, ...]
) -> Iterator[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Factors to sum first with loops to sum over."""
    used = [used_loops(f) for f in factors]
    for size in range(1, len(factors)):
        for inner in combinations(range(len(factors)), size):
            moving = frozenset[str]().union(*(used[n] for n in inner))
            staying = frozenset[str]().union(
                *(used[n] for n in range(len(factors)) if n not in inner)
            )
            free = [
                loop.name
                for loop in statement.loops
                if loop.name in moving - staying and not statement.target.moves_with(loop.name)
            ]
            for count in range(len(free), 0, -1):
                yield from ((inner, loops) for loops in combinations(free, count))


FACTOR = Rewrite("factor", "sum_k a*b(k) = a * sum_k b(k)", True, factor_sites)
