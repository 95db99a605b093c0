"""Write a file so that nobody ever sees half of it.

In: a path and text or data. Out: the file. Not its job: what it says.
"""

import json
from pathlib import Path

from isamap.write_all import check_target, write_all


def check_places(*paths: str | None) -> None:
    """Before anything is searched: could `write_text` write there? `None` and `-` are fine.

    Raises:
        IsamapError: a folder is missing, or closed.
    """
    for path in paths:
        if path is not None and path != "-":
            check_target(Path(path))


def write_text(path: str, text: str) -> None:
    """Write a file; `-` is standard output.

    Raises:
        IsamapError: the folder cannot be written.
    """
    if path == "-":
        print(text, end="")
    else:
        write_all({Path(path): text})


def write_json(path: str, data: object) -> None:
    """`data` as indented JSON with a final newline."""
    write_text(path, json_text(data))


def json_text(data: object) -> str:
    """Indented, with a final newline."""
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
