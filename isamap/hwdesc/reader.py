"""Reads the leaves of a hardware file: numbers, quantities, cycle expressions.

In: a document, its parameters, and the text of a leaf with its path. Out: numbers and expressions.
A mistake is recorded and a harmless stand-in returned, so that one run finds all of them.
Not its job: which leaf is what (`build_parts`, `build_instruction`).
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from isamap.errors import SpecError, closest
from isamap.ir import nearest_float

from .document import Document, Path
from .expression import Expression
from .problems import Problems
from .units import Quantity, parse_amount, parse_quantity


@dataclass(frozen=True, slots=True)
class Reader:
    """Where leaves come from and where mistakes go."""

    document: Document
    problems: Problems
    parameters: Mapping[str, int]

    def error(self, message: str, path: Path, hint: str = "", at_key: bool = False) -> None:
        """Record a mistake in the value at `path`, or in its key."""
        loc = self.document.key_loc(path) if at_key else self.document.loc(path)
        self.problems.add(SpecError(message, loc=loc, hint=hint))

    def amount(self, text: str, quantity: Quantity, path: Path) -> Fraction:
        """A quantity above 0 in its base unit."""
        with self.problems.caught():
            value = parse_amount(text, quantity, self.document.loc(path), self.parameters)
            if value > 0:
                return value
            self.error(f"'{text}' must be more than 0", path)
        return Fraction(1)

    def energy(self, text: str | None, path: Path) -> float:
        """Picojoules per byte, 0 when not given."""
        if text is None:
            return 0.0
        return float(self.amount(text, Quantity.ENERGY_PER_BYTE, path))

    def size(self, text: str, path: Path, least: int = 1) -> int:
        """A whole number of bytes."""
        with self.problems.caught():
            value = parse_amount(text, Quantity.SIZE, self.document.loc(path), self.parameters)
            if value.denominator == 1 and value >= least:
                return int(value)
            self.error(f"'{text}' must be a whole number of bytes, at least {least}", path)
        return max(least, 1)

    def integer(self, text: str, path: Path, least: int | None = None) -> int:
        """A whole number, or an expression over parameters that gives one."""
        with self.problems.caught():
            loc = self.document.loc(path)
            value = Expression.parse(text, loc, (), self.parameters).evaluate_exact({})
            if value.denominator == 1 and (least is None or value >= least):
                return int(value)
            bound = "" if least is None else f", at least {least}"
            self.error(f"'{text}' must be a whole number{bound}", path)
        return 1 if least is None else least

    def real(self, text: str, dtype: str, path: Path) -> float:
        """A value of a float type (rounded to it), or an expression over parameters that gives
        one."""
        with self.problems.caught():
            try:
                value = float(text)  # expressions hold no 1e30
            except ValueError:
                loc = self.document.loc(path)
                exact = Expression.parse(text, loc, (), self.parameters).evaluate_exact({})
                value = float(exact)
            rounded = nearest_float(value, dtype)
            if math.isfinite(rounded):
                return rounded
            self.error(f"'{text}' must be a finite number of type {dtype}", path)
        return 0.0

    def expression(
        self, text: str, quantity: Quantity, path: Path, names: Collection[str] | None
    ) -> Expression:
        """A quantity that may depend on `names` (None: on any): cycles, picojoules."""
        with self.problems.caught():
            loc = self.document.loc(path)
            return parse_quantity(text, quantity, loc, names, self.parameters)
        return Expression.constant(0)

    def known(self, what: str, name: str, candidates: Iterable[str], path: Path) -> bool:
        """Is `name` one of `candidates`? If not, records "unknown <what>"."""
        names = list(candidates)
        if name in names:
            return True
        hint = closest(name, names) or f"there are: {', '.join(names) or 'none'}"
        self.error(f"unknown {what} '{name}'", path, hint)
        return False


def read_parameters(
    texts: Mapping[str, str], document: Document, problems: Problems
) -> dict[str, int]:
    """The `parameters` entry; each value may use those above it."""
    values: dict[str, int] = {}
    for name, text in texts.items():
        reader = Reader(document, problems, values)
        path = ("parameters", name)
        if not name.isidentifier():
            reader.error(f"parameter '{name}' is not a name", path, "use letters, digits, _", True)
        values[name] = reader.integer(text, path)
    return values
