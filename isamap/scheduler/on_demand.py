"""The proving search, loaded when it is first asked for (PEP 562).

In: nothing. Out: `prove`. Not its job: anything else.

CP-SAT's Python layer takes half a second to load, and machines with caches do without it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .prove import prove

__all__ = ["prove"]


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name in __all__:
        return getattr(import_module(f".{name}", __package__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
