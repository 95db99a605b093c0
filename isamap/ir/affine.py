"""Integer-affine expressions over loop names.

In: names and integers. Out: a canonical frozen value (terms sorted by name, no zero coefficient).
Not its job: loops' extents, bounds, evaluation over arrays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Affine:
    """`constant + sum(coefficient * name)`; build with `Affine.of`, `var`, `+`, `scaled`."""

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    @staticmethod
    def of(terms: Iterable[tuple[str, int]], constant: int = 0) -> "Affine":
        """Sum of `coefficient * name` pairs (names may repeat) plus a constant."""
        total: dict[str, int] = {}
        for name, coefficient in terms:
            total[name] = total.get(name, 0) + coefficient
        return Affine(tuple(sorted((n, c) for n, c in total.items() if c)), constant)

    @staticmethod
    def var(name: str) -> "Affine":
        """The expression that is just `name`."""
        return Affine(((name, 1),))

    @property
    def names(self) -> tuple[str, ...]:
        """Names with a non-zero coefficient, sorted."""
        return tuple([name for name, _ in self.terms])  # asked for millions of times

    def coefficient(self, name: str) -> int:
        """Coefficient of `name`, 0 when absent."""
        for known, coefficient in self.terms:  # asked for millions of times
            if known == name:
                return coefficient
        return 0

    def __add__(self, other: "Affine | int") -> "Affine":
        if isinstance(other, int):
            return Affine(self.terms, self.constant + other)
        if not (self.terms and other.terms):
            return Affine(self.terms or other.terms, self.constant + other.constant)
        return Affine.of(self.terms + other.terms, self.constant + other.constant)

    def scaled(self, factor: int) -> "Affine":
        """The expression times an integer."""
        terms = tuple([(n, c * factor) for n, c in self.terms]) if factor else ()
        return Affine(terms, self.constant * factor)

    def substitute(self, values: Mapping[str, "Affine"]) -> "Affine":
        """Replace names by expressions; names not in `values` stay."""
        if not any(name in values for name, _ in self.terms):  # asked for hundreds of thousands
            return self  # of times
        constant = self.constant
        terms: list[tuple[str, int]] = []
        for name, coefficient in self.terms:
            value = values.get(name)
            if value is None:
                terms.append((name, coefficient))
            else:
                constant += coefficient * value.constant
                terms += [(inner, coefficient * factor) for inner, factor in value.terms]
        return Affine.of(terms, constant)

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Value with every name bound."""
        return self.constant + sum(c * values[n] for n, c in self.terms)

    def interval(self, ranges: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Smallest and largest value where each name runs from the first to the second number."""
        low = high = self.constant
        for name, coefficient in self.terms:
            first, last = ranges[name]
            first, last = coefficient * first, coefficient * last
            low, high = low + min(first, last), high + max(first, last)
        return low, high

    def __str__(self) -> str:
        parts = [n if c == 1 else f"{c}*{n}" for n, c in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")
