"""The proving search, loaded when it is first asked for (PEP 562).

In: nothing. Out: `prove`. Not its job: anything else.

CP-SAT's Python layer takes a tenth of a second to load, and machines with caches do without it.
"""

from typing import TYPE_CHECKING

from isamap.lazy import load_name

from .without_pandas import without_pandas

if TYPE_CHECKING:
    from .prove import prove

__all__ = ["prove"]


def __getattr__(name: str) -> object:
    with without_pandas():
        return load_name(__name__, {"prove": "isamap.scheduler.prove"}, name)
