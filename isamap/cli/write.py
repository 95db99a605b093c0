"""Write a file so that nobody ever sees half of it.

In: a path and text. Out: the file. Not its job: what the text says.
"""

import json
import os
import tempfile
from pathlib import Path

from isamap.errors import IsamapError


def write_text(path: str, text: str) -> None:
    """Write a temporary file beside `path` and put it in its place; `-` is standard output.

    Raises:
        IsamapError: the folder cannot be written.
    """
    if path == "-":
        print(text, end="")
        return
    target = Path(path)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o666 & ~current_umask())
        os.replace(temporary, target)
    except OSError as error:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
        raise IsamapError(f"cannot write {path}: {error.strerror}") from error


def current_umask() -> int:
    """The process's file mode mask (there is no way to read it without setting it)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: str, data: object) -> None:
    """`data` as indented JSON with a final newline."""
    write_text(path, json.dumps(data, indent=2, ensure_ascii=False) + "\n")
