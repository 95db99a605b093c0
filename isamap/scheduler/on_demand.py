"""The proving search, loaded when it is first asked for (PEP 562).

In: nothing. Out: `prove`. Not its job: anything else.

CP-SAT's Python layer takes half a second to load, and machines with caches do without it.
"""

from functools import partial
from typing import TYPE_CHECKING

from isamap.lazy import load_name

if TYPE_CHECKING:
    from .prove import prove

__all__ = ["prove"]


__getattr__ = partial(load_name, __name__, {"prove": "isamap.scheduler.prove"})
