"""A prefix sum becomes a product with a triangle of ones.

In: a verified kernel, a statement, the loop that carries the sum. Out: an equal kernel. Not its
job: scans of other operations; scans whose running sum is one element read by a neighbour.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
    LoopKind,
    Role,
    Statement,
    accesses,
    loop_kinds,
    map_accesses,
)

from .attempt import attempt
from .edit import find_alone, fresh_names, make_temporary, replace_statement, substitute_access
from .fresh_loops import fresh_loops
from .reduce_as_gemm import wrap_like
from .variant import Rewrite


@dataclass(frozen=True, slots=True)
class Recurrence:
    """`target = before + added`, where `before` is the target of the previous iteration."""

    statement: Statement
    loop: Loop
    before: Access
    added: Expr


def scan_as_gemm(kernel: Kernel, statement: int, loop: str) -> Kernel:
    """Write `S[i+1] = S[i] + x[i]` as `S[i+1] = S[0]` and `S[i+1] += L[i, j] * x[j]`.

    L[i, j] is 1 for j <= i and 0 above, a new TEMP of the type of x; it is filled by
    `L[a + b, b] = 1` and has 2*n - 1 rows, of which n are read. x may be any value that does not
    read S, S may have more dimensions with loops of their own, and the step may be any multiple
    of i: the target is the element that the next iteration reads. `S[0]`, the element that the
    first iteration reads, is never written here; where it is the padding it becomes a constant,
    and where S is zero so far the first statement is left out.
    The second form is `S[i+1] += S[i]`: the sum is over the old S, copied to a TEMP.

    Returns:
        A kernel equal on all integers. Floats: the order of a sum of one term per iteration
        stays, and products with zeros are added; finite values of x give the same result to the
        bit (but for the sign of zeros).

    Raises:
        KernelError: the statement is not alone under its loops; it is no such recurrence; another
            loop carries a dependence too.

    Source: scans on matrix units by products with triangles (Dakkak et al., Accelerating
    Reduction and Scan Using Tensor Core Units, ICS 2019, section 5).
    """
    found = find_recurrence(kernel, statement, loop)
    old, size = found.statement, found.loop.extent
    buffer = kernel.buffer(old.target.buffer)
    copied, triangle, column = fresh_names(kernel, (f"{buffer.name}_old", "triangle", f"{loop}_in"))
    start = substitute_access(found.before, {loop: Affine()})
    first = Literal(start.pad) if start.pad is not None and is_outside(start, kernel) else start
    fills = [fill_triangle(triangle, size)]
    if not is_zero(kernel, statement, first):
        fills.insert(0, replace(old, update="=", value=first))
    added, temporaries = found.added, []
    if added == old.target:  # the second form
        copy, added = make_temporary(copied, buffer.dtype, old.loops)
        fills.insert(0, replace(old, target=added, update="=", value=old.target))
        temporaries.append(copy)
    ones = Access(triangle, (Affine.var(loop), Affine.var(column)))
    dtype, factor = wrap_like(found.added, ones, kernel, old)
    temporaries.append(Buffer(triangle, dtype, (2 * size - 1, size), Role.TEMP))
    summed = map_accesses(added, lambda a: substitute_access(a, {loop: Affine.var(column)}))
    loops = (*old.loops, Loop(column, size))
    product = Statement(loops, old.target, "+=", Apply("*", (factor, summed)), old.loc)
    fills_alone = fresh_loops(kernel, fills, (copied, triangle, column))
    return replace_statement(kernel, statement, (*fills_alone, product), temporaries)


def is_zero(kernel: Kernel, statement: int, first: Access | Literal) -> bool:
    """Are the start of the scan and all its targets zero before `statement`?"""
    name = kernel.statements[statement].target.buffer
    is_written = any(earlier.target.buffer == name for earlier in kernel.statements[:statement])
    is_constant = isinstance(first, Literal) and first.value != 0
    return not kernel.buffer(name).role.is_given and not (is_written or is_constant)


def fill_triangle(name: str, size: int) -> Statement:
    """`L[a + b, b] = 1`: a lower triangle by rectangular loops, its lower half below row `size`."""
    place = (Affine.of([("a", 1), ("b", 1)]), Affine.var("b"))
    return Statement((Loop("a", size), Loop("b", size)), Access(name, place), "=", Literal(1))


def find_recurrence(kernel: Kernel, statement: int, loop: str) -> Recurrence:
    """The statement as a running sum along `loop`, or KernelError."""
    old = find_alone(kernel, statement)
    if all(own.name != loop for own in old.loops):
        raise KernelError(f"statement {statement} of {kernel.name!r} has no loop {loop!r}")
    before = substitute_access(old.target, {loop: Affine.var(loop) + -1})
    terms = flatten_sum(old.value)
    earlier = [t for t in terms if isinstance(t, Access) and replace(t, pad=None) == before]
    rest = [term for term in terms if term not in earlier]
    is_in_place = old.update == "+=" and not rest
    is_sum = is_in_place or (old.update == "=" and len(rest) > 0)
    if before == old.target or len(earlier) != 1 or not is_sum:
        raise KernelError(
            f"statement {statement} of {kernel.name!r} is no running sum along {loop!r}",
            loc=old.loc,
            hint="its form is S[i + 1] = S[i] + x[i]",
        )
    if any(access.buffer == before.buffer for term in rest for access in accesses(term)):
        raise KernelError(
            f"statement {statement} adds elements of {before.buffer!r} itself", loc=old.loc
        )
    kinds = loop_kinds(old)
    if any(kind is not LoopKind.PARALLEL for name, kind in kinds.items() if name != loop):
        raise KernelError(
            f"statement {statement} carries a dependence along other loops than {loop!r}",
            loc=old.loc,
        )
    added: Expr = old.target if is_in_place else rest[0]
    for term in rest[1:]:
        added = Apply("+", (added, term))
    own_loop = next(own for own in old.loops if own.name == loop)
    return Recurrence(old, own_loop, earlier[0], added)


def flatten_sum(value: Expr) -> tuple[Expr, ...]:
    """Terms of a sum, left to right."""
    match value:
        case Apply("+", (left, right)):
            return (*flatten_sum(left), *flatten_sum(right))
        case _:
            return (value,)


def is_outside(access: Access, kernel: Kernel) -> bool:
    """Does the access lie outside by a constant index?"""
    shape = kernel.buffer(access.buffer).shape
    return access.pad is not None and any(
        not index.terms and not 0 <= index.constant < size
        for index, size in zip(access.indices, shape, strict=True)
    )


def scan_as_gemm_sites(kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    """Every running sum."""
    for number, statement in enumerate(kernel.statements):
        for loop in statement.loops:
            result = attempt(scan_as_gemm, kernel, number, loop.name)
            if result is not None:
                yield f"statement {number}: {statement.target.buffer} along {loop.name}", result


SCAN_AS_GEMM = Rewrite(
    "scan_as_gemm",
    "S[i+1] = S[i] + x[i]  =  S[i+1] = S[0] + sum_j L[i, j] * x[j],  L[i, j] = 1 for j <= i",
    True,
    scan_as_gemm_sites,
)
