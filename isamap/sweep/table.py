"""A sweep as rows for pandas.

In: a comparison. Out: a row per variant and workload, of numbers and texts; CSV. Not its job:
writing files.
"""

import csv
from collections.abc import Iterable
from io import StringIO

from .compare import Comparison, Total
from .measure_machine import MANAGED, machine_numbers
from .visit import Point

Cell = str | int | float | bool | None
Row = dict[str, Cell]


def rows(comparison: Comparison) -> list[Row]:
    """The same keys in all of them: settings by place, sizes as `size.m`, room as
    `used_bytes.<memory>`; None where there is nothing to say.

    A setting's value is a number where `machine_numbers` knows its place (sizes in bytes), else its
    text.
    """
    points = [point for total in comparison.totals for point in total.points]
    paths = _union(s.path for point in points for s in point.variant.settings)
    sizes = _union(name for point in points for name, _ in point.workload.sizes)
    memories = _union(name for point in points for name, _ in point.outcome.used_bytes)
    return [
        {
            "variant": total.variant.number,
            "hardware": total.variant.hardware,
            **dict.fromkeys(paths),
            **_settings(point),
            **_machine(total, point),
            "kernel": point.workload.kernel,
            **{f"size.{name}": dict(point.workload.sizes).get(name) for name in sizes},
            **_numbers(point),
            **{f"used_bytes.{m}": dict(point.outcome.used_bytes).get(m) for m in memories},
            "is_best": total.variant.number == comparison.best,
            "is_on_front": total.variant.number in comparison.front,
        }
        for total in comparison.totals
        for point in total.points
    ]


def table_text(comparison: Comparison) -> str:
    """The rows as CSV, with a line of their keys first; truths are `true` and `false`."""
    found = rows(comparison)
    file = StringIO()
    writer = csv.DictWriter(file, list(found[0]) if found else [], lineterminator="\n")
    writer.writeheader()
    for row in found:
        writer.writerow({key: _cell(value) for key, value in row.items()})
    return file.getvalue()


def _union(names: Iterable[str]) -> list[str]:
    """Each once, in order."""
    return list(dict.fromkeys(names))


def _settings(point: Point) -> Row:
    known = machine_numbers(point.hardware) if point.hardware else {}
    return {s.path: known.get(s.path, s.value) for s in point.variant.settings}


def _machine(total: Total, point: Point) -> Row:
    hw = point.hardware
    return {
        "clock_hz": hw.clock_hz if hw else None,
        MANAGED: machine_numbers(hw)[MANAGED] if hw else None,
        "cost": total.cost,
    }


def _numbers(point: Point) -> Row:
    """Named as in `summary.csv`, whose bytes, energy and emulated cycles are the emulator's too."""
    found, hw = point.outcome, point.hardware
    cycles = found.emulated_cycles
    return {
        "status": found.standing.value,
        "problem": found.problem,
        "check": found.check,
        "is_verified": found.is_verified,
        "emulated_cycles": cycles,
        "emulated_seconds": cycles / hw.clock_hz if hw and cycles is not None else None,
        "analytical_cycles": found.analytical_cycles,
        "bound_cycles": found.bound_cycles,
        "gap": found.gap,
        "energy_pj": found.energy_pj,
        "external_read_bytes": found.read_bytes,
        "external_written_bytes": found.written_bytes,
        "computed_by": " ".join(found.computed_by),
        "search_seconds": found.seconds,
        "is_recalled": point.is_recalled,
    }


def _cell(value: Cell) -> Cell:
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else value
