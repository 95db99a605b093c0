"""An instruction's semantics as a C function over its own dense arrays.

In: a Kernel and the shape of each operand's array. Out: C text of `static inline exec_<n>(extents,
immediates)`.
Not its job: moving operands between memories and those arrays (`c_functional`).
"""

import math
from collections.abc import Mapping
from functools import partial

from isamap.cexpr import StatementWriter, storage_type, value_type
from isamap.ir import (
    OPS,
    Access,
    Affine,
    Apply,
    Expr,
    Kernel,
    Loop,
    Role,
    Statement,
    Typing,
    innermost,
    is_integer,
)

Shapes = Mapping[str, tuple[int, ...]]
Strides = Mapping[str, list[int]]


def can_compile(kernel: Kernel) -> bool:
    """Has every scalar type of `kernel` a C form here? (8-bit floats have none.)"""
    used = {buffer.dtype for buffer in kernel.buffers}
    for statement in kernel.statements:
        used |= _cast_types(statement.value)
    return not any(name.startswith("f8") for name in used)


def _cast_types(expr: Expr) -> set[str]:
    if not isinstance(expr, Apply):
        return set()
    inner = {dtype for arg in expr.args for dtype in _cast_types(arg)}
    return inner | ({OPS[expr.op].result} if OPS[expr.op].typing is Typing.CAST else set())


def emit_semantics(
    kernel: Kernel,
    number: int,
    loops: tuple[str, ...],
    shapes: Mapping[str, tuple[int, ...]],
    immediates: Mapping[str, str | None],
) -> list[str]:
    """Arrays `m<number>_<buffer>` and the function `exec<number>(e_<loop>..., imm_<name>...)`.

    `immediates`: by name, the float type, None for integers.
    """
    prefix = f"m{number}_"
    lines = []
    for buffer in kernel.buffers:
        size = math.prod(shapes[buffer.name])
        lines.append(
            f"static {storage_type(buffer.dtype)} {prefix}{buffer.name}[{size}]"
            " __attribute__((aligned(64)));"
        )
    parameters = [f"const i64 e_{loop}" for loop in loops]
    for name in kernel.immediates:
        dtype = immediates[name]
        parameters.append(f"const {value_type(dtype) if dtype else 'i64'} imm_{name}")
    head = ", ".join(parameters) or "void"
    lines.append(f"static inline __attribute__((always_inline)) void exec{number}({head}) {{")
    for buffer in kernel.buffers:
        if buffer.role is Role.TEMP or _starts_as_zeros(kernel, buffer.name):
            name = f"{prefix}{buffer.name}"
            lines.append(f"memset({name}, 0, sizeof {name});")
    element = partial(_element, prefix=prefix, shapes=shapes)
    writer = StatementWriter(kernel, element, _index, lines=lines)
    strides = {
        name: [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
        for name, shape in shapes.items()
    }
    _write_statements(writer, strides, kernel.statements, 0)
    return [*lines, "}"]


def _starts_as_zeros(kernel: Kernel, name: str) -> bool:
    """Must an Out be cleared first? Not if all statements only overwrite it."""
    if kernel.buffer(name).role is not Role.OUT:
        return False
    is_updated = any(s.target.buffer == name and s.update != "=" for s in kernel.statements)
    is_read = any(a.buffer == name for s in kernel.statements for a in s.reads)
    return is_updated or is_read


def _write_statements(
    writer: StatementWriter, strides: Strides, statements: tuple[Statement, ...], depth: int
) -> None:
    """Neighbours that share their next loop go into one C loop."""
    rest = list(statements)
    while rest:
        first = rest.pop(0)
        if len(first.loops) == depth:
            writer.write(first)
            continue
        loop = first.loops[depth]
        group = [first]
        while rest and len(rest[0].loops) > depth and rest[0].loops[depth] == loop:
            group.append(rest.pop(0))
        if len(group) == 1:
            loops = first.loops[depth:]
            may_sum = is_integer(writer.kernel.buffer(first.target.buffer).dtype)
            last = innermost(first, loops, strides, may_sum=may_sum)
            for inner in (*(other for other in loops if other != last), last):
                _open_loop(writer, inner)
            writer.write(first)
            writer.lines.append("}" * len(loops))
            continue
        _open_loop(writer, loop)
        _write_statements(writer, strides, tuple(group), depth + 1)
        writer.lines.append("}")


def _open_loop(writer: StatementWriter, loop: Loop) -> None:
    name = loop.name
    writer.lines.append(f"for (i64 l_{name} = 0; l_{name} < e_{name}; l_{name}++) {{")


def _index(affine: Affine) -> str:
    terms = [f"{coefficient} * l_{name}" for name, coefficient in affine.terms]
    return " + ".join([*terms, str(affine.constant)])


def _element(access: Access, prefix: str, shapes: Shapes) -> str:
    text = "0"
    for index, size in zip(access.indices, shapes[access.buffer]):
        text = f"({text}) * {size} + ({_index(index)})"
    return f"{prefix}{access.buffer}[{text}]"
