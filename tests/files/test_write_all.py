"""Files that are written all together or not at all.

In: folders, failures on purpose. Out: verdicts. Not its job: what the files say.
"""

import os
from pathlib import Path

import pytest

from isamap.errors import IsamapError
from isamap.write_all import check_folder, check_target, make_folder, write_all


def contents(folder: Path) -> dict[str, str]:
    """Everything in a folder."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.iterdir())}


def test_all_files_are_there_with_ordinary_rights_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    make_folder(folder)
    make_folder(folder)
    write_all({folder / "a": "1", folder / "b": "2"})
    assert contents(folder) == {"a": "1", "b": "2"}
    plain = tmp_path / "plain"
    plain.write_text("")
    assert (folder / "a").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_failing_rename_leaves_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    write_all({tmp_path / "a": "old a", tmp_path / "c": "old c"})
    replace, calls = os.replace, []

    def replace_or_fail(source: Path, target: Path) -> None:
        calls.append(target)
        if len(calls) == failing:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr("isamap.write_all.os.replace", replace_or_fail)
    with pytest.raises(IsamapError, match="cannot write .*: No space left on device"):
        write_all({tmp_path / name: f"new {name}" for name in "abc"})
    assert contents(tmp_path) == {"a": "old a", "c": "old c"}


def test_the_place_that_is_taken_by_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(IsamapError, match=r"cannot write .*/a: Is a directory"):
        write_all({tmp_path / "a": "1", tmp_path / "b": "2"})
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_folders_are_made_only_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(IsamapError, match="cannot write .*: No such file or directory"):
        write_all({tmp_path / "nowhere" / "a": "1"})
    (tmp_path / "file").write_text("")
    with pytest.raises(IsamapError, match="cannot make the folder"):
        make_folder(tmp_path / "file" / "below")
    assert contents(tmp_path) == {"file": ""}


def test_a_closed_folder_is_told_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_folder(tmp_path / "new" / "folder")
    monkeypatch.setattr("isamap.write_all.os.access", lambda path, mode: False)
    with pytest.raises(IsamapError, match="into the folder .*/new/folder: Permission denied"):
        check_folder(tmp_path / "new" / "folder")
    assert contents(tmp_path) == {}


def test_failing_write_leaves_the_old_files(tmp_path: Path) -> None:
    write_all({tmp_path / "a": "old"})
    unwritable = tmp_path / "a" / "below a file"
    with pytest.raises(IsamapError, match="cannot write"):
        write_all({tmp_path / "a": "new", unwritable: "new"})
    assert contents(tmp_path) == {"a": "old"}


def test_text_that_cannot_be_encoded_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_all({tmp_path / "a": "fine", tmp_path / "b": "\ud800"})
    assert contents(tmp_path) == {}


def test_what_a_link_names_is_written_and_the_link_stays(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "old").write_text("old")
    links = [tmp_path / name for name in ("to old", "to new", "to nowhere")]
    for link, name in zip(links, ("old", "new", "nowhere/new"), strict=True):
        link.symlink_to(Path("far", name))
    old, new, nowhere = links
    second = tmp_path / "second"
    second.symlink_to(old)
    check_target(new)
    write_all({second: "1", new: "2"})
    assert contents(far) == {"new": "2", "old": "1"}
    assert all(link.is_symlink() for link in (second, *links))
    for write in (check_target, lambda path: write_all({path: "3"})):
        with pytest.raises(IsamapError, match="cannot write .*: No such file or directory"):
            write(nowhere)


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)  # else the writer waits for one
    try:
        check_target(pipe)
        write_all({pipe: "1", tmp_path / "a": "2"})
        assert os.read(reader, 9) == b"1"
    finally:
        os.close(reader)
    assert pipe.is_fifo() and (tmp_path / "a").read_text() == "2"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "pipe"]


def test_devices_are_written_to_and_stay_devices(tmp_path: Path) -> None:
    """In the folder of devices no file can be put beside them, or, for root, over them."""
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    check_target(link)
    write_all({link: "1"})
    assert link.is_symlink() and link.is_char_device()
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    with pytest.raises(IsamapError, match="cannot write .*/full: No space left on device"):
        write_all({tmp_path / "a": "1", full: "2"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "null"]
