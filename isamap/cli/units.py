"""Numbers with their units, as text.

In: numbers, or rows of text. Out: text a person reads, aligned rows. Not its job: where it is put.
"""

from collections.abc import Sequence

SCALES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def show_count(value: int) -> str:
    """`28 858 944`: groups of three, no unit."""
    return f"{value:,}".replace(",", " ")


def show_cycles(value: int) -> str:
    """`28 858 944 cycles`."""
    return f"{show_count(value)} cycles" if value != 1 else "1 cycle"


def show_seconds(value: float) -> str:
    """`28.9 ms`."""
    for scale, unit in SCALES:
        if value >= scale or unit == "ns":
            break
    return f"{value / scale:.3g} {unit}"


def show_share(value: float) -> str:
    """`99.4 %`; never rounds up to 100 %."""
    percent = 100 * value
    if value < 1 and percent >= 99.95:
        return "99.9 %"
    return f"{percent:.1f} %"


def show_frequency(hertz: float) -> str:
    """`1 GHz`."""
    for scale, unit in ((1e9, "GHz"), (1e6, "MHz"), (1e3, "kHz")):
        if hertz >= scale:
            return f"{hertz / scale:.4g} {unit}"
    return f"{hertz:.4g} Hz"


def align(rows: Sequence[tuple[str, ...]], right: tuple[int, ...] = ()) -> list[str]:
    """Rows as lines with columns two spaces apart; the columns in `right` end together."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
