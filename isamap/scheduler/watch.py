"""Looking on while schedules are searched, and ending the search early.

In: what a search has found so far. Out: a wish to stop. Not its job: searching, showing progress on
a terminal.
"""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the search for one task's schedule is, in closed-form cycles.

    `num_coverings`: looked at so far, the one being solved included. `cycles`: of the best schedule
    so far, if any. `covering_bound_cycles`: no tiling of the covering being solved is below.
    `bound_cycles`: no covering at all is below.
    """

    subject: str
    num_coverings: int
    cycles: int | None
    covering_bound_cycles: int
    bound_cycles: int

    @property
    def gap(self) -> float | None:
        """Share of the best cycles that is not proven necessary; None before there are any."""
        if not self.cycles:
            return None
        return max(0.0, 1 - self.bound_cycles / self.cycles)


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

    `number`: of the covering. `cycles`: of the best schedule of another one. `bound_cycles`: no
    other covering is below.
    """

    watch: Watch
    number: int
    cycles: int | None
    bound_cycles: int

    @property
    def is_stopped(self) -> bool:
        """As the one who looks on says."""
        return self.watch.is_stopped

    def see(self, progress: Progress) -> None:
        """The best of all coverings, and what bounds them all."""
        known = [cycles for cycles in (self.cycles, progress.cycles) if cycles is not None]
        bound = min([self.bound_cycles, progress.covering_bound_cycles, *known])
        best = min(known, default=None)
        covering_bound = progress.covering_bound_cycles
        self.watch.see(Progress(progress.subject, self.number, best, covering_bound, bound))
