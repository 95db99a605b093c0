"""A collection of errors, so that one run reports everything wrong in a file.

In: errors. Out: all of them, once each, by position. Not its job: finding them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from isamap.errors import IsamapError


class Problems:
    """Errors found so far."""

    def __init__(self) -> None:
        self._errors: list[IsamapError] = []

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._errors)

    def add(self, error: IsamapError) -> None:
        """Keep one error."""
        self._errors.append(error)

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Keep the error that ends the block, if one does."""
        try:
            yield
        except IsamapError as error:
            self.add(error)

    def sorted(self) -> tuple[IsamapError, ...]:
        """All errors by file, line and column, those without a position first; repeated ones
        once."""
        unique = {str(error): error for error in self._errors}
        return tuple(sorted(unique.values(), key=_position))


def _position(error: IsamapError) -> tuple[str, int, int]:
    return (error.loc.file, error.loc.line, error.loc.column) if error.loc else ("", 0, 0)
