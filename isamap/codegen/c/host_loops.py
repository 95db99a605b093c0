"""What a machine's host runs, as plain C loops that compilers vectorise.

In: the semantics of a host call, where its operands lie. Out: C lines, and the functions they call.
Not its job: deciding what the host runs, text of addresses.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from isamap.cexpr import (
    FLOAT_FUNCTIONS,
    HELPERS,
    LIBRARY,
    StatementWriter,
    storage_type,
    used_helpers,
    vector_order,
)
from isamap.errors import ProgramError
from isamap.ir import (
    Access,
    Affine,
    Kernel,
    LoopKind,
    Role,
    accesses,
    loop_kinds,
    pretty_expr,
    size_bytes,
)
from isamap.program import Operand

from .parameters import KEYWORDS
from .text import affine_text

SIMD = "#pragma omp simd"
UNVECTORISED = """#ifdef __clang__ /* which warns of loops that it does not vectorise after all */
#pragma clang diagnostic ignored "-Wpass-failed"
#endif"""
ILLEGAL = """#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ISAMAP_ILLEGAL(what) ((void)0)
"""


@dataclass(frozen=True, slots=True)
class Place:
    """An operand: the C text of its first element's address, and the parameter it lies in."""

    operand: Operand
    pointer: str
    parameter: str


def write_host_call(semantics: Kernel, places: Mapping[str, Place]) -> list[str]:
    """A block of loops per statement that does what the call does; `places` by operand name.

    Operations of f32 are those of `cexpr.FLOAT_FUNCTIONS`.

    Raises:
        ProgramError: a scalar type that C lacks.
    """
    lines: list[str] = []
    for statement in semantics.statements:
        touched = {a.buffer for a in (statement.target, *accesses(statement.value))}
        own = {name: place for name, place in places.items() if name in touched}
        lines += _write_statement(replace(semantics, statements=(statement,)), own)
    return lines


def _write_statement(semantics: Kernel, places: Mapping[str, Place]) -> list[str]:
    (statement,) = semantics.statements
    names = _names(semantics)
    renamed = {old: Affine.var(new) for old, new in names.items()}
    strides = {name: _strides(semantics, place) for name, place in places.items()}

    def step(access: Access, loop: str) -> int:
        pairs = zip(access.indices, strides[access.buffer], strict=True)
        return sum(index.coefficient(loop) * stride for index, stride in pairs)

    def offset(access: Access) -> str:
        total = Affine()
        for index, stride in zip(access.indices, strides[access.buffer], strict=True):
            total = total + index.scaled(stride)
        return f"{access.buffer}[{affine_text(total.substitute(renamed))}]"

    def index_text(index: Affine) -> str:
        return affine_text(index.substitute(renamed))

    is_apart = _is_apart(semantics, places)
    loops = vector_order(semantics, statement, 0, step) if is_apart else statement.loops
    kinds = loop_kinds(statement)
    writer = StatementWriter(semantics, offset, index_text, FLOAT_FUNCTIONS, "v")
    writer.write(statement)
    text = pretty_expr(statement.value)
    lines = ["{", f"  /* {pretty_expr(statement.target)} {statement.update} {text} */"]
    lines += [f"  {_declaration(semantics, name, place)}" for name, place in places.items()]
    for depth, loop in enumerate(loops):
        is_simd = loop == loops[-1] and kinds[loop.name] is LoopKind.PARALLEL and is_apart
        lines += ["  " * (depth + 1) + SIMD] if is_simd and loop.extent > 1 else []
        name = names[loop.name]
        head = f"for (int64_t {name} = 0; {name} < {loop.extent}; ++{name}) {{"
        lines.append("  " * (depth + 1) + head)
    body = [*writer.lines[1:-1], writer.lines[-1].removesuffix(" }")]
    lines += ["  " * (len(loops) + 1) + line for line in body]
    lines += ["  " * depth + "}" for depth in range(len(loops), 0, -1)]
    return [*lines, "}"]


def host_functions(lines: list[str]) -> list[str]:
    """What stands before the function: definitions of what the lines of host calls call."""
    found = used_helpers(lines, f"{HELPERS}\n{LIBRARY}")
    macros = ILLEGAL if "ISAMAP_ILLEGAL" in found else ""
    hints = UNVECTORISED.splitlines() if any(SIMD in line for line in lines) else []
    return [*hints, *macros.splitlines(), *found.splitlines(), ""]


def _names(semantics: Kernel) -> dict[str, str]:
    """C names of the loops, apart from keywords, operands and the writer's variables."""
    taken = {*KEYWORDS.split(), *(buffer.name for buffer in semantics.buffers)}
    found: dict[str, str] = {}
    for loop in semantics.statements[0].loops:
        name = loop.name
        while name in taken or name[:1] == "v" and name[1:].isdigit():
            name += "_"
        taken.add(name)
        found[loop.name] = name
    return found


def _strides(semantics: Kernel, place: Place) -> tuple[int, ...]:
    """In elements."""
    dtype = semantics.buffer(place.operand.name).dtype
    size = size_bytes(dtype)
    if any(stride % size for stride in place.operand.strides_bytes):
        raise ProgramError(f"{semantics.name}: elements of {dtype} do not lie on multiples of it")
    return tuple(stride // size for stride in place.operand.strides_bytes)


def _declaration(semantics: Kernel, name: str, place: Place) -> str:
    buffer = semantics.buffer(name)
    const = "const " if buffer.role is Role.IN else ""
    kind = f"{const}{storage_type(buffer.dtype)} *"
    return f"{kind}const {name} = ({kind})({place.pointer});"


def _is_apart(semantics: Kernel, places: Mapping[str, Place]) -> bool:
    """Is it certain that no other operand shares a byte with the target?"""
    target = semantics.statements[0].target.buffer
    own = places[target]
    first, last = _reach(semantics, own)
    for name, place in places.items():
        if name == target or place.parameter != own.parameter:
            continue
        here, there = own.operand.address, place.operand.address
        distance = there.offset + here.offset.scaled(-1)
        if distance.terms or here.rotations or there.rotations:
            return False
        low, high = _reach(semantics, place)
        if distance.constant + low <= last and first <= distance.constant + high:
            return False
    return True


def _reach(semantics: Kernel, place: Place) -> tuple[int, int]:
    """First and last byte that an operand may touch, from its address on."""
    buffer = semantics.buffer(place.operand.name)
    ends = [s * (n - 1) for s, n in zip(place.operand.strides_bytes, buffer.shape, strict=True)]
    last = sum(max(0, end) for end in ends) + size_bytes(buffer.dtype) - 1
    return sum(min(0, end) for end in ends), last
