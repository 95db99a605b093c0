"""The C compiler of this machine: which one, and what it answers.

In: $CC, where programs are looked for; commands. Out: the words that a command begins with, what
the compiler answers. Not its job: flags.
"""

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from .errors import IsamapError

COMPILERS = ("cc", "gcc", "clang")
OTHER_COMPILER = "CC names another compiler: CC=gcc"


def find_compiler(own: str | None = None) -> tuple[str, ...]:
    """A machine's own compiler, else the one of $CC, else the first of cc, gcc, clang: its path,
    and what $CC says after its name, as make takes it ("ccache gcc", "gcc -g"). Nothing where it is
    not installed.

    Raises:
        IsamapError: $CC has a quote that does not end.
    """
    chosen = [own] if own else _split(wanted_compiler())
    for words in [chosen] if chosen else [[name] for name in COMPILERS]:
        path = shutil.which(words[0])
        if path:
            return path, *words[1:]
    return ()


def wanted_compiler() -> str:
    """$CC; empty where the choice is ours."""
    return os.environ.get("CC", "").strip()


def _split(text: str) -> list[str]:
    """Words of a command; a path with spaces that is there is one."""
    if shutil.which(text):
        return [text]
    try:
        return shlex.split(text)
    except ValueError as error:
        message = f"CC={text} cannot be split into words: {error}"
        raise IsamapError(message, hint="for example CC='gcc -g'") from None


def run_compiler(command: Sequence[str], limit_s: float) -> subprocess.CompletedProcess[str]:
    """What a compiler answers, whatever its status. Ctrl-C is for whoever waits for it.

    Raises:
        IsamapError: it cannot be run, or takes longer than the limit.
    """
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=limit_s, check=False, process_group=0
        )
    except subprocess.TimeoutExpired:
        message = f"{command[0]} took longer than {limit_s:g} s"
        raise IsamapError(message, hint=OTHER_COMPILER) from None
    except OSError as error:
        message = f"cannot run {command[0]}: {error.strerror}"
        raise IsamapError(message, hint=OTHER_COMPILER) from error


def expect_made(
    done: subprocess.CompletedProcess[str], compiler: str, made: Path, most: int, hint: str = ""
) -> None:
    """Raise unless the compiler has made the file.

    Args:
        most: characters of its own words that the message repeats.

    Raises:
        IsamapError: it failed, or wrote nothing.
    """
    if done.returncode:
        said = done.stderr[:most] or f"status {done.returncode}, without a word"
        raise IsamapError(f"{compiler} failed: {said}", hint=hint)
    if not made.exists():
        raise IsamapError(f"{compiler} wrote nothing", hint=OTHER_COMPILER)
