"""Tuning as it goes, and its summary.

In: outcomes as they come. Out: a progress bar, a line per shape, a summary, JSON. Not its job:
measuring.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console

from isamap.native import Tuned

from .json_parts import Json, versions_to_json
from .progress_bar import progress_bar
from .units import show_seconds, show_share
from .write import write_json

NOTHING = "nothing to compare ('isamap map --explain' says what instructions do not compute)"
NEAR = 1.05  # times the winner: the closed form's first is as good


@dataclass(frozen=True, slots=True)
class Shown:
    """`is_whole`: nothing ended it. `num_measured`: shapes with an outcome."""

    is_whole: bool
    num_measured: int


def show_tune(stream: Iterator[Tuned], count: int, json_path: str | None) -> Shown:
    """Show all outcomes until Ctrl-C."""
    done: list[Tuned] = []
    is_whole = True
    quiet = json_path == "-"
    console = Console(highlight=False, quiet=quiet)
    bar = progress_bar(console)
    try:
        with bar:
            task = bar.add_task("shapes", total=count)
            for tuned in stream:
                done.append(tuned)
                bar.console.print(tuned_line(tuned), soft_wrap=True)
                bar.advance(task)
    except KeyboardInterrupt:
        is_whole = False
        console.print(f"stopped: {len(done)} of {count} shapes are done; run it again to go on")
    for line in summary_lines(done):
        console.print(line, soft_wrap=True)
    if json_path is not None:
        write_json(json_path, _to_json(done, is_whole))
    return Shown(is_whole, sum(tuned.outcome is not None for tuned in done))


def tuned_line(tuned: Tuned) -> str:
    """`m 64, n 64, k 64: 12.1 µs, the model's number 3 of 8 (its first 12.9 µs); ..`; of a problem
    with a hint, two lines."""
    shape = ", ".join(f"{name} {value}" for name, value in tuned.shape.items()) or "default sizes"
    found = tuned.outcome
    if found is None:
        return f"{shape}: {tuned.problem}" + (f"\nhint: {tuned.hint}" if tuned.hint else "")
    origin = ", known" if tuned.is_recalled else ""
    if not found.num_candidates:
        return f"{shape}: {show_seconds(found.seconds)}, {NOTHING}{origin}"
    agreed = "" if found.correlation is None else f", rank correlation {found.correlation:.2f}"
    first = "" if found.winner == 0 else f" (its first {show_seconds(found.first_s)})"
    return (
        f"{shape}: {show_seconds(found.seconds)}, the model's number {found.winner + 1} of"
        f" {found.num_candidates}{first}{agreed}{origin}"
    )


def summary_lines(done: Sequence[Tuned]) -> list[str]:
    """How good the closed form is."""
    measured = [tuned.outcome for tuned in done if tuned.outcome is not None]
    found = [outcome for outcome in measured if outcome.num_candidates]
    failed = len(done) - len(measured)
    lines = [f"{_shapes(failed)} could not be measured"] if failed else []
    if not found:
        return lines
    share = statistics.geometric_mean(row.seconds / row.first_s for row in found)
    near = sum(row.first_s <= NEAR * row.seconds for row in found)
    lines.append(
        f"{_shapes(len(found))}: the model's first reaches {show_share(share)} of the speed of the"
        f" best one in the geometric mean, and at least {1 / NEAR:.0%} of it for {near}"
    )
    ranks = [row.correlation for row in found if row.correlation is not None]
    if ranks:
        median = statistics.median(ranks)
        lines.append(
            f"rank correlation of predicted and measured times over the candidates of a shape:"
            f" median {median:.2f}, least {min(ranks):.2f}"
        )
    return lines


def _shapes(count: int) -> str:
    return f"{count} shape{'s' if count != 1 else ''}"


def _to_json(done: Sequence[Tuned], is_whole: bool) -> dict[str, Json]:
    shapes: list[Json] = [
        {
            "sizes": dict(tuned.shape),
            "problem": tuned.problem,
            "hint": tuned.hint,
            "is_recalled": tuned.is_recalled,
            **(asdict(tuned.outcome) if tuned.outcome is not None else {}),
        }
        for tuned in done
    ]
    return {
        "schema": "isamap-tune",
        "schema_version": 1,
        "versions": versions_to_json(),
        "is_whole": is_whole,
        "shapes": shapes,
    }
