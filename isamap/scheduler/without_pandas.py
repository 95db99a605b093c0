"""Load OR-Tools' Python layer without pandas.

In: nothing. Out: a context in which that layer may be imported. Not its job: importing it.

The layer names pandas' types in annotations and for the few calls that take its series, and loads
all of pandas for that: three tenths of a second of every command, which hands it no series.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

PANDAS = "pandas"


class _Types(ModuleType):
    """A module of as many empty types as are asked for."""

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


@contextmanager
def without_pandas() -> Iterator[None]:
    """Where pandas is not loaded, what is imported here finds empty types instead; who asks for
    pandas afterwards gets it."""
    if PANDAS in sys.modules:
        yield
        return
    sys.modules[PANDAS] = _Types(PANDAS)
    try:
        yield
    finally:
        del sys.modules[PANDAS]
