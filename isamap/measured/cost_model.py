"""The cost model that runs candidates on this processor.

In: candidates. Out: cycles of the machine's clock that they took, measured now or before. Not its
job: running (`timer`), storing (`database`), making candidates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from isamap.codegen import CSource, Toolchain, find_toolchain, generate_c, missing_features
from isamap.costmodels import TERMS_VERSION, Candidate, Price, estimate, find_terms
from isamap.errors import IsamapError, ProgramError
from isamap.hwdesc import Hardware

from .database import Database, Description, Row, default_path
from .subject import digest, make_subject
from .timer import Measurement, ProcessTimer, Timer


@dataclass(frozen=True, slots=True)
class Measured:
    """Times the closed form's best candidates against each other and remembers what they took.

    `database`: a file; the user's own if None. `timer`: how programs are timed.
    """

    num_candidates: int = 8
    database: Path | None = None
    timer: Timer = field(default_factory=ProcessTimer)

    @property
    def name(self) -> str:
        """As in `--cost measured`."""
        return "measured"

    @property
    def path(self) -> Path:
        """Where measurements are kept."""
        return self.database or default_path()

    def check(self, hw: Hardware) -> None:
        """Raise an IsamapError unless programs of the machine run on this processor."""
        check_runs_here(hw)

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """Measure all against each other, unless all of them are known.

        Raises:
            IsamapError: none of them runs.
        """
        toolchain = find_toolchain(hw)
        subject = make_subject(candidates[0].covering.kernel, hw, toolchain)
        database = Database(self.path)
        rows = [_describe(candidate, hw) for candidate in candidates]
        known = database.recall(subject)
        wanted = {row.program: row for row in rows if row.source is not None}
        is_recalled = all(program in known for program in wanted)
        if not is_recalled:
            known = self._measure(list(wanted.values()), toolchain)
            lasting = {name: row for name, row in known.items() if row.measurement.is_lasting}
            database.record(subject, lasting)
        database.describe(subject, TERMS_VERSION, {r.program: r.about for r in wanted.values()})
        prices = tuple(
            Price(None, row.problem)
            if row.source is None
            else _price(known[row.program].measurement, hw, is_recalled)
            for row in rows
        )
        if all(price.cycles is None for price in prices):
            raise IsamapError(
                f"none of {len(prices)} candidates for {subject.kernel} on {hw.name} can be"
                f" measured; the first: {prices[0].problem}",
                hint="another --cost needs no processor",
            )
        return prices

    def _measure(self, rows: list["_Described"], toolchain: Toolchain) -> dict[str, Row]:
        sources = [row.source for row in rows if row.source is not None]
        found = self.timer.time(sources, toolchain)
        return {
            row.program: Row(row.program, row.about.predicted_s, measurement)
            for row, measurement in zip(rows, found, strict=True)
        }


def check_runs_here(hw: Hardware) -> None:
    """Raise an IsamapError unless programs of the machine run on this processor."""
    if all(instruction.c_form is None for instruction in hw.instructions):
        raise IsamapError(
            f"programs for {hw.name} cannot be measured: its instructions have no C text",
            hint="measure a machine that 'isamap detect' lists, or use another --cost",
        )
    toolchain = find_toolchain(hw)
    reason = f"they run under {toolchain.run[0]}" if toolchain.run else ""
    if not reason and hw.compiler and (missing := missing_features(hw.compiler)):
        reason = f"this processor lacks {', '.join(missing)}"
    if reason:
        raise IsamapError(
            f"programs for {hw.name} cannot be measured here: {reason}",
            hint="'isamap detect' says which machines this processor is",
        )


@dataclass(frozen=True, slots=True)
class _Described:
    """A candidate as the database knows it: programs of the same text are one. No source: a
    problem."""

    program: str
    source: CSource | None
    about: Description
    problem: str = ""


def _describe(candidate: Candidate, hw: Hardware) -> _Described:
    about = describe(candidate, hw)
    try:
        source = generate_c(candidate.program, hw)
    except ProgramError as error:
        return _Described("", None, about, error.message)
    return _Described(digest(source.text), source, about)


def describe(candidate: Candidate, hw: Hardware) -> Description:
    """What the closed form says of a candidate, and what tells it from others."""
    parts = estimate(candidate.covering, candidate.work, candidate.tiling, hw)
    return Description(parts.cycles / hw.clock_hz, find_terms(candidate, hw))


def _price(measurement: Measurement, hw: Hardware, is_recalled: bool) -> Price:
    if measurement.seconds is None:
        return Price(None, measurement.problem, is_recalled)
    return Price(max(1, round(measurement.seconds * hw.clock_hz)), "", is_recalled)
