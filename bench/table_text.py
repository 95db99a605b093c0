"""Text that the tables of all sweeps share: cells, lines, what a summary always says.

In: cells, or rows of figures. Out: lines. Not its job: which columns a table has.
"""

from collections.abc import Callable, Iterable, Sequence
from math import exp, log
from statistics import median
from typing import TypeVar

from figures import Figures

Row = TypeVar("Row", bound=Figures)
Columns = Sequence[tuple[str, int]]  # title, width; 0: as wide as its text; below 0: to the left

LOW_SHARE = 0.85  # of the roofline; below, the row says what was busy

ROOFLINE_LEGEND = (
    "cycles     of the closed-form model",
    "bound      proven for every schedule in the solver's space, under the same model",
    "solve s    coverings, models and proof, one solver thread",
    "emulated   cycles of the whole program, every call timed; '~' where it or the baseline makes"
    " more calls than --emulate:",
    "           from programs with a loop cut to n, n + 2, n + 4 trips, if both steps agree"
    " (bench/extrapolate.py)",
    "share      roofline / emulated cycles ('*': / cycles of the model)",
    "error %    model against emulated cycles",
    "limit      where share < 0.85: what sets the roofline; the busiest unit or port when emulated",
)


def align(columns: Columns, cells: Sequence[str]) -> str:
    """The cells in their columns, to the right where these do not say otherwise."""
    parts = [
        cell.rjust(width) if width > 0 else cell.ljust(-width)
        for cell, (_, width) in zip(cells, columns, strict=True)
    ]
    return " ".join(parts).rstrip()


def titles(columns: Columns) -> str:
    """The names of the columns."""
    return align(columns, [name for name, _ in columns])


def show_share(row: Figures) -> str:
    """Share of the roofline, starred where the cycles are the model's."""
    star = "" if row.emulated_cycles else "*"
    share = row.roofline_share
    return decimal(share, 3) + (star if share is not None else "")


def show_emulated(row: Figures) -> str:
    """Emulated cycles, '~' where something of the row is extrapolated."""
    is_extrapolated = row.is_extrapolated and row.emulated_cycles is not None
    return number(row.emulated_cycles) + "~" * is_extrapolated


def show_limit(row: Figures) -> str:
    """What keeps a row far from its roofline busy; a failure's error."""
    if row.error:
        return f"FAILED {row.error}"
    share = row.roofline_share
    if share is None or share >= LOW_SHARE:
        return ""
    return ", ".join(filter(None, (row.roofline_limit, row.busiest)))


def general_lines(rows: Sequence[Row], name: Callable[[Row], str]) -> list[str]:
    """Failures, proofs, times, shares and errors of a list; `name` tells rows apart."""
    shares = [row for row in rows if row.roofline_share is not None]
    errors = [row for row in rows if row.analytical_error is not None]
    lines = [
        f"rows               {len(rows)}, {len({name(row) for row in rows})} different",
        f"failures           {sum(bool(row.error) for row in rows)}",
        f"emulated in full   {sum(row.is_emulated_in_full for row in rows)}",
        f"extrapolated       {sum(row.is_extrapolated for row in rows)}",
        f"packed layouts     {sum(not row.is_natural for row in rows)}",
        *solver_lines(rows),
        *_gap_lines(rows),
    ]
    if shares:
        worst = min(shares, key=lambda row: row.roofline_share or 0.0)
        middle = median(row.roofline_share or 0.0 for row in shares)
        lines.append(f"share of roofline  median {middle:.3f},"
                     f" worst {worst.roofline_share:.3f} ({name(worst)})")  # fmt: skip
    if errors:
        worst = max(errors, key=lambda row: abs(row.analytical_error or 0.0))
        middle = median(abs(row.analytical_error or 0.0) for row in errors)
        lines.append(f"model's error      median {middle:.2%},"
                     f" worst {worst.analytical_error:+.2%} ({name(worst)})")  # fmt: skip
    return lines


def solver_lines(rows: Sequence[Figures]) -> list[str]:
    """Solver seconds."""
    seconds = [row.solver_seconds for row in rows if row.solver_seconds is not None]
    if not seconds:
        return []
    return [f"solver             median {median(seconds):.2f} s, max {max(seconds):.2f} s"]


def _gap_lines(rows: Sequence[Figures]) -> list[str]:
    """Gaps to the proven bounds."""
    gaps = [row.gap for row in rows if row.gap is not None]
    lines = []
    if gaps:
        none = sum(gap == 0 for gap in gaps)
        lines.append(f"gap 0              {none} of {len(rows)} rows ({none / len(rows):.1%}),"
                     f" largest gap {max(gaps):.2%}")  # fmt: skip
    return lines


def geometric_mean(values: Iterable[float]) -> float:
    """Of positive values."""
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


def number(value: int | None) -> str:
    """A whole number, '-' if unknown."""
    return "-" if value is None else str(value)


def decimal(value: float | None, digits: int) -> str:
    """A number with so many digits, '-' if unknown."""
    return "-" if value is None else f"{value:.{digits}f}"


def percent(value: float | None) -> str:
    """A share in percent, '-' if unknown."""
    return "-" if value is None else f"{100 * value:.2f}"
