"""Text of a sweep over recurrent layers: one line per row, and a summary.

In: RnnResults. Out: lines. Not its job: measuring.
"""

from collections.abc import Sequence
from statistics import median

from rnn_row import RnnResult
from table_text import align, decimal, geometric_mean, number, percent, solver_lines, titles

LEGEND = (
    "layers     without the input's product, as DeepBench measures them; vanilla with relu; i8 into"
    " i32",
    "cycles     of the closed-form model, each task as early as units and data let it begin",
    "bound      of the whole: its busiest unit, or compulsory traffic; tasks may overlap freely",
    "gap %      of the whole; status 'optimal': the schedule of each task is proven best by itself",
    "solve s    tasks, coverings, models and proofs, one solver thread",
    "host       cycles of the model on the host: gates, and what no instruction computes",
    "repack     cycles of the model on the host to lay out anew what the accelerator leaves",
    "gemm       cycles of the model for the recurrent products of all steps",
    "g-gap %    of the products, to the bound proven for every schedule in the solver's space",
    "g-calls    the products' bound by calls: the unit is never idle",
    "g-bytes    the products' bound by the external memory's ports: weights that no memory on their"
    " way can hold come again every step",
    "g-share    the larger of the two / gemm",
    "weights    'kept': loaded once for all steps",
    "runs       'gemm': on the accelerator, '+n': with n statements before or after it; or 'host'",
    "emulated   cycles of the whole; by: 'all' steps emulated, or that many, the rest extrapolated:"
    " only where every further step takes exactly as long; '~': steps cut too (extrapolate.py)",
    "error %    model against emulated cycles",
    "host %     of the emulated cycles: the host is busy",
    "others     emulated cycles in which the host does not work",
    "baseline   Gemmini's own heuristic (bench/gemmini_heuristic.py) for the product of one step,"
    " emulated, times the steps; '~': extrapolated (bench/extrapolate.py)",
    "gain       baseline / others",
    "limit      what sets the largest bound: the host, the products' calls or their bytes",
)

COLUMNS = (
    ("cell", 7), ("hidden", 6), ("batch", 5), ("steps", 5), ("status", 9), ("cycles", 12),
    ("bound", 12), ("gap %", 7), ("solve s", 7), ("host", 11), ("repack", 10), ("gemm", 11),
    ("g-gap %", 7), ("g-calls", 11), ("g-bytes", 11), ("g-share", 7), ("weights", 7), ("runs", 7),
    ("emulated", 12), ("by", 4), ("error %", 7), ("host %", 6), ("others", 11), ("baseline", 11),
    ("gain", 6), ("limit", 0),
)  # fmt: skip


def title_line() -> str:
    """The names of the columns."""
    return titles(COLUMNS)


def row_line(result: RnnResult) -> str:
    """One row; a failure ends with its error."""
    x = result.shape
    kept = ("kept" if result.is_resident else "again") if result.gemm_bound_cycles else "-"
    return align(
        COLUMNS,
        [
            x.cell.value,
            str(x.hidden),
            str(x.batch),
            str(x.steps),
            result.status or "-",
            number(result.analytical_cycles),
            number(result.bound_cycles),
            percent(result.gap),
            decimal(result.solver_seconds, 2),
            number(result.host_cycles),
            number(result.repack_cycles),
            number(result.gemm_cycles),
            percent(result.gemm_gap),
            number(result.compute_bound_cycles),
            number(result.traffic_bound_cycles),
            decimal(result.gemm_share, 3),
            kept,
            result.on_chip or "-",
            number(result.emulated_cycles),
            _steps(result),
            percent(result.analytical_error),
            percent(result.host_share),
            number(result.accelerator_cycles),
            number(result.baseline_cycles) + "~" * result.is_extrapolated,
            decimal(result.gain, 3),
            f"FAILED {result.error}" if result.error else result.limit,
        ],
    )


def _steps(result: RnnResult) -> str:
    if result.emulated_steps is None:
        return "-"
    if result.emulated_steps == 0:
        return "~"
    return "all" if result.emulated_steps == result.shape.steps else str(result.emulated_steps)


def summary_lines(rows: Sequence[RnnResult]) -> list[str]:
    """What the whole list says, over rows, repeats included."""
    emulated = [row for row in rows if row.emulated_steps is not None]
    whole = sum(row.emulated_steps == row.shape.steps for row in emulated)
    shares = [row for row in rows if row.gemm_share is not None]
    errors = [abs(row.analytical_error or 0.0) for row in emulated]
    gemm_gaps = [row.gemm_gap for row in rows if row.gemm_gap is not None]
    lines = [
        f"rows               {len(rows)}, {len({row.shape for row in rows})} different",
        f"failures           {sum(bool(row.error) for row in rows)}",
        f"emulated           {whole} in full, {len(emulated) - whole} by steps",
        f"weights kept       {sum(row.is_resident for row in rows)}",
        *solver_lines(rows),
    ]
    if gemm_gaps:
        lines.append(f"products' gap 0    {sum(gap == 0 for gap in gemm_gaps)} of {len(gemm_gaps)},"
                     f" largest {max(gemm_gaps):.2%}")  # fmt: skip
    if shares:
        worst = min(shares, key=lambda row: row.gemm_share or 0.0)
        middle = median(row.gemm_share or 0.0 for row in shares)
        lines.append(f"products' share    median {middle:.3f},"
                     f" worst {worst.gemm_share:.3f} ({_name(worst)})")  # fmt: skip
    if errors:
        lines.append(f"model's error      median {median(errors):.2%}, worst {max(errors):.2%}")
    return lines + _gain_lines(rows)


def _gain_lines(rows: Sequence[RnnResult]) -> list[str]:
    """Gains over the baseline, of rows that keep their weights and of the others."""
    lines = []
    for label, is_kept in (("kept", True), ("again", False)):
        gains = [row.gain for row in rows if row.is_resident == is_kept and row.gain is not None]
        if gains:
            lines.append(f"gain, weights {label:<5} {geometric_mean(gains):.3f} (geometric mean of"
                         f" {len(gains)} rows), least {min(gains):.3f},"
                         f" most {max(gains):.3f}")  # fmt: skip
    return lines


def _name(row: RnnResult) -> str:
    x = row.shape
    return f"{x.cell.value} {x.hidden} batch {x.batch} steps {x.steps}"
