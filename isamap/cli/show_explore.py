"""A sweep as it goes, and its table.

In: a sweep. Out: a progress bar, a row per variant, the best and the front, files. Not its job:
finding points, comparing them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from isamap.costmodels import Metric
from isamap.errors import IsamapError
from isamap.sweep import (
    Asking,
    Comparison,
    Kept,
    Point,
    Standing,
    Variant,
    Workload,
    compare,
    table_text,
    visit,
)

from .explore_json import explore_to_json
from .explore_table import table_lines
from .progress_bar import progress_bar
from .write import json_text, write_text
from .write_variants import variant_files

FILES = ("explore.csv", "explore.json")  # beside the variants of the front


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is asked."""

    workloads: Sequence[Workload]
    variants: Sequence[Variant]
    asking: Asking
    metric: Metric
    cost_text: str
    kept: Kept
    jobs: int


@dataclass(frozen=True, slots=True)
class Show:
    """What is printed and written."""

    num_rows: int
    csv_path: str | None
    json_path: str | None
    folder: str | None


@dataclass(frozen=True, slots=True)
class Explored:
    """What was found; `is_whole`: nothing interrupted it."""

    comparison: Comparison
    is_whole: bool

    @property
    def is_wrong(self) -> bool:
        """Does any program, or isamap itself, not do what it should?"""
        bad = (Standing.WRONG, Standing.REJECTED, Standing.FAILED)
        return any(t.standing in bad for t in self.comparison.totals)

    @property
    def is_refused(self) -> bool:
        """Is no variant a machine?"""
        return all(t.standing is Standing.NO_MACHINE for t in self.comparison.totals)


def show_explore(sweep: Sweep, show: Show) -> Explored:
    """Ask everything, show and write what was found; Ctrl-C keeps what there is, and so does what
    goes wrong meanwhile.

    Raises:
        IsamapError: what went wrong, after what was found before is shown and written.
    """
    is_quiet = "-" in (show.csv_path, show.json_path)
    console = Console(highlight=False, quiet=is_quiet)
    points: list[Point] = []
    problem: IsamapError | None = None
    try:
        is_whole = _collect(sweep, points)
    except IsamapError as error:
        if not points:
            raise
        problem, is_whole = error, False
    found = compare(points, len(sweep.workloads), sweep.metric, sweep.cost_text)
    for line in table_lines(found, len(sweep.workloads), show.num_rows):
        console.print(Text(line), soft_wrap=True)
    if not is_whole:
        done, count = len(points), len(sweep.variants) * len(sweep.workloads)
        text = f"stopped: {done} of {count} questions are answered"
        text += "" if sweep.kept.problem else "; run it again to go on"
        Console(highlight=False, stderr=is_quiet).print(text, soft_wrap=True)
    _write(sweep, show, found, is_whole)
    if problem is not None:
        raise problem
    return Explored(found, is_whole)


def _collect(sweep: Sweep, points: list[Point]) -> bool:
    """Fill `points`; False if Ctrl-C ended it. That answers cannot be kept is said once, as soon
    as it is known: who hears of it may stop and make room."""
    bar = progress_bar(Console(stderr=True))
    stream = visit(sweep.workloads, sweep.variants, sweep.asking, sweep.kept, jobs=sweep.jobs)
    is_said = False
    try:
        with bar:
            count = len(sweep.workloads) * len(sweep.variants)
            task = bar.add_task("kernels on variants", total=count)
            for point in stream:
                points.append(point)
                if sweep.kept.problem and not is_said:
                    is_said = True
                    text = Text(f"answers are not kept: {sweep.kept.problem}")
                    bar.console.print(text, soft_wrap=True)
                bar.advance(task)
    except KeyboardInterrupt:
        stream.close()
        return False
    return True


def _write(sweep: Sweep, show: Show, found: Comparison, is_whole: bool) -> None:
    data = json_text(explore_to_json(found, sweep.workloads, is_whole=is_whole))
    texts = ((show.csv_path, table_text(found)), (show.json_path, data))
    for path, text in texts:
        if path is not None:
            write_text(path, text)
    if show.folder is not None:
        files = zip(FILES, (table_text(found), data), strict=True)
        variant_files(Path(show.folder), found, dict(files))
