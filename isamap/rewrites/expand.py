"""A product of sums of integers becomes a sum of products, each summed on its own.

In: a verified kernel and a statement. Out: an equal kernel. Not its job: sums inside casts, which
instruction then takes which sum.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Apply,
    Buffer,
    Expr,
    Kernel,
    Literal,
    Loop,
    Statement,
    accesses,
    covers,
    is_float,
    map_accesses,
    wrap_integer,
)

from .attempt import attempt, statement_sites
from .begin_from import begin_from
from .edit import (
    begins_at_zero,
    fresh_names,
    make_temporary,
    pick_loops,
    rebuild,
    shares_loops,
    substitute_access,
    used_loops,
)
from .factors import add_up, moving_loops, multiply
from .fresh_loops import fresh_loops
from .variant import Rewrite
from .window import find_sum

MAX_TERMS = 12  # a product of longer sums would become more statements than anyone reads


@dataclass(frozen=True, slots=True)
class Term:
    """`number` times the product of `factors`."""

    number: float
    factors: tuple[Expr, ...]

    def times(self, other: "Term") -> "Term":
        """The product of both."""
        return Term(self.number * other.number, (*self.factors, *other.factors))


def expand(kernel: Kernel, statement: int) -> Kernel:
    """Multiply out what a statement sums, as where quantised operands have zero points.

    `C[i, j] += (a[i, k] - za) * (b[k, j] - zb)` over K values of k becomes `A[i] += a[i, k]; B[j]
    += b[k, j]; B'[j] = K*za*zb - za*B[j]; C[i, j] += B'[j] - zb*A[i]; C[i, j] += a[i, k]*b[k, j]`:
    what does not move with the summed loops leaves the sums, the plain products stay the
    statement's own, last, so that they begin from the rest as from a bias; with it from what
    `begin_from` finds.

    Sums of floats stay as they are: what is small as a whole may have terms that are not. The
    variance of x, sum((x - m)**2), would become a difference of large numbers, without a digit left
    where x is 1000 +- 1, and below zero before a square root: no order of a sum does that.

    Raises:
        KernelError: the statement is not alone under its loops, is no sum, or reads its target; it
            sums floats, or over no loop; nothing is to multiply out, or there are more than
            MAX_TERMS terms.

    Source: distributive law; for quantised products Jacob et al., Quantization and Training of
    Neural Networks for Efficient Integer-Arithmetic-Only Inference, 2018, section 2.3.
    """
    found = find_sum(kernel, statement)
    if is_float(kernel.buffer(found.target.buffer).dtype):
        raise KernelError(f"statement {statement} sums floats", loc=found.loc)
    if (begun := attempt(begin_from, kernel, statement)) is not None:
        kernel, statement = begun, statement + 1
    kept = tuple(loop for loop in found.loops if found.target.moves_with(loop.name))
    if len(kept) == len(found.loops):
        raise KernelError(f"statement {statement} sums over no loop", loc=found.loc)
    written_out = multiply_out(found.value)
    if len(written_out) < 2:
        raise KernelError(f"statement {statement} sums no product of sums", loc=found.loc)
    terms = _collect(written_out)
    parts = _Parts(kernel, found, kept)
    products = [term for term in terms if parts.is_product(term)]
    for term in terms:
        if term not in products:
            parts.add(term)
    if not products and not parts.has_product:
        raise KernelError(f"statement {statement} sums no product of elements", loc=found.loc)
    plain = [_sum_up(found, found.target, term.factors) for term in products]
    earlier = _find_assignment(kernel, statement)
    if earlier is not None:
        parts.note(earlier)
    is_first = earlier is not None or begins_at_zero(kernel, statement)
    sums = [step for steps in parts.sums.values() for step in steps]
    steps = (*sums, *parts.add_offsets(is_first), *plain)
    return rebuild(
        kernel,
        (
            *kernel.statements[: statement - (earlier is not None)],
            *fresh_loops(kernel, steps, parts.names),
            *kernel.statements[statement + 1 :],
        ),
        parts.buffers,
    )


def _find_assignment(kernel: Kernel, position: int) -> Expr | None:
    """What the statement just before gives every element of the target, by the loops of the
    statement at `position`; None where it does not do just that."""
    if position == 0 or shares_loops(kernel, position - 1):
        return None
    found, earlier = kernel.statements[position], kernel.statements[position - 1]
    buffer = kernel.buffer(found.target.buffer)
    if earlier.target.buffer != buffer.name or earlier.update != "=":
        return None
    is_once = all(earlier.target.moves_with(loop.name) for loop in earlier.loops)
    if not is_once or not covers(earlier, buffer) or not covers(found, buffer):
        return None
    if any(access.buffer == buffer.name for access in accesses(earlier.value)):
        return None
    pairs = zip(earlier.target.indices, found.target.indices, strict=True)
    names = {name: index for own, index in pairs for name in own.names}
    return map_accesses(earlier.value, lambda access: substitute_access(access, names))


def multiply_out(value: Expr) -> tuple[Term, ...]:
    """The terms of a value; those inside casts and other operations stay as they are.

    Raises KernelError where there are more than MAX_TERMS.
    """
    match value:
        case Literal(number):
            return (Term(number, ()),)
        case Apply("neg", (arg,)):
            return _negate(multiply_out(arg))
        case Apply("+", (left, right)):
            terms = (*multiply_out(left), *multiply_out(right))
        case Apply("-", (left, right)):
            terms = (*multiply_out(left), *_negate(multiply_out(right)))
        case Apply("*", (left, right)):
            others = multiply_out(right)
            terms = tuple(a.times(b) for a in multiply_out(left) for b in others)
        case _:
            return (Term(1, (value,)),)
    if len(terms) > MAX_TERMS:
        raise KernelError(f"the product of sums has more than {MAX_TERMS} terms")
    return terms


def _collect(terms: tuple[Term, ...]) -> list[Term]:
    """Terms of the same factors as one, those that cancel left out: of `(d + 128 - 128) * w`, where
    bytes with a zero point became signed ones, only `d * w` is left."""
    alike: dict[frozenset[tuple[Expr, int]], Term] = {}
    for term in terms:
        key = frozenset(Counter(term.factors).items())
        known = alike.get(key, replace(term, number=0))
        alike[key] = replace(known, number=known.number + term.number)
    return [term for term in alike.values() if term.number]


def _negate(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(Term(-term.number, term.factors) for term in terms)


def _sum_up(found: Statement, target: Access, factors: tuple[Expr, ...]) -> Statement:
    """`target += product of factors`, over the loops of `found` that either moves with."""
    value = multiply(factors)
    moving = used_loops(value) | used_loops(target)
    return Statement(pick_loops(found.loops, moving), target, "+=", value, loc=found.loc)


class _Parts:
    """Sums that leave the statement, and what is added in their place.

    `sums` are by the number and factors that they are multiplied by and by their loops; `offsets`
    holds, for every set of `kept` loops, what is to be added along them.
    """

    def __init__(self, kernel: Kernel, found: Statement, kept: tuple[Loop, ...]) -> None:
        self.kernel = kernel
        self.found = found
        self.kept = kept
        self.summed = frozenset(loop.name for loop in found.loops if loop not in kept)
        self.dtype = kernel.buffer(found.target.buffer).dtype
        self.buffers: list[Buffer] = []
        self.names: list[str] = []
        self.offsets: dict[tuple[Loop, ...], list[Expr]] = {}
        self.sums: dict[tuple[float, tuple[Expr, ...], tuple[Loop, ...]], list[Statement]] = {}
        self.constant: float = 0
        self.has_product = False

    def is_product(self, term: Term) -> bool:
        """Is the term a product of elements, all of which move with the summed loops?"""
        inside, outside = self._divide(term)
        covers = self.summed <= moving_loops(inside)
        return term.number == 1 and len(inside) > 1 and not outside and covers

    def add(self, term: Term) -> None:
        """Sum what moves with the summed loops, and note its product with the rest."""
        inside, outside = self._divide(term)
        self.has_product |= len(inside) > 1
        used = moving_loops(inside)
        count = prod(loop.extent for loop in self.found.loops if loop.name in self.summed - used)
        number = term.number * count
        if not inside and not outside:
            self.constant += number
            return
        factors: tuple[Expr, ...] = outside
        if inside:
            key = number, outside, pick_loops(self.kept, used)
            if sums := self.sums.get(key):
                sums.append(_sum_up(self.found, sums[0].target, inside))
                return
            total = self._new_buffer("part", key[2])
            self.sums[key] = [_sum_up(self.found, total, inside)]
            factors = (total, *outside)
        self.note(multiply(factors if number == 1 else (*factors, self._literal(number))))

    def note(self, offset: Expr) -> None:
        """Something to be added to the target, once for every element."""
        dims = pick_loops(self.kept, used_loops(offset))
        self.offsets.setdefault(dims, []).append(offset)

    def add_offsets(self, is_first: bool) -> list[Statement]:
        """Statements that add up all that was noted, least dimensions first, into the target.

        Where nothing else does (`is_first`) they give the target its first values, if all of them.
        """
        if self.constant:
            least = min(self.offsets, key=len, default=())
            self.offsets.setdefault(least, []).append(self._literal(self.constant))
        steps: list[Statement] = []
        values: list[Expr] = []
        for dims, terms in sorted(self.offsets.items(), key=lambda item: len(item[0])):
            value = add_up(terms)
            if dims != self.kept and not isinstance(value, Access | Literal):
                offset = self._new_buffer("offset", dims)
                steps.append(Statement(dims, offset, "=", value, loc=self.found.loc))
                value = offset
            values.append(value)
        if values:
            whole = add_up(values)
            added = Statement(self.kept, self.found.target, "+=", whole, loc=self.found.loc)
            target = self.kernel.buffer(self.found.target.buffer)
            assigns = is_first and covers(added, target)
            steps.append(replace(added, update="=") if assigns else added)
        return steps

    def _divide(self, term: Term) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
        """Factors that move with the summed loops, and the others."""
        inside = tuple(f for f in term.factors if used_loops(f) & self.summed)
        return inside, tuple(f for f in term.factors if f not in inside)

    def _new_buffer(self, kind: str, dims: tuple[Loop, ...]) -> Access:
        """An element of a new TEMP of the target's type, one dimension per loop."""
        base = f"{self.found.target.buffer}_{kind}"
        name = fresh_names(self.kernel, (base,), self.names)[0]
        self.names.append(name)
        buffer, element = make_temporary(name, self.dtype, dims)
        self.buffers.append(buffer)
        return element

    def _literal(self, number: float) -> Literal:
        """The number in the target's type, where it wraps."""
        return Literal(wrap_integer(int(number), self.dtype))


EXPAND = Rewrite(
    "expand",
    "sum_k (a + u)(b + v) = sum_k ab + v * sum_k a + u * sum_k b + K * uv",
    False,
    partial(statement_sites, expand),
)
