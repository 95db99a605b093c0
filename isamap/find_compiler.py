"""The C compiler that is to be used.

In: $CC, where programs are looked for. Out: the words that its command begins with. Not its job:
flags, running it.
"""

import os
import shlex
import shutil

from .errors import IsamapError

COMPILERS = ("cc", "gcc", "clang")


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
