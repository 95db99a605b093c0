"""Quantities with units: `16 KiB`, `16 bytes/cycle`, `1 GHz`, `8 + r cycles`, `1.5 pJ`.

In: text that is an expression followed by a unit. Out: expressions in the base unit of their kind.
Not its job: which entry of a file holds which kind.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction

from isamap.errors import Loc, SpecError, closest

from .expression import Expression

BYTES = {
    "byte": 1,
    "bytes": 1,
    "B": 1,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
PICOJOULES = {"pJ": Fraction(1), "fJ": Fraction(1, 1000), "nJ": Fraction(1000)}
QUANTITY = re.compile(r"(?P<number>.*[\s\d)])(?P<unit>[A-Za-zµ%]+(?:/[A-Za-z]+)?)\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of quantity: its name, its units with their factors to the base unit, an example."""

    name: str
    units: Mapping[str, int | Fraction]
    example: str


class Quantity(Enum):
    """The kinds of quantities, each with its base unit."""

    SIZE = Kind("a size", BYTES, "16 KiB")  # bytes
    BANDWIDTH = Kind(  # bytes per cycle
        "a bandwidth", {f"{unit}/cycle": factor for unit, factor in BYTES.items()}, "16 bytes/cycle"
    )
    CLOCK = Kind("a clock", {"Hz": 1, "kHz": 10**3, "MHz": 10**6, "GHz": 10**9}, "1 GHz")  # hertz
    TIME = Kind("a time", {"cycle": 1, "cycles": 1}, "16 cycles")  # cycles
    ENERGY = Kind("an energy", PICOJOULES, "1.5 pJ")  # picojoules
    ENERGY_PER_BYTE = Kind(  # picojoules per byte
        "an energy per byte",
        {f"{unit}/byte": factor for unit, factor in PICOJOULES.items()},
        "2 pJ/byte",
    )


def parse_quantity(
    text: str,
    quantity: Quantity,
    loc: Loc | None = None,
    names: Collection[str] | None = (),
    parameters: Mapping[str, int] | None = None,
) -> Expression:
    """Read `text`, which begins at `loc`, as an expression in the base unit of `quantity`.

    `names` may stay free (None: any), `parameters` are replaced.

    Raises:
        SpecError: no unit, a unit of another kind, or a bad expression; the hint names the units.
    """
    kind = quantity.value
    found = QUANTITY.fullmatch(text)
    units = f"units: {', '.join(kind.units)}"
    if not found:
        hint = f"write for example '{kind.example}'; {units}"
        raise SpecError(f"'{text}' has no unit, expected {kind.name}", loc=loc, hint=hint)
    unit = found["unit"]
    if unit not in kind.units:
        where = loc and replace(loc, column=loc.column + found.start("unit"))
        near = next((u for u in kind.units if u.lower() == unit.lower()), unit)
        hint = " ".join(filter(None, (closest(near, kind.units), units)))
        raise SpecError(f"'{unit}' is not a unit of {kind.name}", loc=where, hint=hint)
    expression = Expression.parse(found["number"].rstrip(), loc, names, parameters)
    return expression.scaled(kind.units[unit])


def parse_amount(
    text: str, quantity: Quantity, loc: Loc | None, parameters: Mapping[str, int]
) -> Fraction:
    """Read a quantity that is a plain number of the base unit once `parameters` are known."""
    return parse_quantity(text, quantity, loc, (), parameters).evaluate_exact({})
