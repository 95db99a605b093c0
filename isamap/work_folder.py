"""Folders for what is made and read within a moment: texts for a compiler, what it makes of them.

In: nothing. Out: a folder that goes when its block ends. Not its job: what lasts (`cache_folder`).
"""

import shutil
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PREFIX = "isamap-work-"
LEFT_SECONDS = 24 * 3600  # nobody works in one for so long


def work_folder() -> TemporaryDirectory[str]:
    """A new one. Those that killed processes left behind go when they are old."""
    _drop_left(gettempdir())
    return TemporaryDirectory(prefix=PREFIX)


@cache
def _drop_left(among: str) -> None:
    """Once is enough for a process; those that others have made stay."""
    oldest = time.time() - LEFT_SECONDS
    for folder in Path(among).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if folder.lstat().st_mtime < oldest:
                shutil.rmtree(folder)
