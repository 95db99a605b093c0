"""Write one statement's computation as C.

In: a statement, what its elements and indices are in C. Out: lines. Not its job: loops.

One C variable per operation: rounding and wrapping happen where the operation table says.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from isamap.errors import ProgramError
from isamap.ir import (
    OPS,
    UPDATES,
    Access,
    Affine,
    Apply,
    Expr,
    Immediate,
    Kernel,
    Literal,
    Statement,
    argument_types,
    integer_range,
    is_float,
    is_integer,
    scalar_type,
)


def storage_type(dtype: str) -> str:
    """C type of an element in memory."""
    return {"i4": "int8_t", "u4": "uint8_t", "bf16": "uint16_t"}.get(dtype) or value_type(dtype)


def value_type(dtype: str) -> str:
    """C type of a variable that holds a value of the scalar type.

    Raises:
        ProgramError: there is none.
    """
    named = {"i4": "int8_t", "u4": "uint8_t", "bf16": "float"}.get(dtype)
    found = named or scalar_type(dtype).c_name
    if found is None:
        hint = "'isamap map' and 'isamap emulate' compute it; C has f16, bf16, f32, f64, integers"
        raise ProgramError(f"scalar type {dtype} has no C form", hint=hint)
    return found


def is_within(index: str, size: int) -> str:
    """C text: does the index lie in 0 .. size - 1?"""
    return f"(uint64_t)({index}) < {size}u"


@dataclass(slots=True)
class StatementWriter:
    """Writes statements of `kernel` into `lines`.

    `element`: C text of an access's element, without its padding; `index`: of an index expression.
    `functions`: C expressions used in place of the operation table's, by operation and the type of
    its last argument. `inside`: C text of whether an access with padding is inside its buffer, "1"
    or "0" where that is certain; None: every index is tested.
    """

    kernel: Kernel
    element: Callable[[Access], str]
    index: Callable[[Affine], str]
    functions: Mapping[tuple[str, str], str] = field(default_factory=dict)
    variable: str = "t"
    inside: Callable[[Access], str] | None = None
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def write(self, statement: Statement) -> None:
        """A block that computes one iteration."""
        target = statement.target
        dtype = self.kernel.buffer(target.buffer).dtype
        self.lines.append("{")
        value = self._expr(statement.value, dtype)
        operation = UPDATES[statement.update]
        if operation is not None:
            old = self._expr(target, dtype)
            value = self._operation(operation, [old, value], (dtype, dtype), dtype)
        stored = f"isamap_bf16_store({value})" if dtype == "bf16" else value
        self.lines.append(f"{self.element(target)} = {stored}; }}")

    def value(self, expr: Expr, dtype: str) -> str:
        """The C variable that holds an expression of type `dtype`, computed in what is written."""
        return self._expr(expr, dtype)

    def _name(self, dtype: str, text: str) -> str:
        """A new constant with the value `text`."""
        name = f"{self.variable}{self.count}"
        self.count += 1
        self.lines.append(f"const {value_type(dtype)} {name} = {text};")
        return name

    def _expr(self, expr: Expr, dtype: str) -> str:
        """C name of a variable with the value of `expr`, which has type `dtype`."""
        match expr:
            case Access():
                return self._access(expr, dtype)
            case Literal(value):
                return self._name(dtype, _constant(value, dtype))
            case Immediate(name):
                return self._name(dtype, _finish(f"imm_{name}", dtype))
            case Apply(op, args):
                types = argument_types(expr, self.kernel, dtype)
                parts = [self._expr(arg, kind) for arg, kind in zip(args, types)]
                return self._operation(op, parts, types, dtype)
            case _:
                assert_never(expr)

    def _access(self, access: Access, dtype: str) -> str:
        element = self.element(access)
        if dtype == "bf16":
            element = f"isamap_bf16_load({element})"
        elif dtype in ("i4", "u4"):
            element = _finish(element, dtype)
        if access.pad is not None:
            inside = self.inside(access) if self.inside else self._is_inside(access)
            pad = _constant(access.pad, dtype)
            element = {"1": element, "0": pad}.get(inside, f"({inside}) ? {element} : {pad}")
        return self._name(dtype, element)

    def _is_inside(self, access: Access) -> str:
        """C text: do all indices lie in their ranges?"""
        shape = self.kernel.buffer(access.buffer).shape
        pairs = zip(access.indices, shape, strict=True)
        return " && ".join(is_within(self.index(index), size) for index, size in pairs) or "1"

    def _operation(self, op: str, parts: list[str], types: tuple[str, ...], dtype: str) -> str:
        """A variable with the result of one operation on variables."""
        own = self.functions.get((op, types[-1]))
        template = own or (OPS[op].c_float if is_float(types[-1]) else OPS[op].c_integer)
        assert template, f"{op} is not defined for {types[-1]}"
        low, high = integer_range(dtype) if is_integer(dtype) else (0, 0)
        is_lacking = dtype in ("bf16", "i4", "u4")
        wide = "double" if dtype == "bf16" else "int64_t"
        text = template.format(
            *(f"({part})" for part in parts),
            T=wide if is_lacking else value_type(dtype),
            U="uint64_t" if dtype == "i64" else "uint32_t",
            LOW="INT64_MIN" if low == -(2**63) else f"{low}LL",
            HIGH=f"{high}LL",
        )
        return self._name(dtype, _finish(text, dtype) if is_lacking else text)


def _constant(value: int | float, dtype: str) -> str:
    if is_integer(dtype):
        return f"(({value_type(dtype)})({int(value)}LL))"
    number = float(value)
    if math.isinf(number):
        text = "INFINITY" if number > 0 else "-INFINITY"
    else:
        text = "NAN" if math.isnan(number) else number.hex()
    return _finish(text, dtype)


def _finish(text: str, dtype: str) -> str:
    """`text` brought into types that C lacks."""
    if dtype == "bf16":
        return f"isamap_bf16_round({text})"
    if dtype in ("i4", "u4"):
        low, high = integer_range(dtype)
        return f"({value_type(dtype)})isamap_wrap({text}, {low}LL, {high - low}LL)"
    return f"({value_type(dtype)})({text})"
