"""The table of a sweep as text.

In: a comparison. Out: lines. Not its job: any number but shares.
"""

from isamap.costmodels import Metric, pretty_energy
from isamap.hwdesc import show_bytes
from isamap.sweep import MANAGED, Comparison, Standing, Total

from .units import align, show_count, show_seconds, show_share

NOTHING = "-"
HOST = "host"
MAX_NAMES = 3  # of instructions in a cell
BEST, FRONT = "best", "front"


def table_lines(found: Comparison, num_workloads: int, num_rows: int) -> list[str]:
    """A row per variant, at most so many (the front first, if there are more); what the columns
    are; variants without a number and why."""
    lines = [_title(found, num_workloads), ""]
    shown = _shown(found, num_rows)
    lines += align([_head(found), *(_row(found, total) for total in shown)], right=_right(found))
    left = len(found.totals) - len(shown)
    if left:
        lines.append(f"{left} more variants: --top {len(found.totals)}, --csv FILE, or -o DIR")
    return [*lines, "", *_notes(found), *_problems(found)]


def _title(found: Comparison, num_workloads: int) -> str:
    count = len(found.totals)
    variants = f"{count} variant{'s' if count != 1 else ''}"
    kernels = "1 kernel" if num_workloads == 1 else f"the sum of {num_workloads} kernels"
    return f"{variants}, {kernels}; objective: {found.metric.value}, cost: {found.cost_text}"


def _shown(found: Comparison, num_rows: int) -> list[Total]:
    if len(found.totals) <= num_rows:
        return list(found.totals)
    numbers = [n for n in (found.best, *found.front) if n is not None]
    numbers += [total.variant.number for total in found.totals]
    kept = set(list(dict.fromkeys(numbers))[:num_rows])
    return [total for total in found.totals if total.variant.number in kept]


def _places(found: Comparison) -> list[str]:
    """Of settings; the file first, if there are several."""
    return list(dict.fromkeys(s.path for t in found.totals for s in t.variant.settings))


def _has_files(found: Comparison) -> bool:
    return len({total.variant.hardware for total in found.totals}) > 1


def _head(found: Comparison) -> tuple[str, ...]:
    file = ("hardware",) if _has_files(found) else ()
    numbers = (
        "emulated cycles",
        "time",
        "gap",
        "energy",
        "external",
        "room",
        "cost",
        "by",
        "status",
        "",
    )
    return "", *file, *_places(found), *numbers


def _right(found: Comparison) -> tuple[int, ...]:
    first = 1 + _has_files(found)
    return 0, *range(first, first + len(_places(found)) + 7)


def _row(found: Comparison, total: Total) -> tuple[str, ...]:
    said = {setting.path: setting.value for setting in total.variant.settings}
    return (
        str(total.variant.number),
        *((total.variant.hardware,) if _has_files(found) else ()),
        *(said.get(place, NOTHING) for place in _places(found)),
        *_numbers(total),
        _cost(found, total),
        _computed_by(total),
        _status(total),
        _mark(found, total),
    )


def _numbers(total: Total) -> tuple[str, ...]:
    if total.cycles is None or total.seconds is None or total.external_bytes is None:
        return (NOTHING,) * 6
    return (
        show_count(total.cycles),
        show_seconds(total.seconds),
        NOTHING if total.gap is None else show_share(total.gap),
        pretty_energy(total.energy_pj) if total.energy_pj else NOTHING,
        show_bytes(total.external_bytes),
        _room(total),
    )


def _room(total: Total) -> str:
    """Of all managed memories together, of the workload that takes most."""
    return show_bytes(max(sum(dict(p.outcome.used_bytes).values()) for p in total.points))


def _computed_by(total: Total) -> str:
    """Instructions of all workloads, and `host`: what a machine does not do is shown."""
    names = list(dict.fromkeys(name for p in total.points for name in p.outcome.computed_by))
    kept = [name for name in names if name == HOST] + [name for name in names if name != HOST]
    more = f", {len(kept) - MAX_NAMES} more" if len(kept) > MAX_NAMES else ""
    return ", ".join(kept[:MAX_NAMES]) + more if kept else NOTHING


def _cost(found: Comparison, total: Total) -> str:
    if total.cost is None:
        return NOTHING
    return show_bytes(total.cost) if found.cost_text == MANAGED else f"{total.cost:.6g}"


def _status(total: Total) -> str:
    if total.cycles is None:
        return total.standing.value
    word = "verified" if total.is_verified else "not verified"
    return f"{total.standing.value}, {word}"


def _mark(found: Comparison, total: Total) -> str:
    number = total.variant.number
    marks = [BEST] * (number == found.best) + [FRONT] * (number in found.front)
    return ", ".join(marks)


def _notes(found: Comparison) -> list[str]:
    """What the columns are, and what the front is."""
    what = {
        Metric.CYCLES: "time", Metric.ENERGY: "energy", Metric.EDP: "energy times time",
        Metric.DRAM_BYTES: "external bytes",
    }[found.metric]  # fmt: skip
    notes = [
        "emulated: cycles, time, energy, external bytes; gap: of the closed form to its proven"
        " bound; room: what tasks hold on chip; by: what computes",
        f"front: no variant has less {what} at no more cost; {len(found.front)} of"
        f" {len(found.totals)}",
    ]
    return notes if found.best is not None else notes[:1]


def _problems(found: Comparison) -> list[str]:
    """Each problem once, after the variants that have it."""
    numbers: dict[tuple[Standing, str], list[int]] = {}
    for total in found.totals:
        for point in total.points:
            if point.outcome.problem:
                key = (point.outcome.standing, point.outcome.problem)
                row = numbers.setdefault(key, [])
                row += [total.variant.number] * (total.variant.number not in row)
    lines = []
    for (standing, problem), variants in numbers.items():
        first, *rest = problem.splitlines()
        some = ", ".join(map(str, variants))
        word = f"variant{'s' if len(variants) > 1 else ''} {some}"
        lines += ["", f"{standing.value} ({word}): {first}", *rest]
    return lines
