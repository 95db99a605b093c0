"""What a schedule may cost at most, as written on the command line.

In: texts such as `12 uJ` and `sram=128KiB`. Out: numbers. Not its job: whether a machine has such a
memory, whether the limits can be kept.
"""

import re

from isamap.errors import IsamapError, closest

BYTES = {"": 1, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
PICOJOULES = {"pJ": 1.0, "nJ": 1e3, "uJ": 1e6, "µJ": 1e6, "mJ": 1e9, "J": 1e12}
AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e\d+)?)\s*(?P<unit>[A-Za-zµ]*)")


def read_energy(option: str, text: str) -> float:
    """`12 uJ` in picojoules."""
    return _read(option, text, PICOJOULES, "12 uJ")


def read_bytes(option: str, text: str) -> int:
    """`128KiB` in bytes."""
    return int(_read(option, text, BYTES, "128KiB"))


def read_rooms(option: str, texts: tuple[str, ...]) -> dict[str, int]:
    """`sram=128KiB` -> {"sram": 131072}."""
    rooms = {}
    for text in texts:
        name, is_given, size = text.partition("=")
        if not name or not is_given:
            raise IsamapError(
                f"{option} {text!r} is not MEMORY=SIZE", hint=f"for example {option} sram=128KiB"
            )
        rooms[name] = read_bytes(option, size)
    return rooms


def _read(option: str, text: str, units: dict[str, float] | dict[str, int], example: str) -> float:
    found = AMOUNT.fullmatch(text.strip())
    known = ", ".join(filter(None, units))
    if found is None:
        raise IsamapError(
            f"{option} {text!r} is not a number with a unit",
            hint=f"for example {option} '{example}'",
        )
    unit = found["unit"]
    if unit not in units:
        near = closest(unit, units)
        raise IsamapError(
            f"{option} {text!r}: unknown unit {unit!r}",
            hint="; ".join(filter(None, (near, f"units are {known}"))),
        )
    return float(found["number"]) * units[unit]
