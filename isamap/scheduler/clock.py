"""What time a search goes by.

In: work that was done. Out: the time. Not its job: what happens when time is up.
"""

import time
from typing import Protocol

ASKED_S = 0.001  # of effort between two looks at the clock, beside what is noted


class Clock(Protocol):
    """Goes on from an arbitrary beginning, in seconds."""

    @property
    def is_wall(self) -> bool:
        """Does it depend on how busy the computer is?"""
        ...

    def now(self) -> float:
        """The time."""
        ...

    def spend(self, seconds: float) -> None:
        """Note work that was done."""
        ...


class WallClock:
    """The computer's."""

    is_wall = True

    def now(self) -> float:
        """By `time.perf_counter`."""
        return time.perf_counter()

    def spend(self, seconds: float) -> None:
        """It goes on by itself."""


class EffortClock:
    """Counts work, the same on any computer however busy: the solver's deterministic seconds, those
    of estimates as they are taken to last, and a little whenever a search looks at the clock, which
    it does between any two steps."""

    is_wall = False

    def __init__(self) -> None:
        self.spent_s = 0.0

    def now(self) -> float:
        """What was spent."""
        self.spent_s += ASKED_S
        return self.spent_s

    def spend(self, seconds: float) -> None:
        """It goes on."""
        self.spent_s += seconds


WALL = WallClock()
