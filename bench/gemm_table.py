"""Text of a GEMM sweep: one line per row, and a summary.

In: GemmResults. Out: lines. Not its job: measuring.
"""

from collections.abc import Sequence

from gemm_row import GemmResult
from table_text import (
    ROOFLINE_LEGEND,
    align,
    decimal,
    general_lines,
    geometric_mean,
    number,
    percent,
    show_emulated,
    show_limit,
    show_share,
    titles,
)

CLASSES = (("n <= 16", 0, 16), ("16 < n <= 128", 16, 128), ("n > 128", 128, 1 << 62))

LEGEND = (
    *ROOFLINE_LEGEND,
    "baseline   emulated cycles of Gemmini's own tiling and loop nest, bench/gemmini_heuristic.py",
    "gain       baseline / emulated cycles",
)

COLUMNS = (
    ("m", 6), ("n", 6), ("k", 7), ("op", 3), ("status", 9), ("cycles", 10), ("bound", 10),
    ("gap %", 6), ("solve s", 8), ("roofline", 10), ("emulated", 10), ("share", 7),
    ("error %", 8), ("baseline", 10), ("gain", 7), ("layout", 8), ("limit", 0),
)  # fmt: skip


def title_line() -> str:
    """The names of the columns."""
    return titles(COLUMNS)


def row_line(result: GemmResult) -> str:
    """One row; a failure ends with its error."""
    shape = result.shape
    return align(
        COLUMNS,
        [
            str(shape.m),
            str(shape.n),
            str(shape.k),
            "nt"[shape.a_t] + "nt"[shape.b_t],
            result.status or "-",
            number(result.analytical_cycles),
            number(result.bound_cycles),
            percent(result.gap),
            decimal(result.solver_seconds, 2),
            number(result.roofline_cycles),
            show_emulated(result),
            show_share(result),
            percent(result.analytical_error),
            number(result.baseline_cycles),
            decimal(result.gain, 3),
            ("natural" if result.is_natural else "packed") if result.status else "-",
            show_limit(result),
        ],
    )


def summary_lines(rows: Sequence[GemmResult]) -> list[str]:
    """What the whole list says; shares and gains over rows, repeats included."""
    return general_lines(rows, _name) + _gain_lines(rows)


def _gain_lines(rows: Sequence[GemmResult]) -> list[str]:
    """Gains over the baseline per class of n, and the rows that lose."""
    known = [row for row in rows if row.gain is not None]
    if not known:
        return []
    lines = [f"compared           {len(known)} with the baseline"]
    lines += [
        f"gain {label:<13} {geometric_mean(gains):.3f} (geometric mean of {len(gains)} rows),"
        f" least {min(gains):.3f}, most {max(gains):.3f}"
        for label, above, most in CLASSES
        if (gains := [row.gain or 0.0 for row in known if above < row.shape.n <= most])
    ]
    worst = min(known, key=lambda row: row.gain or 0.0)
    lines.append(f"worst gain         {worst.gain:.3f} ({_name(worst)})")
    slower = {row.shape: row for row in known if (row.gain or 0.0) < 1}
    lines.append(f"slower than the baseline: {len(slower)} shapes")
    ordered = sorted(slower.values(), key=lambda row: row.gain or 0.0)
    lines += [f"  {row.gain:.4f}  {_name(row)}" for row in ordered]
    return lines


def _name(row: GemmResult) -> str:
    shape = row.shape
    return f"{shape.m} x {shape.n} x {shape.k} {'nt'[shape.a_t]}{'nt'[shape.b_t]}"
