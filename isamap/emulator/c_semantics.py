"""An instruction's semantics as a C function over its own dense arrays.

In: a Kernel and the shape of each operand's array. Out: C text of `static inline exec_<n>(extents,
immediates)`.
Not its job: moving operands between memories and those arrays (`c_functional`).
One C variable per operation: rounding and wrapping happen where the operation table says.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

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
    Loop,
    Role,
    Statement,
    Typing,
    accesses,
    argument_types,
    integer_range,
    is_float,
    is_integer,
    scalar_type,
)

HELPERS = r"""
#include <math.h>
static int arithmetic = -1; /* the first illegal operation: 0 shift count, 1 division */
static inline int64_t isamap_shift_left(int64_t x, int64_t n) {
  if (UNLIKELY(n < 0)) { arithmetic = 0; return 0; }
  return n > 63 ? 0 : (int64_t)((uint64_t)x << n);
}
static inline int64_t isamap_shift_right(int64_t x, int64_t n) {
  if (UNLIKELY(n < 0)) { arithmetic = 0; return 0; }
  return x >> (n > 63 ? 63 : n);
}
static inline int64_t isamap_rshift_round(int64_t x, int64_t n) {
  if (UNLIKELY(n < 0)) { arithmetic = 0; return 0; }
  if (n > 63) return 0;
  return n ? (x >> n) + ((x >> (n - 1)) & 1) : x;
}
static inline int64_t isamap_floor_divide(int64_t a, int64_t b) {
  if (UNLIKELY(b == 0)) { arithmetic = 1; return 0; }
  if (b == -1) return (int64_t)(0u - (uint64_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t isamap_clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}
static inline int64_t isamap_truncate(double x, int64_t low, int64_t high) {
  if (x != x) return 0;
  x = trunc(x);
  return x >= (double)high + 1.0 ? high : x < (double)low ? low : (int64_t)x;
}
static inline int64_t isamap_wrap(int64_t x, int64_t low, int64_t mask) {
  return (int64_t)(((uint64_t)x - (uint64_t)low) & (uint64_t)mask) + low;
}
static inline double isamap_max(double a, double b) { return a >= b || a != a ? a : b; }
static inline double isamap_min(double a, double b) { return a <= b || a != a ? a : b; }
static inline double isamap_abs(double a) { return fabs(a); }
static inline double isamap_exp(double a) { return exp(a); }
static inline double isamap_tanh(double a) { return tanh(a); }
static inline double isamap_sigmoid(double a) { return 1.0 / (1.0 + exp(-a)); }
static inline double isamap_sqrt(double a) { return sqrt(a); }
static inline double isamap_round_even(double a) { return rint(a); }
static inline float isamap_bf16_load(uint16_t x) {
  uint32_t bits = (uint32_t)x << 16; float f; memcpy(&f, &bits, 4); return f;
}
static inline uint16_t isamap_bf16_store(float f) {
  uint32_t bits; memcpy(&bits, &f, 4); return (uint16_t)(bits >> 16);
}
static inline float isamap_bf16_round(double x) { /* nearest even, in one step from f64 */
  float f = (float)x; uint32_t bits;
  if (f != f) return f;
  memcpy(&bits, &f, 4);
  uint32_t low = bits & 0xffffu, half = 0x8000u;
  int up = low > half || (low == half && ((bits >> 16) & 1));
  if (low == half && (double)f != x) up = fabs(x) > fabs((double)f); /* f64 to f32 made the tie */
  bits = (bits & 0xffff0000u) + (up ? 0x10000u : 0);
  memcpy(&f, &bits, 4);
  return f;
}
"""


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


def storage_type(dtype: str) -> str:
    """C type of an element in memory."""
    return {"i4": "int8_t", "u4": "uint8_t", "bf16": "uint16_t"}.get(dtype) or value_type(dtype)


def value_type(dtype: str) -> str:
    """C type of a variable that holds a value of the scalar type."""
    named = {"i4": "int8_t", "u4": "uint8_t", "bf16": "float"}.get(dtype)
    found = named or scalar_type(dtype).c_name
    assert found is not None, f"{dtype} has no C form"
    return found


@dataclass(slots=True)
class _Writer:
    """C being written: the semantics, its arrays' shapes, and the number of the next variable."""

    kernel: Kernel
    prefix: str
    shapes: Mapping[str, tuple[int, ...]]
    lines: list[str]
    count: int = 0

    def variable(self, dtype: str, text: str) -> str:
        """A new constant with the value `text`."""
        name = f"t{self.count}"
        self.count += 1
        self.lines.append(f"const {value_type(dtype)} {name} = {text};")
        return name


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
    writer = _Writer(kernel, prefix, shapes, lines)
    _write_statements(writer, kernel.statements, 0)
    return [*lines, "}"]


def _starts_as_zeros(kernel: Kernel, name: str) -> bool:
    """Must an Out be cleared first? Not if all statements only overwrite it."""
    if kernel.buffer(name).role is not Role.OUT:
        return False
    is_updated = any(s.target.buffer == name and s.update != "=" for s in kernel.statements)
    is_read = any(a.buffer == name for s in kernel.statements for a in accesses(s.value))
    return is_updated or is_read


def _write_statements(writer: _Writer, statements: tuple[Statement, ...], depth: int) -> None:
    """Neighbours that share their next loop go into one C loop."""
    rest = list(statements)
    while rest:
        first = rest.pop(0)
        if len(first.loops) == depth:
            _write_statement(writer, first)
            continue
        loop = first.loops[depth]
        group = [first]
        while rest and len(rest[0].loops) > depth and rest[0].loops[depth] == loop:
            group.append(rest.pop(0))
        if len(group) == 1:
            _write_nest(writer, first, _best_order(writer, first, depth))
            continue
        _open_loop(writer, loop)
        _write_statements(writer, tuple(group), depth + 1)
        writer.lines.append("}")


def _open_loop(writer: _Writer, loop: Loop) -> None:
    name = loop.name
    writer.lines.append(f"for (i64 l_{name} = 0; l_{name} < e_{name}; l_{name}++) {{")


def _write_nest(writer: _Writer, statement: Statement, loops: tuple[Loop, ...]) -> None:
    for loop in loops:
        _open_loop(writer, loop)
    _write_statement(writer, statement)
    writer.lines.append("}" * len(loops))


def _best_order(writer: _Writer, statement: Statement, depth: int) -> tuple[Loop, ...]:
    """The statement's own loops with the one innermost that the compiler vectorises best.

    Legal because every target element keeps its order of updates: the target's loops each name one
    dimension, the
    statement does not read its target, and loops that are not in the target stay in order among
    themselves.
    """
    loops = statement.loops[depth:]
    target = statement.target
    names = [name for index in target.indices for name in index.names]
    is_injective = all(len(index.terms) <= 1 for index in target.indices)
    reads = accesses(statement.value)
    if not is_injective or len(set(names)) != len(names):
        return loops
    if any(access.buffer == target.buffer for access in reads):
        return loops
    summed = [loop for loop in loops if loop.name not in names]
    may_sum_inside = is_integer(writer.kernel.buffer(target.buffer).dtype)
    candidates = [loop for loop in loops if loop.name in names]
    candidates += summed[-1:] if may_sum_inside else []
    if not candidates:
        return loops
    scores = [
        sum(abs(_stride(writer, access, loop.name)) <= 1 for access in (target, *reads))
        for loop in candidates
    ]
    best = candidates[scores.index(max(scores))]
    return (*(loop for loop in loops if loop != best), best)


def _stride(writer: _Writer, access: Access, loop: str) -> int:
    """Elements between neighbours along `loop` in the access's array."""
    step, total = 1, 0
    for index, size in zip(reversed(access.indices), reversed(writer.shapes[access.buffer])):
        total += step * index.coefficient(loop)
        step *= size
    return total


def _write_statement(writer: _Writer, statement: Statement) -> None:
    target = statement.target
    dtype = writer.kernel.buffer(target.buffer).dtype
    writer.lines.append("{")
    value = _write_expr(writer, statement.value, dtype)
    operation = UPDATES[statement.update]
    if operation is not None:
        old = _write_expr(writer, target, dtype)
        value = _write_operation(writer, operation, [old, value], (dtype, dtype), dtype)
    stored = f"isamap_bf16_store({value})" if dtype == "bf16" else value
    writer.lines.append(f"{_element(writer, target)} = {stored}; }}")


def _c_index(affine: Affine) -> str:
    terms = [f"{coefficient} * l_{name}" for name, coefficient in affine.terms]
    return " + ".join([*terms, str(affine.constant)])


def _element(writer: _Writer, access: Access) -> str:
    text = "0"
    for index, size in zip(access.indices, writer.shapes[access.buffer]):
        text = f"({text}) * {size} + ({_c_index(index)})"
    return f"{writer.prefix}{access.buffer}[{text}]"


def _write_expr(writer: _Writer, expr: Expr, dtype: str) -> str:
    """C name of a variable with the value of `expr`, which has type `dtype`."""
    match expr:
        case Access():
            return _write_access(writer, expr, dtype)
        case Literal(value):
            return writer.variable(dtype, _constant(value, dtype))
        case Immediate(name):
            return writer.variable(dtype, _finish(f"imm_{name}", dtype))
        case Apply(op, args):
            types = argument_types(expr, writer.kernel, dtype)
            parts = [_write_expr(writer, arg, kind) for arg, kind in zip(args, types)]
            return _write_operation(writer, op, parts, types, dtype)
        case _:
            assert_never(expr)


def _write_access(writer: _Writer, access: Access, dtype: str) -> str:
    element = _element(writer, access)
    if dtype == "bf16":
        element = f"isamap_bf16_load({element})"
    elif dtype in ("i4", "u4"):
        element = _finish(element, dtype)
    if access.pad is not None:
        shape = writer.kernel.buffer(access.buffer).shape
        tests = [
            f"(uint64_t)({_c_index(index)}) < {size}u" for index, size in zip(access.indices, shape)
        ]
        element = f"({' && '.join(tests) or '1'}) ? {element} : {_constant(access.pad, dtype)}"
    return writer.variable(dtype, element)


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


def _write_operation(
    writer: _Writer, op: str, parts: list[str], types: tuple[str, ...], dtype: str
) -> str:
    """A variable with the result of one operation on variables."""
    template = OPS[op].c_float if is_float(types[-1]) else OPS[op].c_integer
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
    return writer.variable(dtype, _finish(text, dtype) if is_lacking else text)
