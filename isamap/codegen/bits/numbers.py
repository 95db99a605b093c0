"""Evaluate and solve the values of fields.

In: linear values and numbers. Out: integers. Not its job: which field holds what.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm

from isamap.errors import ProgramError
from isamap.hwdesc import Linear


@dataclass(frozen=True, slots=True)
class IntegerForm:
    """(constant + sum(factor * name)) / divisor in integers: the fast form of a `Linear`."""

    terms: tuple[tuple[str, int], ...]
    constant: int
    divisor: int


def integer_form(value: Linear) -> IntegerForm:
    """The same value over one common divisor."""
    divisor = lcm(value.constant.denominator, *(f.denominator for _, f in value.terms))
    terms = tuple((name, int(factor * divisor)) for name, factor in value.terms)
    return IntegerForm(terms, int(value.constant * divisor), divisor)


def evaluate_form(form: IntegerForm, values: Mapping[str, int]) -> tuple[int, int]:
    """Quotient and remainder."""
    total = form.constant
    for name, factor in form.terms:
        total += factor * values[name]
    return divmod(total, form.divisor)


def evaluate(value: Linear, values: Mapping[str, int], who: str) -> int:
    """The value as an integer.

    Raises:
        ProgramError: it is none.
    """
    quotient, rest = evaluate_form(integer_form(value), values)
    if rest:
        raise not_whole(value, values, who)
    return quotient


def not_whole(value: Linear, values: Mapping[str, int], who: str) -> ProgramError:
    """The error of a value between two integers."""
    named = ", ".join(f"{name} = {values[name]}" for name in value.names)
    return ProgramError(
        f"{who}: {value.evaluate(values)} is no whole number (with {named})",
        loc=value.loc,
        hint="the operand lies at a multiple of what the field counts in, or is it the base?",
    )


def solve(
    equations: Iterable[tuple[Linear, int]], known: Mapping[str, int], unknown: Iterable[str]
) -> dict[str, int] | None:
    """Values of unknown names such that each equation with only known names holds.

    Returns:
        What could be found, with what was known; None when an equation cannot hold.
    """
    values = dict(known)
    left = set(unknown)
    waiting = list(equations)
    while True:
        later = []
        for value, number in waiting:
            open_names = [name for name in value.names if name in left]
            if len(open_names) > 1 or any(n not in values for n in value.names if n not in left):
                later.append((value, number))
                continue
            rest = number - value.constant
            rest -= sum(f * values[n] for n, f in value.terms if n not in left)
            if not open_names:
                if rest != 0:
                    return None
                continue
            found = rest / dict(value.terms)[open_names[0]]
            if found.denominator != 1:
                return None
            values[open_names[0]] = int(found)
            left.discard(open_names[0])
        if len(later) == len(waiting):
            return values
        waiting = later
