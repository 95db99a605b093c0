"""Python files of users are executed as they are now."""

import os
import sys
from pathlib import Path

import pytest

from isamap.import_file import import_file


def test_a_file_is_executed_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not as it was when another text of the same length was written in the same second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "mine.py"
    for number in (7, 8, 9):
        file.write_text(f"value = {number}\n")
        os.utime(file, (1_600_000_000, 1_600_000_000))
        assert vars(import_file(file, "isamap_test"))["value"] == number


def test_only_python_files_are_executed(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("value = 7\n")
    with pytest.raises(ImportError, match="it must be a .py file"):
        import_file(tmp_path / "mine.txt", "isamap_test")
