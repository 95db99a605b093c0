"""What a machine's host runs, as plain C loops that compilers vectorise.

In: the semantics of a host call, where its operands lie. Out: C lines, and the functions they call.
Not its job: deciding what the host runs, text of addresses.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from isamap.cexpr import (
    FAST_FUNCTIONS,
    HELPERS,
    JOINS_LIBRARY,
    LIBRARY,
    StatementWriter,
    storage_type,
    used_helpers,
)
from isamap.errors import ProgramError
from isamap.hwdesc import SUMMED_AS, HostLoops, HostNode, HostRule, Shared, Single, Way
from isamap.ir import Access, Affine, Kernel, Loop, Role, Statement, pretty_expr, size_bytes
from isamap.program import Operand

from .padded_reads import decided_before, is_inside
from .reach import whole_reach
from .reserved import declared
from .text import affine_text

WORD = re.compile(r"[A-Za-z_]\w*")
SIMD = "#pragma omp simd"
PART = 256  # values that are computed before they are summed, by row
JOINS = {"+=": "add", "*=": "multiply", "max=": "max", "min=": "min"}
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


def write_host_call(
    semantics: Kernel, places: Mapping[str, Place], rule: HostRule, may_reassociate: bool
) -> list[str]:
    """Blocks of loops that do what the call does; `places` by operand name.

    Operations are those of `cexpr.FAST_FUNCTIONS` where it has them.

    Raises:
        ProgramError: a scalar type that C lacks.
    """
    return _HostWriter(semantics, places).write(rule, may_reassociate)


class _HostWriter:
    """Writes the loops of one call."""

    def __init__(self, semantics: Kernel, places: Mapping[str, Place]) -> None:
        self.semantics = semantics
        self.places = places
        self.strides = {name: _strides(semantics, place) for name, place in places.items()}
        self.arrays = _array_names(semantics, places)
        self.names = _names(semantics, self.arrays)
        self.lines: list[str] = []
        self.depth = 0
        self.bounds: dict[str, tuple[str, str]] = {}  # of loops that run over part of their range

    def write(self, rule: HostRule, may_reassociate: bool) -> list[str]:
        loops = HostLoops(self.semantics, rule, self.strides, self._is_apart, may_reassociate)
        for node in loops.plan():
            self.add("{")
            self.depth += 1
            touched = {name for statement in _statements(node) for name in statement.touched}
            for name, place in self.places.items():
                if name in touched:
                    self.add(self._declaration(name, place))
            self._write_node(node, loops.num_rows)
            self.close()
        return self.lines

    def _write_node(self, node: HostNode, num_rows: int) -> None:
        match node:
            case Shared(loop, 1, body):
                self.open(loop)
                for inner in body:
                    self._write_node(inner, num_rows)
                self.close()
            case Shared(loop, at_once, body):
                self.open_part(loop, at_once)
                for inner in body:
                    self._write_node(inner, num_rows)
                self.close_part(loop)
            case Single(statement):
                target, value = pretty_expr(statement.target), pretty_expr(statement.value)
                self.add(f"/* {target} {statement.update} {value} */")
                match node.way:
                    case Way.ROWS:
                        self._write_rows(node, num_rows)
                    case Way.LANES:
                        self._write_lanes(node)
                    case _:
                        self._write_single(node)
            case _:
                assert_never(node)

    def _write_single(self, node: Single) -> None:
        for loop in node.loops[:-1]:
            self.open(loop)
        if node.way is Way.ACROSS:
            decided = decided_before(self.semantics, node.statement, node.loops[-1].name)
        else:
            decided = ()
        if decided:
            tests = [is_inside(self.semantics, read, self._index) for read in decided]
            self.add(f"if ({' && '.join(tests)}) {{")
            self.depth += 1
            self._write_innermost(node, dict.fromkeys(decided, "1"))
            self.depth -= 1
            self.add("} else {")
            self.depth += 1
            self._write_innermost(node, dict.fromkeys(decided, "0") if len(decided) == 1 else {})
            self.close()
        else:
            self._write_innermost(node, {})
        for _ in node.loops[:-1]:
            self.close()

    def _write_innermost(self, node: Single, known: Mapping[Access, str]) -> None:
        """The innermost loop, where it is known which reads are inside of their buffers."""
        writer = self._writer(known)
        writer.write(node.statement)
        body = [*writer.lines[1:-1], writer.lines[-1].removesuffix(" }")]
        for loop in node.loops[-1:]:
            self.open(loop, is_simd=node.way is Way.ACROSS)
        self._add_block(body, has_own=not node.loops)
        for _ in node.loops[-1:]:
            self.close()

    def _write_lanes(self, node: Single) -> None:
        """Sums in any order, of what is computed in parts."""
        summed = node.loops[-1]
        target = self.element(node.statement.target)
        join = f"isamap_join_{JOINS[node.statement.update]}_f32"
        for loop in node.loops[:-1]:
            self.open(loop)
        source = self._beginning(node, summed)
        if source is not None:
            self.add(f"{target} = {join}({target}, &{source}, {summed.extent});")
        else:
            self._begin_parts(summed, 1)
            self._compute_part(node.statement, summed, "part")
            self.add(f"{target} = {join}({target}, part, {self._count(summed)});")
            self._end_parts(summed)
        for _ in node.loops[:-1]:
            self.close()

    def _write_rows(self, node: Single, num_rows: int) -> None:
        """Sums in order, of several rows side by side."""
        statement = node.statement
        rows, summed = node.loops[-2:]
        join = f"isamap_{JOINS[statement.update]}_{num_rows}_rows_f32"
        for loop in node.loops[:-2]:
            self.open(loop)
        is_own = rows.name not in self.bounds
        if is_own:
            self.open_part(rows, num_rows)
        first = {rows.name: Affine.var(self.bounds[rows.name][0])}
        to = f"&{self.element(statement.target, first)}, {self.step(statement.target, rows.name)}"
        source = self._beginning(node, summed, first)
        if source is not None:
            assert isinstance(statement.value, Access), "what lies somewhere is an access"
            pitch = self.step(statement.value, rows.name)
            begin = f"&{source}, {pitch}, {self._count(rows)}, {summed.extent}"
            self.add(f"{join}({to}, {begin});")
        else:
            self._begin_parts(summed, num_rows)
            self.open(rows)
            row = f"{self.names[rows.name]} - {self.bounds[rows.name][0]}"
            self._compute_part(statement, summed, f"part[{row}]")
            self.close()
            width = min(PART, summed.extent)
            begin = f"part[0], {width}, {self._count(rows)}, {self._count(summed)}"
            self.add(f"{join}({to}, {begin});")
            self._end_parts(summed)
        if is_own:
            self.close_part(rows)
        for _ in node.loops[:-2]:
            self.close()

    def _beginning(
        self, node: Single, summed: Loop, first: Mapping[str, Affine] | None = None
    ) -> str | None:
        """The first of the elements that are summed, if they lie side by side."""
        value = node.statement.value
        if not isinstance(value, Access) or value.pad is not None:
            return None
        if self.step(value, summed.name) != 1:
            return None
        return self.element(value, {**(first or {}), summed.name: Affine()})

    def _begin_parts(self, summed: Loop, num_rows: int) -> None:
        width = min(PART, summed.extent)
        self.add("{")
        self.depth += 1
        self.add(f"float part{f'[{num_rows}]' if num_rows > 1 else ''}[{width}];")
        if summed.extent > PART:
            self.open_part(summed, PART)

    def _compute_part(self, statement: Statement, summed: Loop, part: str) -> None:
        """What is summed, in an array of its own."""
        writer = self._writer()
        value = writer.value(statement.value, SUMMED_AS)
        first = self.bounds.get(summed.name, ("", ""))[0]
        at = self.names[summed.name] + (f" - {first}" if first else "")
        self.open(summed, is_simd=True)
        self._add_block([*writer.lines, f"{part}[{at}] = {value};"])
        self.close()

    def _end_parts(self, summed: Loop) -> None:
        if summed.extent > PART:
            self.close_part(summed)
        self.close()

    def _count(self, loop: Loop) -> str:
        """How many iterations of the loop run at once."""
        if loop.name not in self.bounds:
            return str(loop.extent)
        first, end = self.bounds[loop.name]
        return f"{end} - {first}"

    def add(self, line: str) -> None:
        self.lines.append("  " * self.depth + line)

    def open(self, loop: Loop, *, is_simd: bool = False) -> None:
        """A loop over all iterations, or over those that run at once."""
        first, end = self.bounds.get(loop.name, ("0", str(loop.extent)))
        name = self.names[loop.name]
        if is_simd and loop.extent > 1:
            self.add(SIMD)
        self.add(f"for (int64_t {name} = {first}; {name} < {end}; ++{name}) {{")
        self.depth += 1

    def close(self) -> None:
        self.depth -= 1
        self.add("}")

    def open_part(self, loop: Loop, size: int) -> None:
        """A loop over parts of a loop."""
        first, end = (f"{self.names[loop.name]}_{word}" for word in ("first", "end"))
        self.add(f"for (int64_t {first} = 0; {first} < {loop.extent}; {first} += {size}) {{")
        self.depth += 1
        whole = f"{first} + {size}"
        limit = f"isamap_least({whole}, {loop.extent})" if loop.extent % size else whole
        self.add(f"const int64_t {end} = {limit};")
        self.bounds[loop.name] = (first, end)

    def close_part(self, loop: Loop) -> None:
        del self.bounds[loop.name]
        self.close()

    def _add_block(self, lines: list[str], *, has_own: bool = False) -> None:
        """Lines, in brackets where no loop is around them."""
        if has_own:
            self.add("{")
            self.depth += 1
        for line in lines:
            self.add(line)
        if has_own:
            self.close()

    def _writer(self, known: Mapping[Access, str] | None = None) -> StatementWriter:
        """`known`: which reads with padding are inside of their buffers, as far as that is
        certain."""
        inside = partial(self._inside, known or {})
        return StatementWriter(
            self.semantics, self.element, self._index, FAST_FUNCTIONS, "v", inside
        )

    def _inside(self, known: Mapping[Access, str], read: Access) -> str:
        return known.get(read) or is_inside(self.semantics, read, self._index)

    def step(self, access: Access, loop: str) -> int:
        """Elements between neighbours along a loop."""
        return access.step(loop, self.strides[access.buffer])

    def element(self, access: Access, fixed: Mapping[str, Affine] | None = None) -> str:
        """C text of an element; loops in `fixed` have these values."""
        total = Affine()
        for index, stride in zip(access.indices, self.strides[access.buffer], strict=True):
            total = total + index.scaled(stride)
        return f"{self.arrays[access.buffer]}[{self._index(total, fixed)}]"

    def _declaration(self, name: str, place: Place) -> str:
        buffer = self.semantics.buffer(name)
        const = "const " if buffer.role is Role.IN else ""
        kind = f"{const}{storage_type(buffer.dtype)} *"
        return f"{kind}const {self.arrays[name]} = ({kind})({place.pointer});"

    def _index(self, index: Affine, fixed: Mapping[str, Affine] | None = None) -> str:
        renamed = {old: Affine.var(new) for old, new in self.names.items()}
        return affine_text(index.substitute({**renamed, **(fixed or {})}))

    def _is_apart(self, statements: tuple[Statement, ...]) -> bool:
        touched = {name for statement in statements for name in statement.touched}
        places = {name: place for name, place in self.places.items() if name in touched}
        return all(_is_apart(self.semantics, s.target.buffer, places) for s in statements)


def _statements(node: HostNode) -> Iterator[Statement]:
    if isinstance(node, Single):
        yield node.statement
    else:
        for inner in node.body:
            yield from _statements(inner)


def host_functions(lines: list[str]) -> list[str]:
    """What stands before the function: definitions of what the lines of host calls call."""
    found = used_helpers(lines, f"{HELPERS}\n{LIBRARY}\n{JOINS_LIBRARY}")
    macros = ILLEGAL if "ISAMAP_ILLEGAL" in found else ""
    hints = UNVECTORISED.splitlines() if any(SIMD in line for line in (*lines, found)) else []
    return [*hints, *macros.splitlines(), *found.splitlines(), ""]


def _array_names(semantics: Kernel, places: Mapping[str, Place]) -> dict[str, str]:
    """C names of the operands, apart from all that their addresses name: a parameter `y` of the
    function around them must not be hidden where an address begins at it."""
    taken = {word for place in places.values() for word in WORD.findall(place.pointer)}
    found: dict[str, str] = {}
    for buffer in semantics.buffers:
        name = buffer.name
        while name in taken:
            name += "_"
        taken.add(name)
        found[buffer.name] = name
    return found


def _names(semantics: Kernel, arrays: Mapping[str, str]) -> dict[str, str]:
    """C names of the loops, apart from what C knows, operands and the writer's variables."""
    taken = {"part", *arrays.values()}
    found: dict[str, str] = {}
    for loop in dict.fromkeys(loop for s in semantics.statements for loop in s.loops):
        name = declared(loop.name)
        while name in taken or name[:1] == "v" and name[1:].isdigit():
            name += "_"
        taken |= {name, f"{name}_first", f"{name}_end"}
        found[loop.name] = name
    return found


def _strides(semantics: Kernel, place: Place) -> tuple[int, ...]:
    """In elements."""
    dtype = semantics.buffer(place.operand.name).dtype
    size = size_bytes(dtype)
    if any(stride % size for stride in place.operand.strides_bytes):
        raise ProgramError(f"{semantics.name}: elements of {dtype} do not lie on multiples of it")
    return tuple(stride // size for stride in place.operand.strides_bytes)


def _is_apart(semantics: Kernel, target: str, places: Mapping[str, Place]) -> bool:
    """Is it certain that no other operand shares a byte with the target?"""
    own = places[target]
    first, last = whole_reach(own.operand, semantics)
    for name, place in places.items():
        if name == target or place.parameter != own.parameter:
            continue
        here, there = own.operand.address, place.operand.address
        distance = there.offset + here.offset.scaled(-1)
        if distance.terms or here.rotations or there.rotations:
            return False
        low, high = whole_reach(place.operand, semantics)
        if distance.constant + low <= last and first <= distance.constant + high:
            return False
    return True
