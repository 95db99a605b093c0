"""Operands that change nothing: the bias, the factor or the shift that a kernel lacks.

In: a verified kernel, values that instructions compute. Out: an equal kernel, bit by bit. Not its
job: which of them an instruction then takes (`mapper`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from isamap.errors import KernelError
from isamap.ir import (
    Access,
    Affine,
    Apply,
    Buffer,
    Expr,
    Immediate,
    Kernel,
    Literal,
    Loop,
    Statement,
    accesses,
    is_integer,
    pretty_expr,
    type_of,
    under_casts,
)

from .attempt import attempt
from .edit import fresh_names, make_temporary, rebuild
from .fresh_loops import fresh_loops
from .outline import subexpressions
from .variant import Rewrite

NEUTRAL = {"+": 0, "*": 1, "rshift_round": 0, ">>": 0, "<<": 0}  # as the second argument
SWAPS = ("+", "*")


@dataclass(frozen=True, slots=True)
class Addition:
    """`part` of a value becomes `part op e`: e is an element that moves with so many of the
    statement's innermost loops, or (None) a number."""

    part: Expr
    op: str
    dims: int | None

    def __str__(self) -> str:
        text = pretty_expr(Apply(self.op, (self.part, Literal(NEUTRAL[self.op]))))
        return text if self.dims is None else f"{text} (dimensions: {self.dims})"


def neutral(kernel: Kernel, position: int, additions: Sequence[Addition]) -> Kernel:
    """Write `y[i] = relu(x[i])` as `none[i] = 0; y[i] = relu(x[i] + none[i])`.

    Args:
        kernel: any verified kernel.
        position: of a statement.
        additions: to parts of its value; of floats, factors only, as -0.0 + 0.0 is 0.0.

    Raises:
        KernelError: the value has no such part, or it is no integer.

    Source: identities of addition, multiplication and shifts; derived here.
    """
    statement = kernel.statements[position]
    parts = subexpressions(statement.value)
    buffers: list[Buffer] = []
    fills: list[Statement] = []
    operands: dict[Addition, Expr] = {}
    for addition in additions:
        if addition.part not in parts or not accesses(addition.part):
            raise KernelError(f"{pretty_expr(addition.part)} is no part of statement {position}")
        dtype = type_of(addition.part, kernel)
        if addition.op != "*" and not is_integer(dtype):
            raise KernelError(f"{pretty_expr(addition.part)} is {dtype}, no integer")
        number = Literal(NEUTRAL[addition.op])
        operands[addition] = number
        if addition.dims is not None:
            loops = _innermost(statement, addition.dims)
            (name,) = fresh_names(kernel, ("none",), [buffer.name for buffer in buffers])
            buffer, element = make_temporary(name, dtype, loops)
            buffers.append(buffer)
            fills.append(Statement(loops, element, "=", number))
            operands[addition] = element
    changed = replace(statement, value=_added(statement.value, operands))
    before, after = kernel.statements[:position], kernel.statements[position + 1 :]
    alone = fresh_loops(kernel, fills, [buffer.name for buffer in buffers])
    return rebuild(kernel, (*alone, *before, changed, *after), buffers)


def _innermost(statement: Statement, dims: int) -> tuple[Loop, ...]:
    """So many of the innermost loops that the target moves with, or all."""
    loops = [loop for loop in statement.loops if statement.target.moves_with(loop.name)]
    return tuple(loops[max(0, len(loops) - dims) :])


def _added(value: Expr, operands: dict[Addition, Expr]) -> Expr:
    """The value with all additions; of those to one part the first one innermost."""
    found = value
    if isinstance(value, Apply):
        found = Apply(value.op, tuple(_added(arg, operands) for arg in value.args))
    for addition, operand in operands.items():
        if addition.part == value:
            found = Apply(addition.op, (found, operand))
    return found


def find_additions(value: Expr, wanted: Expr) -> tuple[Addition, ...] | None:
    """What makes `value` one that does the same operations as `wanted`, its elements and immediates
    standing for any; None where nothing does."""
    if isinstance(wanted, Access | Immediate | Literal):
        return () if _may_be(value, wanted) else None
    if isinstance(value, Apply) and value.op == wanted.op and len(value.args) == len(wanted.args):
        for args in (value.args, value.args[::-1]) if value.op in SWAPS else (value.args,):
            pairs = [find_additions(*pair) for pair in zip(args, wanted.args, strict=True)]
            known = [pair for pair in pairs if pair is not None]
            if len(known) == len(pairs):
                return tuple(addition for pair in known for addition in pair)
    for inner, operand in _neutral_operands(wanted):
        found = find_additions(value, inner)
        if found is not None:
            dims = len(operand.indices) if isinstance(operand, Access) else None
            return (*found, Addition(value, wanted.op, dims))
    return None


def _may_be(value: Expr, wanted: Access | Immediate | Literal) -> bool:
    """May an operand of an instruction, or a number in it, stand for the value?"""
    match wanted:
        case Access():
            return isinstance(under_casts(value), Access)
        case Immediate():
            return isinstance(value, Literal)
        case Literal():
            return value == wanted


def _neutral_operands(wanted: Apply) -> Iterator[tuple[Expr, Expr]]:
    """What the value computes with a neutral operand, and that operand."""
    if wanted.op not in NEUTRAL or len(wanted.args) != 2:
        return
    for inner, operand in (wanted.args, wanted.args[::-1]):
        is_second = operand is wanted.args[1]
        if isinstance(operand, Access | Immediate) and (is_second or wanted.op in SWAPS):
            yield inner, operand


def neutral_by(values: Sequence[Expr]) -> Rewrite:
    """The row that tries to make statements compute one of these values, of instructions."""
    law = "x  =  x + 0  =  x * 1  =  rshift_round(x, 0)"
    return Rewrite("neutral", law, False, partial(_sites, tuple(values)), neutral_at)


def _sites(values: tuple[Expr, ...], kernel: Kernel) -> Iterator[tuple[str, Kernel]]:
    for position, statement in enumerate(kernel.statements):
        if statement.update != "=" or not isinstance(statement.value, Apply):
            continue
        every = (find_additions(statement.value, wanted) for wanted in values)
        for additions in dict.fromkeys(each for each in every if each):
            found = attempt(neutral, kernel, position, additions)
            if found is not None:
                yield f"statement {position}: {'; '.join(map(str, additions))}", found


def neutral_at(kernel: Kernel, site: str) -> Kernel:
    """The application of that name; KernelError as `neutral`, or where it is none."""
    for position, statement in enumerate(kernel.statements):
        start = f"statement {position}: "
        if site.startswith(start):
            known = {str(each): each for each in _every(statement)}
            names = site.removeprefix(start).split("; ")
            if all(name in known for name in names):
                return neutral(kernel, position, [known[name] for name in names])
    raise KernelError(f"nothing neutral is called {site!r}")


def _every(statement: Statement) -> Iterator[Addition]:
    for part in subexpressions(statement.value):
        for op in NEUTRAL:
            for dims in (None, *range(len(statement.loops) + 1)):
                yield Addition(part, op, dims)


_S, _B = (Access(name, (Affine(),)) for name in "SB")
USUAL = tuple(Apply("relu", (Apply(op, (_S, _B)),)) for op in ("+", "*"))
NEUTRAL_OPERANDS = neutral_by(USUAL)
