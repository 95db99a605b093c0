"""Names while a kernel is read, and the integer arithmetic of sizes, extents and indices.

In: syntax nodes. Out: `Affine` values over loops, plain integers where loops may not appear.
Not its job: element values (`parse_expr`), statements (`parse_body`).
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from isamap.errors import KernelError, closest

from .affine import Affine
from .kernel import Buffer
from .ops import RESERVED
from .source import SourceText

NO_GATHERS = (
    "indices do not depend on data: gather the rows before, or multiply by a one-hot matrix"
)
RECTANGULAR = (
    "loops are rectangular: use sizes and integers only, and zeros in an array of factors where"
    " nothing is to happen"
)
INTEGER_CALLS: dict[str, Callable[[int, int], int]] = {
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}


@dataclass(slots=True)
class Scope:
    """What names mean at one place of the text; loops come and go, the rest stays.

    `used_loops` holds every loop name given out, `written` every name in the text: new names avoid
    both.
    """

    source: SourceText
    integers: dict[str, Affine]  # sizes and local names
    immediates: tuple[str, ...]
    written: frozenset[str]
    buffers: dict[str, Buffer] = field(default_factory=dict)
    loops: dict[str, Affine] = field(default_factory=dict)  # name in the text -> its variable
    used_loops: set[str] = field(default_factory=set)

    def kind_of(self, name: str) -> str:
        """What `name` is now, or an empty string when it is free."""
        tables = (
            ("buffer", self.buffers),
            ("loop", self.loops),
            ("size", self.integers),
            ("immediate", self.immediates),
            ("reserved name", RESERVED),
        )
        return next((kind for kind, table in tables if name in table), "")

    def check_free(self, name: str, node: ast.AST) -> None:
        """KernelError when `name` already means something."""
        if kind := self.kind_of(name):
            is_buffer = kind == "buffer"
            hint = f"choose another name{f', or set elements: {name}[..] = ..' * is_buffer}"
            raise self.source.error(f"{name!r} is already a {kind}", node, hint=hint)

    def open_loop(self, name: str) -> str:
        """Bind the loop called `name` in the text; returns its name in the kernel.

        A kernel's loop name stands for one loop only. When the text uses it again for a later
        loop, that one becomes `<name>_2`, `<name>_3`, .. (the first that appears nowhere).
        """
        fresh, count = name, 1
        while fresh in self.used_loops or (count > 1 and fresh in self.written):
            count += 1
            fresh = f"{name}_{count}"
        self.used_loops.add(fresh)
        self.loops[name] = Affine.var(fresh)
        return fresh

    def unknown(self, name: str, node: ast.AST) -> KernelError:
        """The error for a name that means nothing here."""
        known = [*self.buffers, *self.loops, *self.integers, *self.immediates]
        hint = closest(name, known)
        return self.source.error(f"unknown name {name!r}", node, hint=hint or known_names(known))


def known_names(names: list[str]) -> str:
    """A hint that lists what could have been meant."""
    return f"names here are {', '.join(names)}" if names else "no names are defined here"


def read_integer(node: ast.expr, scope: Scope, what: str) -> int:
    """Value of an integer expression over sizes; `what` names it in messages ("an extent")."""
    value = read_affine(node, scope, what)
    if value.terms:
        raise scope.source.error(
            f"{what} must be an integer known in advance, but {ast.unparse(node)} depends on loop "
            f"{value.terms[0][0]!r}",
            node,
            hint=RECTANGULAR,
        )
    return value.constant


def read_affine(node: ast.expr, scope: Scope, what: str) -> Affine:
    """Value of an expression affine in loops; KernelError for anything else."""
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return Affine((), value)
        case ast.Name(id=name):
            return read_name(name, node, scope, what)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return read_affine(operand, scope, what).scaled(-1)
        case ast.BinOp(left=left, right=right):
            pair = read_affine(left, scope, what), read_affine(right, scope, what)
            return combine(*pair, node, scope, what)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in INTEGER_CALLS:
            values = [read_integer(arg, scope, f"an argument of {name}") for arg in args]
            if len(values) < 2 or (name == "ceildiv" and len(values) != 2):
                raise scope.source.error(f"{name} takes two integers, not {len(values)}", node)
            return Affine((), fold(name, values, node, scope))
        case ast.Subscript():
            raise scope.source.error(
                f"{what} must be integer arithmetic, not the element {ast.unparse(node)}",
                node,
                hint=NO_GATHERS,
            )
        case _:
            raise scope.source.error(
                f"{what} must be integer arithmetic, not {ast.unparse(node)}",
                node,
                hint="write loops and sizes with +, -, * and, on sizes, //, %, ceildiv, min, max",
            )


def read_name(name: str, node: ast.expr, scope: Scope, what: str) -> Affine:
    """Value of a loop or size name."""
    if name in scope.loops:
        return scope.loops[name]
    if name in scope.integers:
        value = scope.integers[name]
        live = {loop for variable in scope.loops.values() for loop in variable.names}
        if dead := [loop for loop in value.names if loop not in live]:
            raise scope.source.error(
                f"{name!r} depends on loop {dead[0]!r}, which has ended", node,
                hint="define it inside the loop where it is used",
            )  # fmt: skip
        return value
    if kind := scope.kind_of(name):
        raise scope.source.error(
            f"{what} must be integer arithmetic, but {name!r} is a {kind}", node,
            hint=NO_GATHERS if kind == "buffer" else "",
        )  # fmt: skip
    raise scope.unknown(name, node)


def fold(name: str, values: list[int], node: ast.expr, scope: Scope) -> int:
    """Apply `ceildiv`, `min` or `max` to integers."""
    if name == "ceildiv" and values[1] == 0:
        raise scope.source.error("division by zero", node)
    result = values[0]
    for value in values[1:]:
        result = INTEGER_CALLS[name](result, value)
    return result


def combine(left: Affine, right: Affine, node: ast.BinOp, scope: Scope, what: str) -> Affine:
    """Join two affine values; products and divisions need a constant side."""
    match op := node.op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left + right.scaled(-1)
        case ast.Mult() if not left.terms:
            return right.scaled(left.constant)
        case ast.Mult() if not right.terms:
            return left.scaled(right.constant)
        case ast.FloorDiv() | ast.Mod() if not left.terms and not right.terms:
            if right.constant == 0:
                raise scope.source.error("division by zero", node)
            is_division = isinstance(op, ast.FloorDiv)
            divide = int.__floordiv__ if is_division else int.__mod__
            return Affine((), divide(left.constant, right.constant))
        case ast.Div() if not left.terms and not right.terms:
            raise scope.source.error(
                f"{what} is no whole number: {ast.unparse(node)}",
                node,
                hint=f"write {ast.unparse(node.left)} // {ast.unparse(node.right)}",
            )
        case _:
            raise scope.source.error(
                f"{what} is not affine in the loops: {ast.unparse(node)}",
                node,
                hint="an index is a sum of integer multiples of loops, plus an integer",
            )
