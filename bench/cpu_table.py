"""Results of bench/cpu.py: rows as JSON, and what a person reads.

In: rows. Out: lines of JSON; a Markdown table with geometric means. Not its job: measuring.
"""

import json
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from math import exp, log
from pathlib import Path

OURS, TUNED = "isamap", "isamap-tuned"


class Side(Enum):
    """Which forms are compared with each other."""

    PLAIN = "plain"  # arrays as they lie; whatever a library or a program packs counts
    AHEAD = "ahead"  # weights packed before the clock starts
    ORDERED = "ordered"  # floats summed in the kernel's order
    FREE = "free"  # floats summed in any order


SIDES = {"rows": (Side.ORDERED, Side.FREE)}  # by kind; others:
USUAL = (Side.PLAIN, Side.AHEAD)
TUNED_HEADS = ("tuned", "its ratio", "untuned over tuned")


@dataclass(frozen=True, slots=True)
class Row:
    """One shape. `warm`, `cold`: (seconds of a call, scatter) by "contestant side".

    `bound_s`: least seconds by measured peak and bandwidth, `binds` says which. `built_s`: of
    search and compiler, by side. `steps`: time steps of a recurrent layer. `tuned_s`: of search and
    measuring, by side, where a tuned form took part.
    """

    kind: str
    types: str
    label: str
    operations: float
    bound_s: float
    binds: str
    warm: dict[str, list[float]]
    cold: dict[str, list[float]]
    built_s: dict[str, float]
    is_right: bool
    took_s: float
    steps: int = 0
    tuned_s: dict[str, float] = field(default_factory=dict)

    @property
    def key(self) -> tuple[str, str, str]:
        """Tells rows apart."""
        return self.kind, self.types, self.label

    @property
    def sides(self) -> tuple[Side, ...]:
        """What is compared in rows of this kind."""
        return SIDES.get(self.kind, USUAL)

    def best(self, times: dict[str, list[float]], side: Side) -> tuple[str, float] | None:
        """The fastest library and its seconds; None where none takes the row."""
        rivals = self.libraries(times, side)
        return min(rivals.items(), key=lambda pair: pair[1], default=None)

    def libraries(self, times: dict[str, list[float]], side: Side) -> dict[str, float]:
        """Seconds of every library that stands on a side.

        A layer's weights are packed inside libraries that know nothing else, and libraries sum rows
        in any order: such a library stands on both sides.
        """
        is_on_both = self.kind in ("gru", "lstm", "rows")
        sides = [s.value for s in self.sides] if is_on_both else [side.value]
        rivals = {}
        for name, (seconds, _) in times.items():
            library, own = name.rsplit(" ", 1)
            if library not in (OURS, TUNED) and own in sides:
                rivals[library] = min(seconds, rivals.get(library, seconds))
        return rivals

    def ratio(self, times: dict[str, list[float]], side: Side, ours: str = OURS) -> float | None:
        """How many times faster than the best library."""
        best = self.best(times, side)
        own = times.get(f"{ours} {side.value}")
        return best[1] / own[0] if best and own else None

    def share_of_tuned(self, side: Side) -> float | None:
        """The untuned form's speed over the tuned one's, warm."""
        own, tuned = (self.warm.get(f"{name} {side.value}") for name in (OURS, TUNED))
        return tuned[0] / own[0] if own and tuned else None


def load_rows(path: Path) -> list[Row]:
    """Rows of a file that may not be there; of rows of one key the last counts."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [Row(**json.loads(line)) for line in lines if line.startswith("{")]
    return list({row.key: row for row in rows}.values())


def as_line(row: Row) -> str:
    """One line of JSON."""
    return json.dumps(asdict(row))


def table(rows: Sequence[Row]) -> list[str]:
    """A Markdown table per kind and types, each with its summary."""
    lines: list[str] = []
    for group in dict.fromkeys((row.kind, row.types) for row in rows):
        own = [row for row in rows if (row.kind, row.types) == group]
        lines += [f"### {group[0]} {group[1]}: {_units(own[0])}", ""]
        heads = ["shape", "binds"]
        for side in own[0].sides:
            heads += [f"isamap {side.value}", "% of bound", "best library", "ratio", "cold ratio"]
            heads += [*TUNED_HEADS] if any(row.tuned_s for row in own) else []
        lines += [f"| {' | '.join([*heads, 'right'])} |", "|---" * (len(heads) + 1) + "|"]
        is_tuned = any(row.tuned_s for row in own)
        lines += [f"| {' | '.join(_cells(row, is_tuned=is_tuned))} |" for row in own]
        lines += ["", *summary(own), ""]
    return lines


def summary(rows: Sequence[Row]) -> list[str]:
    """Geometric mean, least ratio and scatter, per side, warm and cold."""
    lines = []
    for side in rows[0].sides:
        for name in ("warm", "cold"):
            ratios = [(r.ratio(getattr(r, name), side), r.label) for r in rows]
            known = [(ratio, text) for ratio, text in ratios if ratio is not None]
            if not known:
                continue
            least, where = min(known)
            scatter = _scatter(getattr(row, name) for row in rows)
            lines.append(
                f"- {side.value}, {name}: {geometric_mean([r for r, _ in known]):.2f}x the best"
                f" library over {len(known)} rows, least {least:.2f} ({where}), scatter of a median"
                f" {100 * scatter:.1f} %"
            )
            if name == "warm":
                lines += _by_library(rows, side)
    lines += _tuned_lines(rows)
    builds = [seconds for row in rows for seconds in row.built_s.values()]
    wrong = [row.label for row in rows if not row.is_right]
    verdict = f"WRONG: {'; '.join(wrong)}" if wrong else "all results right"
    lines.append(
        f"- search and compiler: median {statistics.median(builds):.1f} s,"
        f" most {max(builds):.1f} s; {verdict};"
        f" {sum(row.took_s for row in rows):.0f} s for {len(rows)} rows"
    )
    return lines


def _tuned_lines(rows: Sequence[Row]) -> list[str]:
    """What tuning brings, by side, and what it takes."""
    lines = []
    for side in rows[0].sides:
        ratios = [(row.ratio(row.warm, side, TUNED), row.label) for row in rows]
        shares = [(row.share_of_tuned(side), row.label) for row in rows]
        for text, found in (("tuned, of the best library", ratios), ("untuned, of tuned", shares)):
            known = [(value, label) for value, label in found if value is not None]
            if known:
                least, where = min(known)
                mean = geometric_mean([value for value, _ in known])
                lines.append(
                    f"- {side.value}, warm, {text}: {mean:.2f}x over {len(known)} rows, least"
                    f" {least:.2f} ({where})"
                )
    spent = [seconds for row in rows for seconds in row.tuned_s.values()]
    if spent:
        lines.append(f"- tuning: median {statistics.median(spent):.0f} s, most {max(spent):.0f} s")
    return lines


def _by_library(rows: Sequence[Row], side: Side) -> list[str]:
    """Geometric means against each library alone."""
    found: dict[str, list[float]] = {}
    for row in rows:
        ours = row.warm.get(f"{OURS} {side.value}")
        for library, seconds in row.libraries(row.warm, side).items() if ours else ():
            found.setdefault(library, []).append(seconds / ours[0])
    parts = [f"{name} {geometric_mean(own):.2f}x ({len(own)})" for name, own in found.items()]
    return [f"  - against each alone: {', '.join(parts)}"] if parts else []


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers."""
    return exp(sum(map(log, values)) / len(values))


def _scatter(times: Iterable[dict[str, list[float]]]) -> float:
    return statistics.median(scatter for row in times for _, scatter in row.values())


def _units(row: Row) -> str:
    if row.kind == "rows":
        return "microseconds per call"
    return "microseconds per time step" if row.steps else "billions of operations per second"


def _figure(row: Row, seconds: float) -> str:
    if row.kind == "rows":
        return f"{seconds * 1e6:.1f}"
    if row.steps:
        return f"{seconds / row.steps * 1e6:.0f}"
    return f"{row.operations / seconds / 1e9:.0f}"


def _cells(row: Row, *, is_tuned: bool) -> list[str]:
    cells = [row.label, row.binds]
    for side in row.sides:
        ours = row.warm.get(f"{OURS} {side.value}")
        best = row.best(row.warm, side)
        cells += (
            [_figure(row, ours[0]), f"{100 * row.bound_s / ours[0]:.0f}"] if ours else ["-"] * 2
        )
        cells.append(f"{best[0]} {_figure(row, best[1])}" if best else "-")
        for times in (row.warm, row.cold):
            ratio = row.ratio(times, side)
            cells.append(f"{ratio:.2f}" if ratio else "-")
        cells += _tuned_cells(row, side) if is_tuned else []
    return [*cells, "yes" if row.is_right else "WRONG"]


def _tuned_cells(row: Row, side: Side) -> list[str]:
    """As in `TUNED_HEADS`."""
    tuned = row.warm.get(f"{TUNED} {side.value}")
    ratio, share = row.ratio(row.warm, side, TUNED), row.share_of_tuned(side)
    figures = [f"{value:.2f}" if value else "-" for value in (ratio, share)]
    return [_figure(row, tuned[0]) if tuned else "-", *figures]
