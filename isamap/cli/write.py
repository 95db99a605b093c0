"""Write a file so that nobody ever sees half of it.

In: a path and text or data. Out: the file. Not its job: what it says.
"""

import json
import os
from pathlib import Path

from isamap.errors import IsamapError
from isamap.write_all import check_folder, check_target, write_all


def check_places(*paths: str | None, folder: str | None = None) -> None:
    """Before anything is searched: could `write_text` write to all of these, and could files be put
    into `folder`, which need not be there? `None` and one `-` are fine.

    Raises:
        IsamapError: a folder is missing, or closed, or two would be written to one file.
    """
    if folder is not None:
        check_folder(Path(folder))
        check_apart(folder, *paths)
    taken: set[Path | str] = set()
    for path in paths:
        if path is None:
            continue
        if path != "-":
            check_target(Path(path))
        place = path if path == "-" else _real(path)
        if place in taken and not _is_sink(path):
            raise _lost("standard output" if path == "-" else path)
        taken.add(place)


def check_apart(place: str | None, *files: str | None) -> None:
    """Before anything is searched: is a folder, or a database, none of the files?

    Raises:
        IsamapError: it is, or it lies below one as if that were a folder.
    """
    if place is None:
        return
    whole = _real(place)
    for file in files:
        if file is not None and file != "-" and _real(file) in (whole, *whole.parents):
            raise _lost(file)


def _real(path: str) -> Path:
    """Without links; of links that lead to each other, with them: `Path.resolve` raises then."""
    return Path(os.path.realpath(path))


def _lost(where: str) -> IsamapError:
    return IsamapError(f"two outputs are to be written to {where}: one would be lost")


def _is_sink(path: str) -> bool:
    """May several be written there, one after the other? Not to standard output, which one program
    reads."""
    return path != "-" and Path(path).exists() and not Path(path).is_file()


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
