"""A machine file is read again when it, or what it builds on, was touched."""

import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from isamap.errors import SpecErrors
from isamap.hwdesc import Hardware, load_hardware
from isamap.hwdesc.recall import MOST_KNOWN, recall
from isamap.hwdesc.settings import Setting
from isamap.resources import find_hardware

LONG_AGO = 1_600_000_000


def settled(file: Path, text: str, when: int = LONG_AGO) -> Path:
    """The file, written that long ago."""
    file.write_text(text)
    os.utime(file, (when, when))
    return file


@pytest.fixture
def gemmini(tmp_path: Path) -> str:
    """The text of a machine, which a file beside it builds on."""
    text = Path(find_hardware("gemmini")).read_text()
    settled(tmp_path / "base.yaml", text)
    settled(tmp_path / "own.yaml", "base: base.yaml\nname: own\nsource: none\nclock: 2 GHz\n")
    return text


def test_a_file_that_was_not_touched_is_not_read_again(tmp_path: Path, gemmini: str) -> None:
    own = tmp_path / "own.yaml"
    first = load_hardware(own)
    assert load_hardware(str(own)) is first and first.clock_hz == 2e9
    settled(own, own.read_text().replace("2 GHz", "3 GHz"), LONG_AGO + 1)  # as long as before
    assert load_hardware(own).clock_hz == 3e9
    settled(own, own.read_text().replace("3 GHz", "10 GHz"))  # at the same time as the first
    assert load_hardware(own).clock_hz == 10e9


def test_what_it_builds_on_counts_too(tmp_path: Path, gemmini: str) -> None:
    first = load_hardware(tmp_path / "own.yaml")
    smaller = gemmini.replace("size: 256 KiB", "size: 128 KiB")
    settled(tmp_path / "base.yaml", smaller, LONG_AGO + 1)
    again = load_hardware(tmp_path / "own.yaml")
    assert [m.size_bytes for m in again.memories] != [m.size_bytes for m in first.memories]


def test_a_file_that_was_just_written_is_read_each_time(tmp_path: Path, gemmini: str) -> None:
    own = settled(
        tmp_path / "own.yaml", "base: base.yaml\nname: own\nsource: none\n", int(time.time())
    )
    assert load_hardware(own) is not load_hardware(own)


def test_settings_mistakes_and_files_that_are_gone_are_not_kept(
    tmp_path: Path, gemmini: str
) -> None:
    own = tmp_path / "own.yaml"
    set_otherwise = load_hardware(own, [Setting.of("clock", "5 GHz")])
    assert set_otherwise.clock_hz == 5e9 and load_hardware(own).clock_hz == 2e9
    settled(own, "base: base.yaml\nname: own\nsource: none\nclock: much\n", LONG_AGO + 1)
    for _ in range(2):
        with pytest.raises(SpecErrors):
            load_hardware(own)
    shutil.rmtree(tmp_path)
    with pytest.raises(SpecErrors):
        load_hardware(own)


def test_a_relative_path_is_another_file_elsewhere(
    tmp_path: Path, gemmini: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, clock in (("one", "1 GHz"), ("two", "2 GHz")):
        (tmp_path / name).mkdir()
        settled(
            tmp_path / name / "own.yaml",
            f"base: ../base.yaml\nname: own\nsource: none\nclock: {clock}\n",
        )
        monkeypatch.chdir(tmp_path / name)
        assert load_hardware("own.yaml").clock_hz == float(clock[0]) * 1e9


def test_only_so_many_are_kept(tmp_path: Path, gemmini: str) -> None:
    hw = load_hardware(tmp_path / "own.yaml")
    reads: list[str] = []

    def read(file: Path) -> Hardware:
        reads.append(file.name)
        return replace(hw, files=(str(file),))

    files = [settled(tmp_path / str(number), "") for number in range(MOST_KNOWN + 1)]
    for file in (*files, *files[1:], files[0]):
        recall(file, lambda file=file: read(file))  # type: ignore[misc]
    assert reads == [*map(str, range(MOST_KNOWN + 1)), "0"]
