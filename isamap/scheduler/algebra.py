"""Products, choices and logic over CP-SAT variables.

In: variables, constants, literals. Out: variables tied to them. Not its job: what they mean.
"""

from collections.abc import Iterable
from math import prod
from typing import cast

from ortools.sat.python import cp_model

Bool = cp_model.IntVar
Number = cp_model.IntVar | int
Linear = cp_model.LinearExpr | int
LIMIT = 2**60  # variables beyond it are refused; no cycle count comes near
SCALE = 16  # sixteenths of a cycle: the finest share of a copy per window position


class Algebra:
    """A model under construction and the few relations that the tiling model is made of."""

    def __init__(self) -> None:
        self.model = cp_model.CpModel()

    def product(self, factors: list[Number], name: str) -> Number:
        """Product of variables and constants, two at a time (propagates best)."""
        constant = prod(f for f in factors if isinstance(f, int))
        variables = sorted((f for f in factors if not isinstance(f, int)), key=lambda v: v.name)
        if not variables:
            return constant
        result = variables[0]
        for number, factor in enumerate(variables[1:]):
            least = low(result) * low(factor)
            most = min(high(result) * high(factor), LIMIT)
            product = self.model.new_int_var(least, most, f"{name}_{number}")
            self.model.add_multiplication_equality(product, [result, factor])
            result = product
        if constant == 1:
            return result
        scaled = self.model.new_int_var(constant * low(result), constant * high(result), name)
        self.model.add(scaled == constant * result)
        return scaled

    def look_up(self, table: list[int], place: Number, name: str) -> Number:
        """The table's value at a place."""
        if isinstance(place, int):
            return table[place]
        value = self.model.new_int_var(min(table), max(table), name)
        self.model.add_element(place, table, value)
        return value

    def either(
        self, normal: Number, special: Number, is_special: Bool, name: str
    ) -> cp_model.IntVar:
        """A variable equal to `special` if `is_special` else to `normal`."""
        top = max(high(normal), high(special))
        chosen = self.model.new_int_var(min(low(normal), low(special)), top, name)
        self.model.add(chosen == special).only_enforce_if(is_special)
        self.model.add(chosen == normal).only_enforce_if(~is_special)
        return chosen

    def any_of(self, literals: list[Bool], name: str) -> Bool:
        """True exactly when one of the literals is."""
        result = self.model.new_bool_var(name)
        self.model.add_max_equality(result, literals) if literals else self.model.add(result == 0)
        return result

    def both(self, one: Bool, other: Bool, name: str) -> Bool:
        """True exactly when both literals are."""
        result = self.model.new_bool_var(name)
        self.model.add_bool_and(one, other).only_enforce_if(result)
        self.model.add_bool_or(~one, ~other).only_enforce_if(~result)
        return result


def negated(literal: Bool) -> Bool:
    """The literal that is true when `literal` is false (OR-Tools types it more loosely)."""
    return cast(Bool, ~literal)


def add_up(terms: Iterable[Linear]) -> Linear:
    """Sum of linear expressions; 0 when there is none."""
    total: Linear = 0
    for term in terms:
        total = total + term
    return total


def low(value: Number) -> int:
    """Least value of a variable or constant."""
    return value if isinstance(value, int) else value.domain.min()


def high(value: Number) -> int:
    """Greatest value of a variable or constant."""
    return value if isinstance(value, int) else value.domain.max()
