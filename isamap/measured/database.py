"""Measurements in a file that outlives the process.

In: subjects, digests of programs, measurements, terms. Out: what was measured before. Not its job:
measuring, what a subject is, what terms mean.

SQLite with its rollback journal (write-ahead logs are unsafe on network file systems): every write
is one transaction, a second process waits for its turn. `user_version` holds the schema's number.
"""

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import TypeGuard

from isamap.cache_folder import cache_folder
from isamap.errors import IsamapError

from .subject import Setting, Subject, digest
from .timer import Measurement

SCHEMA = 4
WAIT_S = 30.0  # for another process's transaction
VARIABLE = "ISAMAP_DATABASE"
FILE = "measurements.sqlite3"
COLUMNS = tuple(field.name for field in fields(Subject))
SETTING = tuple(field.name for field in fields(Setting))
DECLARED = ", ".join(f"{name} TEXT NOT NULL" for name in COLUMNS)
# What brings a file from one schema to the next.
STEPS = (
    f"""
CREATE TABLE subject (key TEXT PRIMARY KEY, {DECLARED});
CREATE TABLE measurement (
  subject TEXT NOT NULL REFERENCES subject (key),
  program TEXT NOT NULL,
  predicted_s REAL NOT NULL,
  seconds REAL,
  least_s REAL,
  num_samples INTEGER NOT NULL,
  problem TEXT NOT NULL,
  measured_at TEXT NOT NULL,
  PRIMARY KEY (subject, program)
);
""",
    """
CREATE TABLE outcome (
  key TEXT PRIMARY KEY,
  kernel TEXT NOT NULL,
  sizes TEXT NOT NULL,
  seconds REAL NOT NULL,
  first_s REAL NOT NULL,
  predicted_s REAL NOT NULL,
  winner INTEGER NOT NULL,
  num_candidates INTEGER NOT NULL,
  correlation REAL,
  finished_at TEXT NOT NULL
);
""",
    """
CREATE TABLE description (
  subject TEXT NOT NULL REFERENCES subject (key),
  program TEXT NOT NULL,
  version INTEGER NOT NULL,
  predicted_s REAL NOT NULL,
  terms TEXT NOT NULL,
  PRIMARY KEY (subject, program, version)
);
""",
    """
CREATE TABLE race (
  subject TEXT NOT NULL REFERENCES subject (key),
  programs TEXT NOT NULL,
  spent_s REAL NOT NULL,
  found TEXT NOT NULL,
  measured_at TEXT NOT NULL,
  PRIMARY KEY (subject, programs)
);
""",
)
assert len(STEPS) == SCHEMA


@dataclass(frozen=True, slots=True)
class Row:
    """A program of a subject: digest of its text, the closed form's time, the measured one."""

    program: str
    predicted_s: float
    measurement: Measurement


@dataclass(frozen=True, slots=True)
class Race:
    """Programs that were measured against each other, by digest, in their order; `spent_s`: what
    that took, all in all."""

    measurements: Mapping[str, Measurement]
    spent_s: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """What measuring a kernel's candidates showed: seconds of the chosen program, of the one that
    the closed form puts first, and as predicted for the chosen one; the number of the winner in the
    closed form's order (0: its first), and the rank correlation of predicted and measured times.
    """

    seconds: float
    first_s: float
    predicted_s: float
    winner: int
    num_candidates: int
    correlation: float | None


@dataclass(frozen=True, slots=True)
class Description:
    """What tells a program from others of its subject (`costmodels.find_terms`), and the closed
    form's time of the same day."""

    predicted_s: float
    terms: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Lesson:
    """A program that was measured and described. `subject`: equal for those that compete."""

    subject: str
    kernel: str
    description: Description
    seconds: float


@dataclass(frozen=True, slots=True)
class Kept:
    """How many times of a setting there are; `num_described`: in the terms that were asked for."""

    setting: Setting
    num_measured: int
    num_described: int


def default_path() -> Path:
    """`$ISAMAP_DATABASE`, else a file in the user's folder for caches."""
    given = os.environ.get(VARIABLE, "")
    if given:
        return Path(given)
    return cache_folder() / FILE


class Database:
    """Opens the file for each question; processes may share it.

    Raises:
        IsamapError (all methods): the file cannot be made, read or written, is no database or one
            of a newer isamap.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def recall(self, subject: Subject) -> dict[str, Row]:
        """Rows by program digest, but for damaged ones."""
        with self._open() as connection:
            found = connection.execute(
                "SELECT program, predicted_s, seconds, least_s, num_samples, problem"
                " FROM measurement WHERE subject = ?",
                (subject.key,),
            )
            rows = ((program, predicted, _measurement(rest)) for program, predicted, *rest in found)
            return {
                program: Row(program, predicted, measurement)
                for program, predicted, measurement in rows
                if measurement is not None
            }

    def record(self, subject: Subject, rows: Mapping[str, Row]) -> None:
        """Keep rows, in place of older ones."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        marks = ", ".join("?" * (1 + len(COLUMNS)))
        with self._open() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                f"INSERT OR IGNORE INTO subject VALUES ({marks})", (subject.key, *astuple(subject))
            )
            for row in rows.values():
                m = row.measurement
                connection.execute(
                    "INSERT OR REPLACE INTO measurement VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    (subject.key, row.program, row.predicted_s, m.seconds, m.least_s,
                     m.num_samples, m.problem, at),
                )  # fmt: skip
            connection.execute("COMMIT")

    def recall_race(self, subject: Subject, programs: Sequence[str]) -> Race | None:
        """The race of these programs in this order, if it was run and is not damaged."""
        with self._open() as connection:
            row = connection.execute(
                "SELECT spent_s, found FROM race WHERE subject = ? AND programs = ?",
                (subject.key, digest(tuple(programs))),
            ).fetchone()
        found = None if row is None else _parse(row[1])
        if not isinstance(found, list) or len(found) != len(programs) or not _is_number(row[0]):
            return None
        pairs = ((program, _measurement(one)) for program, one in zip(programs, found, strict=True))
        measurements = {program: one for program, one in pairs if one is not None}
        return Race(measurements, row[0]) if len(measurements) == len(programs) else None

    def record_race(self, subject: Subject, race: Race) -> None:
        """Keep a race of programs of a subject that is recorded."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        found = json.dumps([astuple(m)[:-1] for m in race.measurements.values()])
        row = (subject.key, digest(tuple(race.measurements)), race.spent_s, found, at)
        with self._open() as connection:
            connection.execute("INSERT OR REPLACE INTO race VALUES (?, ?, ?, ?, ?)", row)

    def describe(
        self, subject: Subject, version: int, descriptions: Mapping[str, Description]
    ) -> None:
        """Keep descriptions by program digest, in terms of this version; those that are there stay.
        A file in which all are there is not written."""
        with self._open() as connection:
            found = connection.execute(
                "SELECT program FROM description WHERE subject = ? AND version = ?",
                (subject.key, version),
            )
            new = set(descriptions).difference(program for (program,) in found)
            if not new:
                return
            rows = [
                (subject.key, program, version, found.predicted_s, json.dumps(dict(found.terms)))
                for program, found in sorted(descriptions.items())
                if program in new
            ]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR IGNORE INTO description VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute("COMMIT")

    def lessons(self, setting: Setting, version: int) -> tuple[Lesson, ...]:
        """All programs of a setting that ran and are described, those of a subject together.

        Raises:
            IsamapError: also if what is kept of one is damaged.
        """
        alike = " AND ".join(f"s.{column} = ?" for column in SETTING)
        with self._open() as connection:
            found = connection.execute(
                "SELECT s.key, s.kernel, d.predicted_s, d.terms, m.seconds FROM subject s"
                " JOIN measurement m ON m.subject = s.key JOIN description d"
                " ON d.subject = m.subject AND d.program = m.program"
                f" WHERE m.seconds > 0 AND d.version = ? AND {alike} ORDER BY s.key, m.program",
                (version, *astuple(setting)),
            )
            return tuple(self._lesson(*row) for row in found)

    def _lesson(
        self, key: str, kernel: str, predicted_s: object, text: object, seconds: object
    ) -> Lesson:
        terms = _parse(text)
        match predicted_s, seconds, terms:
            case float(), float(), dict() if all(map(_is_number, terms.values())):
                return Lesson(key, kernel, Description(predicted_s, terms), seconds)
        raise self._problem(f"what it says of a program of {kernel} is damaged")

    def settings(self, version: int) -> tuple[Kept, ...]:
        """Of all settings, how much was measured there."""
        columns = ", ".join(f"s.{column}" for column in SETTING)
        with self._open() as connection:
            found = connection.execute(
                f"SELECT {columns}, COUNT(*), COUNT(d.program) FROM subject s"
                " JOIN measurement m ON m.subject = s.key LEFT JOIN description d"
                " ON d.subject = m.subject AND d.program = m.program AND d.version = ?"
                f" WHERE m.seconds > 0 GROUP BY {columns} ORDER BY {columns}",
                (version,),
            )
            return tuple(Kept(Setting(*row[:-2]), *row[-2:]) for row in found)

    def outcome(self, key: str) -> Outcome | None:
        """What a question with this key ended with, if it did and that is not damaged."""
        columns = ", ".join(field.name for field in fields(Outcome))
        with self._open() as connection:
            found = connection.execute(f"SELECT {columns} FROM outcome WHERE key = ?", (key,))
            return _outcome(found.fetchone())

    def finish(self, key: str, subject: Subject, outcome: Outcome) -> None:
        """Keep what a question ended with."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        row = (key, subject.kernel, subject.sizes, *astuple(outcome), at)
        with self._open() as connection:
            marks = ", ".join("?" * len(row))
            connection.execute(f"INSERT OR REPLACE INTO outcome VALUES ({marks})", row)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection to a file with the tables in it."""
        connection: sqlite3.Connection | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=WAIT_S, isolation_level=None)
            self._prepare(connection)
            yield connection
        except (OSError, sqlite3.Error) as error:
            raise self._explain(error) from error
        finally:
            if connection is not None:
                connection.close()  # ends a transaction that was not committed

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Bring a new or an older file to this schema."""
        self._refuse_others(connection)
        if _version(connection) < SCHEMA:
            connection.execute("BEGIN IMMEDIATE")
            for step in STEPS[_version(connection) :]:  # another process may have been quicker
                for command in filter(str.strip, step.split(";")):
                    connection.execute(command)
            newest = max(SCHEMA, _version(connection))
            connection.execute(f"PRAGMA user_version = {newest}")
            connection.execute("COMMIT")
        version = _version(connection)
        if version != SCHEMA:
            raise IsamapError(
                f"{self.path} was written by a newer isamap: its schema is {version}, this isamap"
                f" knows {SCHEMA}",
                hint="give another file with --database, or upgrade isamap",
            )

    def _refuse_others(self, connection: sqlite3.Connection) -> None:
        """Another application's file gets no tables of ours."""
        found = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        )
        names = sorted(name for (name,) in found)
        if names and not {"subject", "measurement"}.issubset(names):
            raise self._problem(f"it holds something else: table {names[0]!r}")

    def _explain(self, error: OSError | sqlite3.Error) -> IsamapError:
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        return self._problem(reason)

    def _problem(self, reason: str) -> IsamapError:
        hint = f"give another file with --database, or set {VARIABLE}"
        return IsamapError(f"the database of measurements {self.path}: {reason}", hint=hint)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    assert isinstance(version, int)
    return version


def _parse(text: object) -> object:
    """What JSON says; None where it is none."""
    try:
        return json.loads(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _measurement(row: object) -> Measurement | None:
    """None where it is damaged."""
    match row:
        case [seconds, None | float() | int() as least_s, int() as num, str() as problem]:
            if seconds is None or _is_time(seconds):
                return Measurement(seconds, least_s, num, problem)
    return None


def _outcome(row: object) -> Outcome | None:
    """None where there is none, or it is damaged."""
    match row:
        case [
            seconds, first_s, float() as predicted_s,
            int() as winner, int() as num_candidates, None | float() as correlation,
        ] if _is_time(seconds) and _is_time(first_s):  # fmt: skip
            return Outcome(seconds, first_s, predicted_s, winner, num_candidates, correlation)
    return None


def _is_time(value: object) -> TypeGuard[float]:
    return _is_number(value) and value > 0


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, float | int) and isfinite(value)
