"""Cost expressions of hardware files: `40 + r * ceil(c / 16)`.

In: text. Out: a frozen value that evaluates exactly and prints as C. Nothing in the text is ever
executed: Python's `ast` reads it and a whitelist decides.
Not its job: units (`units`), which names are allowed where.
"""

import ast
import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from isamap.errors import Loc, SpecError, among, closest

from .expression_c import node_to_c
from .expression_text import node_text
from .expression_tree import (
    Constant,
    Name,
    Node,
    Operation,
    evaluate_node,
    exact,
    is_positive,
    node_names,
    operation,
    plain_factors,
)

BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
COMPARE = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
ARGUMENT_COUNTS = {  # least and most
    "ceil": (1, 1),
    "floor": (1, 1),
    "ceildiv": (2, 2),
    "ceillog2": (1, 1),
    "min": (2, 16),
    "max": (2, 16),
}
ALLOWED = "numbers, names, + - * / // %, a if c else b, and " + ", ".join(ARGUMENT_COUNTS)
MAX_NUMBER = 2**62
MAX_LENGTH = 1000  # keeps Python's parser and our recursion far from their limits


@dataclass(frozen=True, slots=True)
class Expression:
    """An exact rational function of integer names (each >= 1), compared by its normalised text."""

    text: str
    node: Node = field(compare=False, repr=False)
    loc: Loc | None = field(default=None, compare=False, repr=False)
    # the free names, sorted, and values that were asked for: the same few, a hundred thousand times
    names: tuple[str, ...] = field(init=False, compare=False, repr=False)
    _values: dict[tuple[int, ...], int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(sorted(node_names(self.node))))
        object.__setattr__(self, "_values", {})

    @staticmethod
    def parse(
        text: str,
        loc: Loc | None = None,
        names: Collection[str] | None = None,
        parameters: Mapping[str, int] | None = None,
    ) -> "Expression":
        """Read `text`, whose first character is at `loc`.

        Args:
            names: the names that may stay free; None allows every name.
            parameters: names that are replaced by their values.

        Raises:
            SpecError: a syntax error, anything outside the whitelist, an unknown name, or a divisor
                that may be zero or negative.
        """
        return _of(_read(_Source(text, loc, names, parameters or {})), loc)

    @staticmethod
    def constant(value: int | Fraction) -> "Expression":
        """The expression that is just `value`."""
        return _of(Constant(value))

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Value with every name bound, rounded up to an integer."""
        key = tuple([values[name] for name in self.names])
        if key not in self._values:
            self._values[key] = math.ceil(evaluate_node(self.node, values))
        return self._values[key]

    def evaluate_exact(self, values: Mapping[str, int]) -> Fraction:
        """Value with every name bound, not rounded (energies)."""
        return Fraction(evaluate_node(self.node, values))

    def factors(self) -> frozenset[str]:
        """Names of which it is a whole multiple, and the same one whatever they are."""
        return plain_factors(self.node)

    def substitute(self, values: Mapping[str, int]) -> "Expression":
        """Replace names by integers; names not in `values` stay.

        Raises:
            SpecError: a divisor becomes zero or negative.
        """
        return Expression.parse(self.text, None, None, values)

    def scaled(self, factor: int | Fraction) -> "Expression":
        """The expression times a positive constant (a unit's factor)."""
        assert factor > 0, factor
        if factor == 1:
            return self
        return _of(operation("*", self.node, Constant(exact(factor))), self.loc)

    def to_c(self, names: Mapping[str, str] | None = None) -> str:
        """A C expression over int64_t variables, equal to `evaluate`; `names` renames variables."""
        return node_to_c(self.node, names or {})

    def __str__(self) -> str:
        return self.text


def _of(node: Node, loc: Loc | None = None) -> Expression:
    return Expression(node_text(node), node, loc)


@dataclass(frozen=True, slots=True)
class _Source:
    """What is being read, and what its names may mean."""

    text: str
    loc: Loc | None
    names: Collection[str] | None
    parameters: Mapping[str, int]

    def error(self, message: str, column_offset: int, hint: str = "") -> SpecError:
        """An error `column_offset` characters after the start of the text."""
        loc = self.loc and replace(self.loc, column=self.loc.column + column_offset)
        return SpecError(message, loc=loc, hint=hint or f"allowed are {ALLOWED}")

    def written(self, tree: ast.expr) -> str:
        """How `tree` is written."""
        text = self.text.lstrip().encode()  # columns count bytes
        return text[tree.col_offset : tree.end_col_offset].decode()

    def column(self, tree: ast.expr) -> int:
        """Characters before `tree`."""
        return len(self.text) - len(self.text.lstrip()) + tree.col_offset


def _read(source: _Source) -> Node:
    if len(source.text) > MAX_LENGTH:
        raise source.error(f"expression is longer than {MAX_LENGTH} characters", 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "16if c" is an error here, not a warning to the user
            tree = ast.parse(source.text.lstrip().replace("\n", " "), mode="eval").body
    except SyntaxError as error:
        raise source.error(f"cannot read '{source.text}': {error.msg}", 0) from None
    except (ValueError, RecursionError, MemoryError):
        raise source.error(f"cannot read '{source.text}'", 0) from None
    return _convert(tree, source)


def _convert(tree: ast.expr, source: _Source) -> Node:
    match tree:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            if value > MAX_NUMBER:  # never negative: a sign is an operation
                message = f"the number {source.written(tree)} is too large"
                raise source.error(message, source.column(tree), f"numbers go up to {MAX_NUMBER}")
            return Constant(exact(Fraction(str(value))))
        case ast.Name(id=name):
            return _convert_name(name, tree, source)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return operation("neg", _convert(operand, source))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in BINARY:
            a, b = _convert(left, source), _convert(right, source)
            if BINARY[type(op)] in ("/", "//", "%"):
                _check_divisor(b, right, source)
            return operation(BINARY[type(op)], a, b)
        case ast.IfExp(
            test=ast.Compare(left=left, ops=[op], comparators=[right]), body=body, orelse=orelse
        ) if type(op) in COMPARE:
            sides = (_convert(left, source), _convert(right, source))
            condition = Operation(COMPARE[type(op)], sides)
            return operation("if", condition, _convert(body, source), _convert(orelse, source))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _convert_call(name, args, tree, source)
        case _:
            shown = ast.unparse(tree)
            raise source.error(f"'{shown}' is not allowed in an expression", source.column(tree))


def _convert_name(name: str, tree: ast.expr, source: _Source) -> Node:
    if name in source.parameters:
        return Constant(source.parameters[name])
    if source.names is not None and name not in source.names:
        hint = among(name, (*source.names, *source.parameters))
        raise source.error(f"unknown name '{name}'", source.column(tree), hint)
    return Name(name)


def _convert_call(name: str, args: list[ast.expr], tree: ast.expr, source: _Source) -> Node:
    if name not in ARGUMENT_COUNTS:
        hint = closest(name, ARGUMENT_COUNTS) or f"functions: {', '.join(ARGUMENT_COUNTS)}"
        raise source.error(f"unknown function '{name}'", source.column(tree), hint)
    least, most = ARGUMENT_COUNTS[name]
    if not least <= len(args) <= most:
        expected = str(least) if least == most else f"{least} to {most}"
        message = f"'{name}' takes {expected} arguments, found {len(args)}"
        raise source.error(message, source.column(tree))
    arguments = tuple(_convert(arg, source) for arg in args)
    if name != "ceildiv":
        return operation(name, *arguments)
    _check_divisor(arguments[1], args[1], source)
    return operation("ceil", operation("/", *arguments))


def _check_divisor(divisor: Node, tree: ast.expr, source: _Source) -> None:
    if not is_positive(divisor):
        message = f"divisor '{ast.unparse(tree)}' may be zero or negative"
        hint = "names are at least 1; write max(..., 1) around a difference"
        raise source.error(message, source.column(tree), hint)
