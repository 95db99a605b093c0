"""Text of a GEMM sweep: one line per row, and a summary.

In: GemmResults. Out: lines. Not its job: measuring.
"""

from collections.abc import Iterable, Sequence
from math import exp, log
from statistics import median

from gemm_row import GemmResult

LOW_SHARE = 0.85  # of the roofline; below, the row says what was busy
CLASSES = (("n <= 16", 0, 16), ("16 < n <= 128", 16, 128), ("n > 128", 128, 1 << 62))

LEGEND = (
    "cycles     of the closed-form model",
    "bound      proven for every schedule in the solver's space, under the same model",
    "solve s    coverings, models and proof, one solver thread (two rows at a time)",
    "emulated   cycles of the whole program, every call timed; '~' where it or the baseline makes"
    " more calls than --emulate:",
    "           from programs with a loop cut to n, n + 2, n + 4 trips, if both steps agree"
    " (bench/extrapolate.py)",
    "share      roofline / emulated cycles ('*': / cycles of the model)",
    "error %    model against emulated cycles",
    "baseline   emulated cycles of Gemmini's own tiling and loop nest, bench/gemmini_heuristic.py",
    "gain       baseline / emulated cycles",
    "limit      where share < 0.85: what sets the roofline; the busiest unit or port when emulated",
)

COLUMNS = (
    ("m", 6), ("n", 6), ("k", 7), ("op", 3), ("status", 9), ("cycles", 10), ("bound", 10),
    ("gap %", 6), ("solve s", 8), ("roofline", 10), ("emulated", 10), ("share", 7),
    ("error %", 8), ("baseline", 10), ("gain", 7), ("layout", 8), ("limit", 0),
)  # fmt: skip


def title_line() -> str:
    """The names of the columns."""
    return _line([name for name, _ in COLUMNS])


def row_line(result: GemmResult) -> str:
    """One row; a failure ends with its error."""
    shape = result.shape
    share = result.roofline_share
    star = "" if result.emulated_cycles else "*"
    is_extrapolated = result.is_extrapolated and result.emulated_cycles is not None
    limit = ""
    if share is not None and share < LOW_SHARE:
        limit = ", ".join(filter(None, (result.roofline_limit, result.busiest)))
    if result.error:
        limit = f"FAILED {result.error}"
    return _line(
        [
            str(shape.m),
            str(shape.n),
            str(shape.k),
            "nt"[shape.a_t] + "nt"[shape.b_t],
            result.status or "-",
            _number(result.analytical_cycles),
            _number(result.bound_cycles),
            _percent(result.gap),
            _decimal(result.solver_seconds, 2),
            _number(result.roofline_cycles),
            _number(result.emulated_cycles) + "~" * is_extrapolated,
            _decimal(share, 3) + (star if share is not None else ""),
            _percent(result.analytical_error),
            _number(result.baseline_cycles),
            _decimal(result.gain, 3),
            ("natural" if result.is_natural else "packed") if result.status else "-",
            limit,
        ]
    )


def _line(cells: Sequence[str]) -> str:
    parts = [
        cell if width == 0 else cell.rjust(width)
        for cell, (_, width) in zip(cells, COLUMNS, strict=True)
    ]
    return " ".join(parts).rstrip()


def summary_lines(rows: Sequence[GemmResult]) -> list[str]:
    """What the whole list says; shares and gains over rows, repeats included."""
    failed = [row for row in rows if row.error]
    seconds = [row.solver_seconds for row in rows if row.solver_seconds is not None]
    gaps = [row.gap for row in rows if row.gap is not None]
    shares = [row for row in rows if row.roofline_share is not None]
    errors = [row for row in rows if row.analytical_error is not None]
    lines = [
        f"rows               {len(rows)}, {len({row.shape for row in rows})} different",
        f"failures           {len(failed)}",
        f"emulated in full   {sum(row.is_emulated_in_full for row in rows)}",
        f"extrapolated       {sum(row.is_extrapolated for row in rows)}",
        f"compared           {sum(row.gain is not None for row in rows)} with the baseline",
        f"packed layouts     {sum(not row.is_natural for row in rows)}",
    ]
    if seconds:
        lines.append(f"solver             median {median(seconds):.2f} s, max {max(seconds):.2f} s")
    if gaps:
        none = sum(gap == 0 for gap in gaps)
        lines.append(f"gap 0              {none} of {len(rows)} rows ({none / len(rows):.1%}),"
                     f" largest gap {max(gaps):.2%}")  # fmt: skip
    if shares:
        worst = min(shares, key=lambda row: row.roofline_share or 0.0)
        middle = median(row.roofline_share or 0.0 for row in shares)
        lines.append(f"share of roofline  median {middle:.3f},"
                     f" worst {worst.roofline_share:.3f} ({_name(worst)})")  # fmt: skip
    if errors:
        worst = max(errors, key=lambda row: abs(row.analytical_error or 0.0))
        middle = median(abs(row.analytical_error or 0.0) for row in errors)
        lines.append(f"model's error      median {middle:.2%},"
                     f" worst {worst.analytical_error:+.2%} ({_name(worst)})")  # fmt: skip
    return lines + _gain_lines(rows)


def _gain_lines(rows: Sequence[GemmResult]) -> list[str]:
    """Gains over the baseline per class of n, and the rows that lose."""
    known = [row for row in rows if row.gain is not None]
    if not known:
        return []
    lines = [
        f"gain {label:<13} {_geometric_mean(gains):.3f} (geometric mean of {len(gains)} rows),"
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


def _geometric_mean(values: Iterable[float]) -> float:
    logs = [log(value) for value in values]
    return exp(sum(logs) / len(logs))


def _name(row: GemmResult) -> str:
    shape = row.shape
    return f"{shape.m} x {shape.n} x {shape.k} {'nt'[shape.a_t]}{'nt'[shape.b_t]}"


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _decimal(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"
