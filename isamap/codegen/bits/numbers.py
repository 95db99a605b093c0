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


def matters(
    value: Linear | IntegerForm, values: Mapping[str, int], counts: Mapping[str, tuple[str, ...]]
) -> bool:
    """Does a value depend on more than strides that are never stepped along?

    `counts`: per stride the loops or the repeat that step along it.
    """
    idle = [n for n, _ in value.terms if n in counts and all(values[c] == 1 for c in counts[n])]
    return not value.terms or len(idle) < len(value.terms)


def solve(
    equations: Iterable[tuple[IntegerForm, int]], known: Mapping[str, int], unknown: Iterable[str]
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
        for form, number in waiting:
            open_terms = [term for term in form.terms if term[0] not in values]
            if len(open_terms) > 1 or (open_terms and open_terms[0][0] not in left):
                later.append((form, number))
                continue
            rest = number * form.divisor - form.constant
            for name, factor in form.terms:
                if name in values:
                    rest -= factor * values[name]
            if open_terms:
                name, factor = open_terms[0]
                values[name], rest = divmod(rest, factor)
            if rest != 0:
                return None
        if len(later) == len(waiting):
            return values
        waiting = later
