"""Folders for a moment: they go, also those of processes that were killed.

In: folders of other ages. Out: verdicts. Not its job: what is done in them.
"""

import os
import time
from pathlib import Path

import pytest

from isamap.work_folder import LEFT_SECONDS, PREFIX, work_folder


def test_what_killed_processes_left_goes_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names = [f"{PREFIX}old", f"{PREFIX}new", "old", f"{PREFIX}file"]
    for name in names[:3]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "program").touch()
    (tmp_path / names[3]).touch()
    long_ago = time.time() - LEFT_SECONDS - 60
    for name in (names[0], *names[2:]):
        os.utime(tmp_path / name, (long_ago, long_ago))
    with work_folder() as own:
        found = {path.name for path in tmp_path.iterdir()}
        assert found == {*names[1:], Path(own).name}, "only an old folder of its own name went"
    assert {path.name for path in tmp_path.iterdir()} == {*names[1:]}
