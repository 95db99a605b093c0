"""Text of a convolution sweep: one line per row, and a summary.

In: ConvResults. Out: lines. Not its job: measuring.
"""

from collections.abc import Sequence
from statistics import median

from conv_row import ConvResult
from table_text import (
    ROOFLINE_LEGEND,
    align,
    decimal,
    general_lines,
    number,
    percent,
    show_emulated,
    show_limit,
    show_share,
    titles,
)

LEGEND = (
    "conv2d     y += x * weights, i8 times i8 into i32; n images h x w with c channels, k filters"
    " r x s",
    *ROOFLINE_LEGEND,
    "use        products the kernel needs / products the array could do in the cycles ('share')",
    "layout     natural: arrays as they lie, channels last; packed: a zero border or blocks",
)

COLUMNS = (
    ("w", 4), ("h", 4), ("c", 5), ("n", 3), ("k", 5), ("s", 3), ("r", 3), ("pad", 3), ("str", 3),
    ("status", 9), ("cycles", 10), ("bound", 10), ("gap %", 6), ("solve s", 8), ("roofline", 10),
    ("emulated", 10), ("share", 7), ("error %", 8), ("use", 6), ("layout", 8), ("limit", 0),
)  # fmt: skip

FEW_CHANNELS = 16  # below, one filter position fills no side of a 16 x 16 array


def title_line() -> str:
    """The names of the columns."""
    return titles(COLUMNS)


def row_line(result: ConvResult) -> str:
    """One row; a failure ends with its error."""
    x = result.shape
    sizes = (x.w, x.h, x.c, x.n, x.k, x.s, x.r, x.pad, x.stride)
    return align(
        COLUMNS,
        [
            *map(str, sizes),
            result.status or "-",
            number(result.analytical_cycles),
            number(result.bound_cycles),
            percent(result.gap),
            decimal(result.solver_seconds, 2),
            number(result.roofline_cycles),
            show_emulated(result),
            show_share(result),
            percent(result.analytical_error),
            decimal(result.use, 3),
            ("natural" if result.is_natural else "packed") if result.status else "-",
            show_limit(result),
        ],
    )


def summary_lines(rows: Sequence[ConvResult]) -> list[str]:
    """What the whole list says, over rows, repeats included."""
    lines = general_lines(rows, _name)
    few = [row for row in rows if row.shape.c < FEW_CHANNELS]
    many = [row for row in rows if row.shape.c >= FEW_CHANNELS]
    for label, part in ((f"c < {FEW_CHANNELS}", few), (f"c >= {FEW_CHANNELS}", many)):
        uses = [row.use for row in part if row.use is not None]
        if uses:
            lines.append(f"use {label:<14} median {median(uses):.3f}, least {min(uses):.3f},"
                         f" most {max(uses):.3f} ({len(uses)} rows)")  # fmt: skip
    return lines


def _name(row: ConvResult) -> str:
    x = row.shape
    return f"{x.w}x{x.h}x{x.c} n{x.n} k{x.k} {x.s}x{x.r} pad {x.pad} stride {x.stride}"
