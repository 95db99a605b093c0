"""Have Python look for cycles of objects more rarely.

In: nothing. Out: a context. Not its job: anything that frees memory.

Searches keep tens of thousands of objects, through which Python walks each time that it looks at
all of them, and leave few cycles: that took an eighth of their time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = 50_000, 20, 50  # as of `gc.set_threshold`, whose own are 700, 10, 10


@contextmanager
def rarely_collected() -> Iterator[None]:
    """While it is open; whoever looks still more rarely, or not at all, goes on so."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(*map(max, before, THRESHOLDS))
    try:
        yield
    finally:
        gc.set_threshold(*before)
