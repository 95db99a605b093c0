"""Have Python look for cycles of objects more rarely.

In: nothing. Out: a context. Not its job: anything that frees memory.

Searches keep tens of thousands of objects, through which Python walks each time that it looks at
all of them, and leave few cycles: that took an eighth of their time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

THRESHOLDS = 50_000, 20, 50  # as of `gc.set_threshold`, whose own are 700, 10, 10


@contextmanager
def rarely_collected() -> Iterator[None]:
    """While it is open, anywhere in the process; whoever looks still more rarely, or not at all,
    goes on so."""
    _open()
    try:
        yield
    finally:
        _close()


_lock = Lock()
_found: list[tuple[int, int, int]] = []  # by whoever opened and did not close; the first one's hold


def _open() -> None:
    with _lock:
        before = gc.get_threshold()
        _found.append(before)
        if before[0]:
            gc.set_threshold(*map(max, before, THRESHOLDS))


def _close() -> None:
    """The last one gives back what the first one found, in whatever order threads close."""
    with _lock:
        if len(_found) == 1:
            gc.set_threshold(*_found[0])
        _found.pop()
