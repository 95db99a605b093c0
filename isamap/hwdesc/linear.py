"""Values of binary fields: `(base + S) / 16`, `rows - 1`, `2**31 + C / 64`.

In: text. Out: a sum of named quantities times numbers, plus a number. Such a value can be solved
for any of its quantities, so that what writes a field also reads it. Nothing in the text is ever
executed. Not its job: what the names mean, how wide the field is.
"""

import ast
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from isamap.errors import Loc, SpecError, among

MAX_POWER = 64
HINT = "a value is a sum of names and numbers, multiplied or divided by numbers: (base + S) / 16"


@dataclass(frozen=True, slots=True)
class Linear:
    """constant + sum(factor * name); names are dotted paths like `S`, `S.rows`, `uops.first`."""

    terms: tuple[tuple[str, Fraction], ...] = ()
    constant: Fraction = Fraction(0)
    loc: Loc | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The quantities, sorted."""
        return tuple(name for name, _ in self.terms)

    @property
    def is_constant(self) -> bool:
        """Does no quantity occur?"""
        return not self.terms

    def evaluate(self, values: Mapping[str, int]) -> Fraction:
        """Value with every name bound."""
        return self.constant + sum((f * values[n] for n, f in self.terms), Fraction(0))

    def plus(self, other: "Linear", factor: Fraction = Fraction(1)) -> "Linear":
        """This plus a multiple of another one."""
        total = dict(self.terms)
        for name, coefficient in other.terms:
            total[name] = total.get(name, Fraction(0)) + factor * coefficient
        terms = tuple(sorted((n, f) for n, f in total.items() if f))
        return Linear(terms, self.constant + factor * other.constant, self.loc)

    def scaled(self, factor: Fraction) -> "Linear":
        """This times a number."""
        return replace(Linear().plus(self, factor), loc=self.loc)


def parse_linear(
    text: str, loc: Loc | None, names: Collection[str], parameters: Mapping[str, int]
) -> Linear:
    """Read `text`, whose first character is at `loc`.

    Raises:
        SpecError: a syntax error, an unknown name, or a value that is not a sum of multiples.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # "16if c" is an error here, not a warning to the user
            tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise SpecError(f"cannot read '{text}'", loc=loc, hint=HINT) from None
    return replace(_convert(tree, _Source(text, loc, names, parameters)), loc=loc)


@dataclass(frozen=True, slots=True)
class _Source:
    """What is being read, and what its names may mean."""

    text: str
    loc: Loc | None
    names: Collection[str]
    parameters: Mapping[str, int]

    def error(self, message: str, tree: ast.expr, hint: str = HINT) -> SpecError:
        loc = self.loc and replace(self.loc, column=self.loc.column + tree.col_offset)
        return SpecError(message, loc=loc, hint=hint)


def _convert(tree: ast.expr, source: _Source) -> Linear:
    match tree:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return Linear((), Fraction(value))
        case ast.Name() | ast.Attribute():
            return _quantity(tree, source)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _convert(operand, source).scaled(Fraction(-1))
        case ast.BinOp(op=op, left=left, right=right):
            a, b = _convert(left, source), _convert(right, source)
            return _combine(op, a, b, tree, source)
        case _:
            raise source.error(f"'{ast.unparse(tree)}' is not allowed in a value", tree)


def _quantity(tree: ast.Name | ast.Attribute, source: _Source) -> Linear:
    name = ast.unparse(tree)
    if name in source.parameters:
        return Linear((), Fraction(source.parameters[name]))
    if name not in source.names:
        hint = among(name, (*source.names, *source.parameters))
        raise source.error(f"unknown name '{name}'", tree, hint)
    return Linear(((name, Fraction(1)),))


def _combine(op: ast.operator, a: Linear, b: Linear, tree: ast.expr, source: _Source) -> Linear:
    match op:
        case ast.Add():
            return a.plus(b)
        case ast.Sub():
            return a.plus(b, Fraction(-1))
        case ast.Mult() if a.is_constant:
            return b.scaled(a.constant)
        case ast.Mult() if b.is_constant:
            return a.scaled(b.constant)
        case ast.Div() if b.is_constant and b.constant:
            return a.scaled(1 / b.constant)
        case ast.Pow() if a.is_constant and b.is_constant and _is_exponent(b.constant):
            return Linear((), a.constant ** int(b.constant))
        case _:
            raise source.error(f"'{ast.unparse(tree)}' is not a sum of multiples of names", tree)


def _is_exponent(value: Fraction) -> bool:
    return value.denominator == 1 and 0 <= value <= MAX_POWER
