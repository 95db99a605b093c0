"""Quantities: every kind has units, and nothing goes without."""

from fractions import Fraction

import pytest

from isamap.errors import Loc, SpecError
from isamap.hwdesc import show_bytes
from isamap.hwdesc.units import Quantity, parse_amount, parse_quantity

GOOD = (
    ("16 KiB", Quantity.SIZE, Fraction(16384)),
    ("16KiB", Quantity.SIZE, Fraction(16384)),
    ("1 byte", Quantity.SIZE, Fraction(1)),
    ("256 B", Quantity.SIZE, Fraction(256)),
    ("2 * dim bytes", Quantity.SIZE, Fraction(32)),
    ("(dim + 1) bytes", Quantity.SIZE, Fraction(17)),
    ("0.5 MiB", Quantity.SIZE, Fraction(2**19)),
    ("16 bytes/cycle", Quantity.BANDWIDTH, Fraction(16)),
    ("dim / 3 bytes/cycle", Quantity.BANDWIDTH, Fraction(16, 3)),
    ("1 KiB/cycle", Quantity.BANDWIDTH, Fraction(1024)),
    ("1.5 GHz", Quantity.CLOCK, Fraction(1500000000)),
    ("100 MHz", Quantity.CLOCK, Fraction(10**8)),
    ("16 cycles", Quantity.TIME, Fraction(16)),
    ("1.5 pJ", Quantity.ENERGY, Fraction(3, 2)),
    ("2 nJ", Quantity.ENERGY, Fraction(2000)),
    ("50 fJ/byte", Quantity.ENERGY_PER_BYTE, Fraction(1, 20)),
)


@pytest.mark.parametrize(("text", "quantity", "value"), GOOD)
def test_amounts_in_base_units(text: str, quantity: Quantity, value: Fraction) -> None:
    assert parse_amount(text, quantity, None, {"dim": 16}) == value


SHOWN = (
    (8, "8 B"),
    (6656, "6.5 KiB"),
    (262144, "256 KiB"),
    (8 * 10**11, "745 GiB"),
    (9 * 10**15, "8185 TiB"),
)


@pytest.mark.parametrize(("size", "text"), SHOWN)
def test_sizes_are_written_as_they_are_read(size: int, text: str) -> None:
    assert show_bytes(size) == text
    assert parse_amount(text, Quantity.SIZE, None, {}) == pytest.approx(size, rel=1e-3)


def test_cycles_may_depend_on_extents() -> None:
    expression = parse_quantity("8 + ceil(r / 4) cycles", Quantity.TIME, None, ["r"])
    assert expression.evaluate({"r": 5}) == 10


BAD = (
    ("16", Quantity.SIZE, "16", "'16' has no unit, expected a size", "write for example '16 KiB'"),
    (
        "r * 2",
        Quantity.TIME,
        "r * 2",
        "'r * 2' has no unit, expected a time",
        "units: cycle, cycles",
    ),
    ("16 KB", Quantity.SIZE, "KB", "'KB' is not a unit of a size", "units: byte, bytes, B, KiB"),
    (
        "16 bytes",
        Quantity.BANDWIDTH,
        "bytes",
        "'bytes' is not a unit of a bandwidth",
        "bytes/cycle",
    ),
    ("1 ghz", Quantity.CLOCK, "ghz", "'ghz' is not a unit of a clock", "did you mean 'GHz'?"),
    ("3 ns", Quantity.TIME, "ns", "'ns' is not a unit of a time", "units: cycle, cycles"),
    ("3 pJ", Quantity.ENERGY_PER_BYTE, "pJ", "'pJ' is not a unit of an energy per", "pJ/byte"),
    ("dmi cycles", Quantity.TIME, "dmi", "unknown name 'dmi'", "did you mean 'dim'?"),
)


@pytest.mark.parametrize(("text", "quantity", "at", "message", "hint"), BAD)
def test_bad_quantities(text: str, quantity: Quantity, at: str, message: str, hint: str) -> None:
    line = f"    key: {text}"
    with pytest.raises(SpecError) as caught:
        parse_quantity(text, quantity, Loc("f.yaml", 2, 10, line), (), {"dim": 16})
    error = caught.value
    assert error.message.startswith(message)
    assert hint in error.hint
    assert error.loc is not None
    assert line[error.loc.column - 1 :].startswith(at)
