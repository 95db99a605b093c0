"""Write a file so that nobody ever sees half of it.

In: a path and text or data. Out: the file. Not its job: what it says.
"""

import json
from collections.abc import Collection, Iterable
from pathlib import Path

from isamap.errors import IsamapError
from isamap.write_all import check_folder, check_target, is_stream, real_path, write_all


def check_places(
    *paths: str | None, folder: str | None = None, inside: Collection[str] = ()
) -> None:
    """Before anything is searched: could `write_text` write to all of these, and could files of the
    names `inside` be put into `folder`, which need not be there? `None` and one `-` are fine.

    Raises:
        IsamapError: a folder is missing, or closed, or two would be written to one file.
    """
    taken: set[Path] = set()
    if folder is not None:
        check_folder(Path(folder))
        check_apart(folder, *paths)
        taken = {real_path(Path(folder, name)) for name in inside}
    if paths.count("-") > 1:
        raise _lost("standard output")
    for path in map(Path, _files(paths)):
        check_target(path)
        place = real_path(path)
        if place in taken and not is_stream(path):  # into a pipe several may be written
            raise _lost(path)
        taken.add(place)


def check_apart(place: str | None, *files: str | None) -> None:
    """Before anything is searched: is a folder, or a database, none of the files?

    Raises:
        IsamapError: it is, or it lies below one as if that were a folder.
    """
    if place is None:
        return
    whole = real_path(Path(place))
    for file in map(Path, _files(files)):
        if real_path(file) in (whole, *whole.parents):
            raise _lost(file)


def _files(paths: Iterable[str | None]) -> list[str]:
    """All but standard output."""
    return [path for path in paths if path is not None and path != "-"]


def _lost(where: str | Path) -> IsamapError:
    return IsamapError(f"two outputs are to be written to {where}: one would be lost")


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
