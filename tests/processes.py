"""Processes that tests start and end.

In: what to wait for, numbers of processes. Out: what was found. Not its job: starting them.
"""

import time
from collections.abc import Callable
from pathlib import Path

WAIT_SECONDS = 30


def awaited(found: Callable[[], str | bool]) -> str | bool:
    """What it finds, as soon as it finds anything."""
    end = time.monotonic() + WAIT_SECONDS
    while not (result := found()) and time.monotonic() < end:
        time.sleep(0.01)
    return result


def is_there(process: int) -> bool:
    """Does the process run?"""
    status = Path(f"/proc/{process}/stat")
    return status.exists() and status.read_text().rsplit(")", 1)[1].split()[0] != "Z"
