"""The scalar type of every expression.

In: an expression and the buffers it reads. Out: type names, or KernelError saying what does not
fit. Not its job: positions (the caller adds them), index rules (`verify`), values (`interp`).

Literals and immediates have no type of their own: they take the other operand's, the cast's around
them, or the target's. Nothing is converted silently.
"""

from typing import assert_never

from isamap.errors import KernelError, closest

from .casts import under_casts
from .dtypes import integer_range, is_float, is_integer
from .kernel import Access, Apply, Expr, Immediate, Kernel, Literal
from .ops import OPS, SHIFTS, Domain, Operation, Typing
from .pretty import pretty_expr


def type_of(expr: Expr, kernel: Kernel, expected: str | None = None) -> str:
    """Type of `expr`, all operations checked; `expected` is what an untyped expression takes.

    Raises KernelError (without position): unequal operand types, an operation that the type lacks,
    a literal that the type cannot hold, or no way to tell the type.
    """
    found = infer_type(expr, kernel) or expected
    if found is None:
        raise KernelError(
            f"the type of {pretty_expr(expr)} cannot be told: it has only literals and immediates",
            hint="put a cast around it, such as i32(...)",
        )
    check_literals(expr, kernel, found)
    return found


def infer_type(expr: Expr, kernel: Kernel) -> str | None:
    """Type of `expr`, or None when it is made of literals and immediates only."""
    match expr:
        case Access(buffer):
            return kernel.buffer(buffer).dtype
        case Literal() | Immediate():
            return None
        case Apply(op, args):
            operation = find_operation(op, len(args))
            types = tuple(infer_type(arg, kernel) for arg in args)
            return result_type(operation, expr, types)
        case _:
            assert_never(expr)


def find_operation(op: str, num_args: int) -> Operation:
    """Row of `op`, checked against the number of arguments."""
    if op not in OPS:
        raise KernelError(f"unknown operation {op!r}", hint=closest(op, OPS))
    operation = OPS[op]
    if operation.arity != num_args:
        raise KernelError(f"{op} takes {operation.arity} argument(s), not {num_args}")
    return operation


def result_type(operation: Operation, expr: Apply, types: tuple[str | None, ...]) -> str | None:
    """Apply the typing rule of one operation to its operands' types."""
    if operation.typing is Typing.CAST:
        return operation.result
    values = types[1:] if operation.typing is Typing.SELECT else types
    known = sorted({dtype for dtype in values if dtype is not None})
    if len(known) > 1:
        raise KernelError(
            f"operands of {operation.name!r} in {pretty_expr(expr)} have different types: "
            + " and ".join(str(dtype) for dtype in values if dtype is not None),
            hint=f"cast one of them, such as {known[0]}(...)",
        )
    if operation.typing is Typing.SELECT and types[0] is not None and is_float(types[0]):
        raise KernelError(f"the condition of {pretty_expr(expr)} is {types[0]}, not an integer")
    if operation.typing is Typing.COMPARE and not known:
        raise KernelError(f"{pretty_expr(expr)} compares two values without a type")
    if known:
        check_domain(operation, expr, known[0])
    if operation.typing is Typing.COMPARE:
        return "i8"
    return known[0] if known else None


def check_domain(operation: Operation, expr: Apply, dtype: str) -> None:
    """KernelError when the operation is not defined for `dtype`."""
    fits = {
        Domain.ANY: True,
        Domain.INTEGER: is_integer(dtype),
        Domain.FLOAT: is_float(dtype),
    }[operation.domain]
    if not fits:
        raise KernelError(
            f"{operation.name!r} in {pretty_expr(expr)} needs {operation.domain.value} operands, "
            f"not {dtype}",
            hint="use '//' for integers" if operation.name == "/" else "cast the operands first",
        )


def argument_types(expr: Apply, kernel: Kernel, dtype: str) -> tuple[str, ...]:
    """Types of the arguments of `expr`, itself of type `dtype`; untyped ones included."""
    operation = OPS[expr.op]
    types = tuple(infer_type(arg, kernel) for arg in expr.args)
    match operation.typing:
        case Typing.CAST:
            return (types[0] or operation.result,)
        case Typing.SAME:
            return (dtype,) * operation.arity
        case Typing.SELECT:
            return (types[0] or "i8", dtype, dtype)
        case Typing.COMPARE:
            common = next(found for found in types if found is not None)
            return (common, common)
        case _:
            assert_never(operation.typing)


def check_literals(expr: Expr, kernel: Kernel, dtype: str) -> None:
    """KernelError when a literal inside `expr` (of type `dtype`) does not fit the type it takes, or
    its operation can have no value."""
    match expr:
        case Literal(value):
            check_constant(value, dtype)
        case Apply(op, args):
            types = argument_types(expr, kernel, dtype)
            check_domain(OPS[op], expr, types[-1])
            check_right_side(op, args)
            for arg, arg_type in zip(args, types, strict=True):
                check_literals(arg, kernel, arg_type)
        case Access() | Immediate():
            pass
        case _:
            assert_never(expr)


def check_right_side(op: str, args: tuple[Expr, ...]) -> None:
    """KernelError for a literal that is the zero of a division or the negative count of a shift."""
    right = under_casts(args[-1])  # holds the same number: literals fit their casts
    if not isinstance(right, Literal):
        return
    if op == "//" and right.value == 0:
        raise KernelError("division by zero")
    if op in SHIFTS and right.value < 0:
        raise KernelError(f"negative shift count {right.value}")


def check_constant(value: float, dtype: str) -> None:
    """KernelError when `value` is not a value of `dtype` (floats may round)."""
    if is_float(dtype):
        return
    if isinstance(value, float):
        raise KernelError(f"literal {value} is not an integer, but {dtype} is needed here")
    low, high = integer_range(dtype)
    if not low <= value <= high:
        raise KernelError(f"literal {value} does not fit {dtype} ({low} .. {high})")
