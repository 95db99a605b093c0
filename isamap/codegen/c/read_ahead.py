"""Headers that a compiler has read once are kept for later files.

In: a compiler with its flags, headers. Out: flags by which it begins with the headers as it read
them before. Not its job: compiling C files (`toolchain`).

Reading immintrin.h takes half of a small file's time. Keeping it read takes as long as reading it a
few times: that is done for the file by which the compiler would have read it so often, so that
nobody ever waits twice as long as was needed (the ski rental problem). C files include the headers
nevertheless, and find that they were read.

There is a folder per compiler, flags and headers. What was read is noted by size and time of
change, and is read anew once any of it differs.
"""

import hashlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from isamap.cache_folder import cache_folder

ENOUGH = 4  # files, after which reading the headers has taken as long as keeping them
KEPT = 6  # folders, of up to 30 MB each, those used last
LIMIT_S = 60  # for reading them
PLACES = ("CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX")  # where compilers look
HEADER, READ, NOTE, USES, BUSY, USELESS = "all.h", "all.h.gch", "note", "uses", "busy", "useless"


def read_ahead(
    command: Sequence[str], version: str, headers: Sequence[str], num_files: int
) -> tuple[str, ...]:
    """Further flags for this many files that `command`, a compiler with all flags, is to compile;
    none where that is not worth it yet, or where nothing can be kept."""
    if not headers:
        return ()
    folder = _folder(command, version, headers)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / USELESS).exists() or not _is_read(folder, command, headers, num_files):
            return ()
        os.utime(folder)
    except OSError:
        return ()
    return ("-include", str(folder / HEADER))


def give_up(flags: tuple[str, ...]) -> None:
    """What `read_ahead` gave makes the compiler stumble (GCC 12 does over headers of SVE)."""
    with suppress(OSError):
        Path(flags[-1]).with_name(USELESS).touch()


def _folder(command: Sequence[str], version: str, headers: Sequence[str]) -> Path:
    found = [f"{name}={os.environ.get(name, '')}" for name in PLACES]
    words = [str(Path(command[0]).resolve()), version, *command[1:], *headers, *found]
    key = hashlib.sha256("\0".join(words).encode()).hexdigest()
    return cache_folder() / "headers" / key[:20]


def _is_read(folder: Path, command: Sequence[str], headers: Sequence[str], num_files: int) -> bool:
    """Are the headers read as they are now? They may be read for that, if it is worth it."""
    if (folder / READ).exists() and _note(_noted(folder)) == _text(folder / NOTE):
        return True
    with open(folder / USES, "ab") as uses:
        uses.write(b"." * num_files)
        if uses.tell() < ENOUGH:
            return False
    with _alone(folder) as is_alone:
        return is_alone and _read(folder, command, headers)


def _read(folder: Path, command: Sequence[str], headers: Sequence[str]) -> bool:
    """Let the compiler read them, note what it read, and make room."""
    with suppress(FileExistsError), open(folder / HEADER, "x") as file:
        file.write("".join(f"#include <{header}>\n" for header in headers))
    made, rule = folder / "made", folder / "rule"
    ask = [*command, "-x", "c-header", "-MD", "-MF", str(rule), "-o", str(made)]
    if not _succeeds([*ask, str(folder / HEADER)]):
        (folder / USELESS).touch()
        return False
    (folder / READ).unlink(missing_ok=True)  # it is never there beside a later note
    (folder / NOTE).write_text(_note(_prerequisites(rule.read_text())))
    made.replace(folder / READ)
    others = sorted(folder.parent.iterdir(), key=lambda other: -other.stat().st_mtime)
    for other in [other for other in others if other != folder][KEPT - 1 :]:
        shutil.rmtree(other, ignore_errors=True)
    return True


def _succeeds(command: Sequence[str]) -> bool:
    """In time."""
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False
    return not done.returncode


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Is nobody else reading the headers now? Who was killed while he did is not waited for."""
    busy = folder / BUSY
    with suppress(FileNotFoundError):
        if time.time() - busy.stat().st_mtime > 2 * LIMIT_S:
            busy.unlink()
    try:
        busy.touch(exist_ok=False)
    except FileExistsError:
        yield False
        return
    try:
        yield True
    finally:
        busy.unlink(missing_ok=True)


def _prerequisites(rule: str) -> list[str]:
    """Files that a rule in make's language names behind its target."""
    words = re.split(r"(?<!\\)\s+", rule.partition(": ")[2].replace("\\\n", " ").strip())
    return [word.replace("\\ ", " ") for word in words]


def _note(paths: Sequence[str]) -> str:
    """A line per file: size, time of change, name; a file that is gone has neither."""
    rows = []
    for path in paths:
        try:
            found = os.stat(path)
            rows.append(f"{found.st_size} {found.st_mtime_ns} {path}\n")
        except OSError:
            rows.append(f"- - {path}\n")
    return "".join(rows)


def _noted(folder: Path) -> list[str]:
    return [line.split(" ", 2)[2] for line in _text(folder / NOTE).splitlines()]


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
