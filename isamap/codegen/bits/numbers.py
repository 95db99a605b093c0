"""Evaluate and solve the values of fields.

In: linear values and numbers. Out: integers. Not its job: which field holds what.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import lcm

import numpy as np

from isamap.errors import ProgramError
from isamap.hwdesc import Linear

from .call import Column


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


def evaluate_all(
    value: Linear, values: Mapping[str, Column], who: str, needed: np.ndarray | bool = True
) -> Column:
    """The value of every call, an integer wherever it is `needed`.

    Raises:
        ProgramError: it is none.
    """
    form = integer_form(value)
    total: Column = form.constant
    for name, factor in form.terms:
        total = total + factor * values[name]
    quotient: Column = total // form.divisor
    wrong = (total % form.divisor != 0) & needed
    if np.any(wrong):
        row = int(np.argmax(np.atleast_1d(wrong)))
        raise not_whole(value, {n: number_at(values[n], row) for n in value.names}, who)
    return quotient


def number_at(value: Column, row: int) -> int:
    """The number of one call."""
    return value if isinstance(value, int) else int(value[row])


def not_whole(value: Linear, values: Mapping[str, int], who: str) -> ProgramError:
    """The error of a value between two integers."""
    named = ", ".join(f"{name} = {values[name]}" for name in value.names)
    return ProgramError(
        f"{who}: {value.evaluate(values)} is no whole number (with {named})",
        loc=value.loc,
        hint="the operand lies at a multiple of what the field counts in, or is it the base?",
    )


def idle_terms(
    value: Linear, values: Mapping[str, Column], counts: Mapping[str, tuple[str, ...]]
) -> np.ndarray | bool:
    """In which calls a value depends on nothing but strides that are never stepped along.

    `counts`: per stride the loops or the repeat that step along it.
    """
    if not value.terms or any(name not in counts for name in value.names):
        return False
    idle: np.ndarray | bool = True
    for name in value.names:
        for count in counts[name]:
            idle = idle & np.equal(values[count], 1)
    return idle


def solve(
    equations: Iterable[tuple[IntegerForm, Column]],
    known: Mapping[str, Column],
    unknown: Collection[str] | None,
) -> tuple[dict[str, Column], np.ndarray | bool]:
    """Values of unknown names (None: any) such that each equation with only known names holds.

    Returns:
        What could be found, with what was known; and in which rows all equations hold.
    """
    values = dict(known)
    holds: np.ndarray | bool = True
    waiting = list(equations)
    while True:
        later = []
        for form, number in waiting:
            open_terms = [term for term in form.terms if term[0] not in values]
            is_open = unknown is None or all(name in unknown for name, _ in open_terms)
            if len(open_terms) > 1 or not is_open:
                later.append((form, number))
                continue
            rest = number * form.divisor - form.constant
            for name, factor in form.terms:
                if name in values:
                    rest = rest - factor * values[name]
            if open_terms:
                name, factor = open_terms[0]
                values[name], rest = rest // factor, rest % factor
            holds = holds & np.equal(rest, 0)
        if len(later) == len(waiting):
            return values, holds
        waiting = later
