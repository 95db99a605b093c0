"""Looking on while schedules are searched, and ending the search early.

In: what a search has found so far. Out: a wish to stop. Not its job: searching, showing progress on
a terminal.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from isamap.costmodels import FASTEST, Aim


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the search for one task's schedule is, in what `aim` minimises (closed form).

    `num_coverings`: looked at so far, the one being solved included. `value`: of the best schedule
    so far, if any. `covering_bound`: no tiling of the covering being solved is below. `bound`: no
    covering at all is below.
    """

    subject: str
    num_coverings: int
    value: float | None
    covering_bound: float
    bound: float
    aim: Aim = FASTEST

    @property
    def gap(self) -> float | None:
        """Share of the best value that is not proven necessary; None before there is any."""
        if not self.value:
            return None
        return max(0.0, 1 - self.bound / self.value)


class Watch(Protocol):
    """Sees every improvement; may be called from other threads than the one that searches."""

    @property
    def is_stopped(self) -> bool:
        """Shall the search end with the best that it has?"""
        ...

    def see(self, progress: Progress) -> None:
        """Take note of an improvement of the schedule or of a bound."""
        ...


class Nobody:
    """Looks at nothing and stops nothing."""

    @property
    def is_stopped(self) -> bool:
        """Never."""
        return False

    def see(self, progress: Progress) -> None:
        """Ignore it."""


NOBODY = Nobody()


@dataclass(frozen=True, slots=True)
class Relay:
    """Passes the progress on one covering on as progress of the search over all of them.

    `number`: of the covering. `value`: of the best schedule of another one. `bound`: no other
    covering is below.
    """

    watch: Watch
    number: int
    value: float | None
    bound: float

    @property
    def is_stopped(self) -> bool:
        """As the one who looks on says."""
        return self.watch.is_stopped

    def see(self, progress: Progress) -> None:
        """The best of all coverings, and what bounds them all."""
        known = [value for value in (self.value, progress.value) if value is not None]
        bound = min([self.bound, progress.covering_bound, *known])
        best = min(known, default=None)
        self.watch.see(replace(progress, num_coverings=self.number, value=best, bound=bound))
