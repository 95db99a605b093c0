"""Every error a user can cause.

In: what was found, what was expected, where. Out: exceptions whose `str` is the message a person
reads. Not its job: deciding that something is wrong, printing, exit codes.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from operator import index
from os import PathLike
from pathlib import Path
from typing import SupportsIndex


@dataclass(frozen=True, slots=True)
class Loc:
    """A place in a text file: 1-based line and column, and the text of that line for the caret."""

    file: str
    line: int
    column: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class IsamapError(Exception):
    """A mistake the user can mend: `str()` gives position, message, source line with caret, and
    hint."""

    def __init__(self, message: str, *, loc: Loc | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.loc = loc
        self.hint = hint

    def __str__(self) -> str:
        lines = [f"{self.loc}: {self.message}" if self.loc else self.message]
        if self.loc and self.loc.text:
            gutter = f"{self.loc.line:5d} | "
            lines.append(gutter + self.loc.text)
            lines.append(" " * (len(gutter) - 2) + "| " + " " * (self.loc.column - 1) + "^")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


def expect_mapping(name: str, value: object, example: Mapping[str, object]) -> None:
    """An argument that must be a mapping.

    Raises:
        IsamapError: it is none.
    """
    if not isinstance(value, Mapping):
        raise IsamapError(f"{name}={value!r}, expected a mapping", hint=f"{example}")


def expect_whole(name: str, value: object, least: int, most: int) -> None:
    """An argument that must be a whole number, NumPy's too.

    Raises:
        IsamapError: it is none, or beyond the limits.
    """
    whole = None
    if isinstance(value, SupportsIndex):
        with suppress(TypeError):  # an array of several
            whole = index(value)
    if whole is None or isinstance(value, bool) or not least <= whole <= most:
        raise IsamapError(f"{name}={value!r}, expected a whole number from {least} to {most}")


def expect_folder(name: str, value: str | PathLike[str]) -> Path:
    """An argument that must be the path of a folder.

    Raises:
        IsamapError: it is none.
    """
    try:
        folder = Path(value)
    except TypeError:
        raise IsamapError(f"{name}={value!r}, expected the path of a folder") from None
    if "\0" in str(folder):
        raise IsamapError(f"{name}={value!r}, expected a path without a null character")
    return folder


class KernelError(IsamapError):
    """A kernel or an instruction's semantics cannot be read or breaks a rule of the IR."""


class SpecError(IsamapError):
    """One thing wrong in a hardware file or a schedule file."""


class SpecErrors(IsamapError):
    """All things wrong in one such file, sorted by position."""

    def __init__(self, errors: Iterable[IsamapError]) -> None:
        self.errors = tuple(errors)
        super().__init__("\n".join(str(error) for error in self.errors))

    def __str__(self) -> str:
        return self.message


class MappingError(IsamapError):
    """No instruction of the machine can compute the kernel; the message names the nearest miss.

    `reason`: the cause in one line, without the statement.
    """

    def __init__(
        self, message: str, *, loc: Loc | None = None, hint: str = "", reason: str = ""
    ) -> None:
        super().__init__(message, loc=loc, hint=hint)
        self.reason = reason or message.partition("\n")[0].rstrip(":")


class LimitError(MappingError):
    """Nothing keeps the limits that were given; the hint names what comes nearest."""


class TooSlowError(MappingError):
    """Nothing takes less than is asked for: `most`, in the aim's units."""

    def __init__(self, message: str, most: float) -> None:
        super().__init__(message)
        self.most = most


class LateError(MappingError):
    """Time is up before a plan is whole, and another one is at hand."""


class ProgramError(IsamapError):
    """A program the machine cannot legally execute; the message names the call and the rule."""


def closest(word: str, candidates: Iterable[str]) -> str:
    """Return "did you mean 'x'?" for the candidate nearest to `word`, or an empty string."""
    matches = get_close_matches(word, list(candidates), n=1)
    return f"did you mean '{matches[0]}'?" if matches else ""


def among(word: str, candidates: Iterable[str]) -> str:
    """The nearest candidate to `word`, or all of them, once each."""
    known = list(dict.fromkeys(candidates))
    return closest(word, known) or f"known names: {', '.join(known) or 'none'}"
