"""Measurements that outlive the process: two writers, foreign and newer files, paths that fail."""

import multiprocessing
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from isamap.errors import IsamapError
from isamap.measured import Database, Measurement, Outcome, Subject, default_path
from isamap.measured.database import SCHEMA, STEPS, Description, Lesson, Race, Row
from isamap.measured.subject import Setting

SUBJECT = Subject("cpu", "f", "hw", "h", "gemm", "k", "A[2, 3]", "cc 1", "-O2", "0.1")


def rows(*names: str) -> dict[str, Row]:
    return {name: Row(name, 1e-3, Measurement(2e-3, 1e-3, 5)) for name in names}


def test_what_was_recorded_is_there_for_the_same_subject_alone(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "er" / "m.sqlite3"
    Database(file).record(SUBJECT, rows("a", "b"))
    assert Database(file).recall(SUBJECT) == rows("a", "b")
    for field in Subject.__slots__:
        assert Database(file).recall(replace(SUBJECT, **{field: "other"})) == {}, field


def test_a_second_measurement_takes_the_place_of_the_first(tmp_path: Path) -> None:
    database = Database(tmp_path / "m")
    database.record(SUBJECT, rows("a"))
    newer = {"a": Row("a", 1e-3, Measurement(None, problem="crashed"))}
    database.record(SUBJECT, newer)
    assert database.recall(SUBJECT) == newer


def write_many(path: Path, start: int) -> None:
    for number in range(start, start + 25):
        Database(path).record(SUBJECT, rows(str(number)))


def test_two_processes_write_at_once_into_a_file_that_neither_made(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("fork")
    both = [spawn.Process(target=write_many, args=(tmp_path / "m", n)) for n in (0, 25)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert set(Database(tmp_path / "m").recall(SUBJECT)) == {str(n) for n in range(50)}


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    database = Database(tmp_path / "m")
    database.record(SUBJECT, rows("a"))
    nothing: float = None  # type: ignore[assignment]
    bad = {name: Row(name, when, Measurement(1.0)) for name, when in (("b", 1.0), ("c", nothing))}
    with pytest.raises(IsamapError, match="NOT NULL constraint failed: measurement.predicted_s"):
        database.record(SUBJECT, bad)
    assert set(database.recall(SUBJECT)) == {"a"}


def test_a_file_of_a_newer_isamap_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "m"
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(IsamapError) as caught:
        Database(file).recall(SUBJECT)
    assert caught.value.message == (
        f"{file} was written by a newer isamap: its schema is 7, this isamap knows 4"
    )
    assert caught.value.hint == "give another file with --database, or upgrade isamap"


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but long enough to be looked at: " * 40)
    with pytest.raises(IsamapError, match=f"{file}: file is not a database") as caught:
        Database(file).recall(SUBJECT)
    assert "--database" in caught.value.hint
    assert file.read_text().startswith("not a database")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IsamapError, match="file/m: (Not a directory|File exists)") as caught:
        Database(tmp_path / "file" / "m").record(SUBJECT, rows("a"))
    assert "ISAMAP_DATABASE" in caught.value.hint


def test_a_folder_that_cannot_be_written_is_named() -> None:
    if not Path("/proc/self").is_dir():
        pytest.skip("needs a folder where nobody, not even root, may write")
    with pytest.raises(IsamapError, match="the database of measurements /proc/self/m: "):
        Database(Path("/proc/self/m")).record(SUBJECT, rows("a"))


def test_the_default_file_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("ISAMAP_DATABASE", "/elsewhere/m")
    assert default_path() == Path("/elsewhere/m")
    monkeypatch.delenv("ISAMAP_DATABASE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert default_path() == Path("/caches/isamap/measurements.sqlite3")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_path() == Path("/home/me/.cache/isamap/measurements.sqlite3")


@pytest.mark.parametrize("schema", range(1, SCHEMA))
def test_a_file_of_an_older_schema_is_brought_to_this_one(schema: int, tmp_path: Path) -> None:
    file = tmp_path / "m"
    connection = sqlite3.connect(file)
    connection.executescript("".join(STEPS[:schema]) + f"PRAGMA user_version = {schema};")
    connection.close()
    outcome = Outcome(1.0, 2.0, 3.0, 1, 8, None)
    Database(file).record(SUBJECT, rows("a"))
    Database(file).finish("key", SUBJECT, outcome)
    assert Database(file).outcome("key") == outcome
    assert Database(file).outcome("other") is None
    assert Database(file).recall(SUBJECT) == rows("a")


SETTING = Setting("cpu", "f", "hw", "h", "cc 1", "-O2", "0.1")
ABOUT = {name: Description(1e-3, {"cycles": 20.5, "unit mac": 0.25}) for name in ("a", "b")}


def test_what_was_described_is_found_with_its_times_in_the_same_setting_alone(
    tmp_path: Path,
) -> None:
    database = Database(tmp_path / "m")
    database.record(SUBJECT, {**rows("a", "c"), "b": Row("b", 1.0, Measurement(None))})
    database.describe(SUBJECT, 1, ABOUT)
    other = replace(SUBJECT, kernel="conv", kernel_digest="c", sizes="X[9]")
    database.record(other, rows("a"))
    database.describe(other, 1, ABOUT)
    found = database.lessons(SETTING, 1)
    assert sorted(found, key=lambda lesson: lesson.kernel) == [
        Lesson(other.key, "conv", ABOUT["a"], 2e-3),
        Lesson(SUBJECT.key, "gemm", ABOUT["a"], 2e-3),  # not b, which failed; not c, without terms
    ]
    assert database.lessons(SETTING, 2) == ()
    for field in Setting.__slots__:
        assert database.lessons(replace(SETTING, **{field: "other"}), 1) == (), field
    (kept,) = database.settings(1)
    assert (kept.setting, kept.num_measured, kept.num_described) == (SETTING, 3, 2)


def test_descriptions_stay_and_a_file_that_has_them_is_not_written(tmp_path: Path) -> None:
    database = Database(tmp_path / "m")
    database.record(SUBJECT, rows("a", "b"))
    database.describe(SUBJECT, 1, ABOUT)
    before = (tmp_path / "m").read_bytes()
    database.describe(SUBJECT, 1, {"a": Description(9.0, {})})
    assert (tmp_path / "m").read_bytes() == before
    database.describe(SUBJECT, 2, {"a": Description(9.0, {})})
    assert len(database.lessons(SETTING, 1)) == 2
    (lesson,) = database.lessons(SETTING, 2)
    assert lesson.description == Description(9.0, {})


def execute(path: Path, command: str, *values: object) -> None:
    """As a person does who edits the file."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(command, values)
    connection.close()


WHOLE = '[1.0, 1.0, 5, ""]'


@pytest.mark.parametrize(
    "column, value",
    [
        *(("found", text) for text in ("junk", "{}", "[]", "7", "[[1]]", "[1, 2]", b"\xff")),
        ("found", f"[{WHOLE}]"),  # of two programs
        *(("found", f'[{WHOLE}, [{s}, 1.0, 5, ""]]') for s in ("-1.0", "NaN", '"x"')),
        ("spent_s", "x"),
    ],
)
def test_a_damaged_race_is_none_and_another_one_takes_its_place(
    column: str, value: object, tmp_path: Path
) -> None:
    database = Database(tmp_path / "m")
    race = Race({name: Measurement(2e-3, 1e-3, 5) for name in ("a", "b")}, 1.5)
    database.record(SUBJECT, rows("a", "b"))
    database.record_race(SUBJECT, race)
    execute(tmp_path / "m", f"UPDATE race SET {column} = ?", value)
    assert database.recall_race(SUBJECT, ["a", "b"]) is None
    database.record_race(SUBJECT, race)
    assert database.recall_race(SUBJECT, ["a", "b"]) == race


@pytest.mark.parametrize("seconds", ["abc", -1, 0, float("inf")])
def test_damaged_times_count_as_not_measured(seconds: object, tmp_path: Path) -> None:
    database = Database(tmp_path / "m")
    database.record(SUBJECT, rows("a", "b"))
    database.finish("key", SUBJECT, Outcome(1.0, 2.0, 3.0, 1, 8, None))
    execute(tmp_path / "m", "UPDATE measurement SET seconds = ? WHERE program = 'a'", seconds)
    execute(tmp_path / "m", "UPDATE outcome SET seconds = ?", seconds)
    assert database.recall(SUBJECT) == rows("b")
    assert database.outcome("key") is None


@pytest.mark.parametrize(
    "command",
    [
        *(f"UPDATE description SET terms = '{text}'" for text in ("x", "[]", '{"cycles": "x"}')),
        "UPDATE description SET predicted_s = 'x'",
        "UPDATE measurement SET seconds = 'x'",
    ],
)
def test_damaged_lessons_name_the_file(command: str, tmp_path: Path) -> None:
    database = Database(tmp_path / "m")
    database.record(SUBJECT, rows("a", "b"))
    database.describe(SUBJECT, 1, ABOUT)
    execute(tmp_path / "m", command)
    with pytest.raises(IsamapError, match="what it says of a program of gemm is damaged") as caught:
        database.lessons(SETTING, 1)
    assert str(tmp_path / "m") in caught.value.message
    assert "--database" in caught.value.hint


@pytest.mark.parametrize("version", [0, 3, SCHEMA, 9])
def test_the_file_of_another_application_gets_no_tables(version: int, tmp_path: Path) -> None:
    file = tmp_path / "history"
    execute(file, "CREATE TABLE visits (url TEXT)")
    execute(file, f"PRAGMA user_version = {version}")
    before = file.read_bytes()
    with pytest.raises(IsamapError, match=f"{file}: it holds something else: table 'visits'"):
        Database(file).record(SUBJECT, rows("a"))
    assert file.read_bytes() == before
