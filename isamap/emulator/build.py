"""Compile C text with the system's compiler and run it as its own process.

In: C text, flags, arguments. Out: what it printed. Not its job: writing the C, understanding the
answer.
Executables are kept in a cache directory ($ISAMAP_CACHE_DIR, or the user's cache), named by a hash
of everything that
decides them. A crash or an endless loop of generated code ends that process, not this one.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from isamap.c_compiler import expect_made, find_compiler, run_compiler
from isamap.errors import IsamapError
from isamap.work_folder import work_folder

# floats must round after every operation, integers wrap, bytes may alias
FLAGS = (
    "-std=gnu11",
    "-march=native",
    "-ffp-contract=off",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-w",
)
MAX_CACHED_FILES = 500
COMPILE_SECONDS = 300


def compile_c(text: str, optimisation: str = "-O3", defines: tuple[str, ...] = ()) -> Path:
    """The executable made from `text`, from the cache when it was made before.

    Raises:
        IsamapError: no compiler, it failed (its first lines are in the message) or took too long,
            or there is no room for what it makes.
    """
    compiler = find_compiler()
    if not compiler:
        raise IsamapError("no C compiler found", hint="install gcc or clang, or set CC")
    flags = (optimisation, *FLAGS, *defines)
    key = "\0".join((text, *compiler, *flags, _processor()))
    name = "emulator-" + hashlib.sha256(key.encode()).hexdigest()[:32]
    for folder in _folders():
        if (folder / name).exists():
            return folder / name
    with work_folder() as work:
        source, made = Path(work, "program.c"), Path(work, "program")
        source.write_text(text)
        command = [*compiler, *flags, str(source), "-lm", "-o", str(made)]
        expect_made(run_compiler(command, COMPILE_SECONDS), command[0], made, 600)
        return _keep(made, name)


def _keep(made: Path, name: str) -> Path:
    """Put an executable into the first folder that has room."""
    problem = "no folder can be written"
    for folder in _folders():
        try:
            with tempfile.TemporaryDirectory(dir=folder) as beside:
                copy = shutil.copy(made, beside)
                os.replace(copy, folder / name)  # atomic: another process may do the same
        except OSError as error:
            problem = f"cannot write {folder / name}: {error.strerror}"
            continue
        _drop_old(folder)
        return folder / name
    raise IsamapError(problem, hint="name a folder with room by ISAMAP_CACHE_DIR")


def run_executable(
    path: Path, arguments: tuple[str, ...], timeout_s: float, files: tuple[int, ...] = ()
) -> str:
    """Standard output of the executable, whatever its exit status means.

    Args:
        files: open here, and there by the same numbers.

    Raises:
        IsamapError: it cannot be run, ran longer than `timeout_s`, or a signal ended it.
    """
    try:
        done = subprocess.run(
            [str(path), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
            pass_fds=files,
            process_group=0,  # Ctrl-C is for this process to answer
        )
    except subprocess.TimeoutExpired:
        raise IsamapError(
            f"the emulated program ran longer than {timeout_s:g} s",
            hint="give the emulator a larger timeout_s",
        ) from None
    except OSError as error:
        raise IsamapError(
            f"cannot run {path}: {error.strerror}",
            hint="name a folder that allows execution by ISAMAP_CACHE_DIR",
        ) from error
    if done.returncode < 0 or not done.stdout:
        raise IsamapError(f"the compiled emulator ended with status {done.returncode}")
    return done.stdout


@cache
def _processor() -> str:
    """What `-march=native` depends on."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    words = sorted({line for line in lines if line.startswith(("flags", "model name", "Features"))})
    return platform.machine() + platform.processor() + "".join(words)


def _folders() -> Iterator[Path]:
    """Writable directories for executables: the cache, and the user's own for what need not last
    (others may put folders there, too)."""
    chosen = os.environ.get("ISAMAP_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    own = Path(tempfile.gettempdir(), f"isamap-{os.getuid()}")
    for folder in (Path(chosen) if chosen else Path(home, "isamap"), own):
        try:
            folder.mkdir(mode=0o700 if folder == own else 0o777, parents=True, exist_ok=True)
            is_safe = folder != own or folder.stat().st_uid == os.getuid()
        except OSError:
            continue
        if is_safe and os.access(folder, os.W_OK):
            yield folder


def _drop_old(folder: Path) -> None:
    """Keep the newest executables only."""
    files = sorted(folder.glob("emulator-*"), key=_age, reverse=True)
    for path in files[MAX_CACHED_FILES:]:
        path.unlink(missing_ok=True)


def _age(path: Path) -> float:
    return path.stat().st_mtime if path.exists() else 0.0
