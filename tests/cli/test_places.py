"""Places where nothing can be written are refused before anything is searched.

In: commands whose next mistake would be a kernel that does not exist. Out: messages. Not its job:
files of views (`test_views`).
"""

from pathlib import Path

import pytest
from click.testing import CliRunner

import isamap
from isamap.cli.main import main

COMMANDS = {
    "map": ["map", "gem", "--hw", "gemmini"],
    "explore": ["explore", "gem", "--hw", "gemmini"],
    "build": ["build", "gem", "--hw", "x86_avx2"],
    "tune": ["tune", "gem", "--hw", "x86_avx2"],
    "evaluate": ["evaluate", "none.yaml"],
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()


def refused(command: str, *arguments: str) -> str:
    done = CliRunner().invoke(main, [*COMMANDS[command], *arguments])
    assert done.exit_code == 2, done.output
    return done.output


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "tune"])
@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_where_a_file_is_is_refused(command: str, folder: str) -> None:
    message = f"cannot write into the folder {folder}: Not a directory"
    assert message in refused(command, "-o", folder)
    assert "gem" in refused(command, "-o", "new/folder") or command == "evaluate"
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("command", "first", "second"),
    [
        ("map", "-o", "--json"),
        ("map", "-o", "--program"),
        ("map", "-o", "--report"),
        ("map", "--database", "--json"),
        ("explore", "-o", "--csv"),
        ("explore", "-o", "--json"),
        ("explore", "--cache", "--json"),
        ("build", "-o", "--database"),
        ("evaluate", "-o", "--trace"),
        ("tune", "--database", "--json"),
    ],
)
def test_two_outputs_are_not_written_to_one_place(command: str, first: str, second: str) -> None:
    message = "two outputs are to be written to new: one would be lost"
    for below in ("new", "./new", "new/below"):
        assert message in refused(command, first, below, second, "new")
    assert message not in refused(command, first, "new", second, "other")


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("map", "-o", "new", "--json"), "new/program.json"),
        (("map", "-o", "new", "--emit", "bin", "--trace"), "new/manifest.json"),
        (("map", "-o", "new", "--emit", "timeloop", "--report"), "new/timeloop_problem.yaml"),
        (("evaluate", "-o", "new", "--report"), "new/stats.json"),
        (("explore", "-o", "new", "--csv"), "new/explore.csv"),
    ],
)
def test_files_of_the_folder_are_not_written_over(arguments: tuple[str, ...], place: str) -> None:
    Path("new").mkdir()
    message = "one would be lost"
    assert f"two outputs are to be written to {place}: {message}" in refused(*arguments, place)
    assert message not in refused(*arguments, "new/other")
    Path(place).symlink_to("../file")  # the folder's file is written where the link leads
    assert message in refused(*arguments, "file")


def test_links_that_lead_to_each_other_are_no_place() -> None:
    Path("there").symlink_to("back")
    Path("back").symlink_to("there")
    message = "cannot write there: Too many levels of symbolic links"
    assert message in refused("map", "--json", "there")
    assert message in refused("tune", "--database", "back", "--json", "there")
    assert "into the folder back: Not a directory" in refused("build", "-o", "back")


def test_python_says_so_too() -> None:
    with pytest.raises(isamap.IsamapError, match="into the folder file: Not a directory"):
        isamap.build("gem", "x86_avx2", out="file")
