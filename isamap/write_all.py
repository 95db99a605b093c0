"""Write several files so that a reader finds all of them new or all of them old.

In: paths and texts, or bytes. Out: the files. Not its job: what they say.
"""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from isamap.errors import IsamapError


def make_folder(folder: Path) -> None:
    """Make a folder, with those around it, unless it is there.

    Raises:
        IsamapError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise IsamapError(f"cannot make the folder {folder}: {error.strerror}") from error


def real_path(path: Path) -> Path:
    """Where links lead, there or not: a renaming would put a file in a link's place. Of links that
    lead to each other, one of them: `Path.resolve` raises then."""
    return Path(os.path.realpath(path))


def is_stream(path: Path) -> bool:
    """Is something there that takes text and is no file? A renaming would put one in its place."""
    return path.exists() and not path.is_file() and not path.is_dir()


def check_target(path: Path) -> None:
    """Could a file be put there, as far as one can say before it is written?

    Raises:
        IsamapError: it could not.
    """
    real = real_path(path)
    folder = real.parent
    reason = ""
    if path.is_dir():
        reason = "Is a directory"
    elif real.is_symlink():
        reason = "Too many levels of symbolic links"
    elif is_stream(path):
        reason = "" if os.access(path, os.W_OK) else "Permission denied"
    elif not folder.is_dir():
        reason = "Not a directory" if folder.exists() else "No such file or directory"
    elif not os.access(folder, os.W_OK | os.X_OK):
        reason = "Permission denied"
    if reason:
        raise IsamapError(f"cannot write {path}: {reason}")


def check_folder(folder: Path) -> None:
    """Could `make_folder` make it, and files be put there, as far as one can say before?

    Raises:
        IsamapError: they could not.
    """
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    reason = "" if there.is_dir() else "Not a directory"
    if not reason and not os.access(there, os.W_OK | os.X_OK):
        reason = "Permission denied"
    if reason:
        raise IsamapError(f"cannot write into the folder {folder}: {reason}")


def write_all(texts: Mapping[Path, str | bytes]) -> None:
    """Write temporary files beside the paths, then put all of them in their places; of a link, in
    the place that it names. What is there and no file (a pipe, `/dev/null`) is written to, before
    that.

    Whatever fails, the old files are there again afterwards. (A computer that stops between two
    renamings leaves some new and some old, each of them whole.)

    Raises:
        IsamapError: a folder or a file cannot be written.
    """
    made: dict[Path, Path] = {}
    target = Path()
    try:
        streams = [target for target in texts if is_stream(target)]
        for target, text in texts.items():
            if target not in streams:
                real = real_path(target)
                made[real] = _write_beside(real, text)
        for target in streams:
            target.write_bytes(_as_bytes(texts[target]))
        _replace(made)
    except OSError as error:
        place = error.filename2 or target  # where a renaming failed
        raise IsamapError(f"cannot write {place}: {error.strerror}") from error
    finally:
        for temporary in made.values():
            temporary.unlink(missing_ok=True)


def _as_bytes(text: str | bytes) -> bytes:
    return text.encode("utf-8") if isinstance(text, str) else text


def _write_beside(target: Path, text: str | bytes) -> Path:
    """A temporary file in the folder of `target`, with the rights that a new file gets."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_as_bytes(text))
        os.chmod(name, 0o666 & ~_current_umask())
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return Path(name)


def _replace(made: Mapping[Path, Path]) -> None:
    """Rename each temporary file to its target; on a failure undo what was done."""
    old: dict[Path, Path | None] = {}
    replaced: list[Path] = []
    try:
        for target, temporary in made.items():
            old[target] = _second_name(target)
            os.replace(temporary, target)
            replaced.append(target)
    except BaseException:
        for target in replaced:
            before = old[target]
            if before is None:
                target.unlink()
            else:
                os.replace(before, target)
        raise
    finally:
        for before in old.values():
            if before is not None:
                before.unlink(missing_ok=True)


def _second_name(target: Path) -> Path | None:
    """Another name of the file that is there now; None if there is none."""
    if not target.is_file():
        return None
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.old.")
    os.close(handle)
    os.unlink(name)
    os.link(target, name)
    return Path(name)


def _current_umask() -> int:
    """The process's file mode mask (there is no way to read it without setting it)."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
