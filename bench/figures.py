"""What every row of a sweep knows: the schedule, its bounds, its emulated time.

In: nothing but these values. Out: frozen values. Not its job: measuring (`measure`), text.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What a row may take."""

    emulated_calls: int
    solver_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Cycles of one shape; None: not known (not emulated, no baseline on this machine, failed).

    `is_extrapolated`: emulated or baseline cycles come from `extrapolate_cycles`.
    `busiest`: the unit or port with the largest share of the emulated time, in words.
    """

    error: str = ""
    status: str = ""
    analytical_cycles: int | None = None
    bound_cycles: int | None = None
    solver_seconds: float | None = None
    roofline_cycles: int | None = None
    roofline_limit: str = ""
    is_natural: bool = True
    emulated_cycles: int | None = None
    is_extrapolated: bool = False
    baseline_cycles: int | None = None
    busiest: str = ""

    @property
    def gap(self) -> float | None:
        """How far the schedule may be from the best, as a share of it."""
        if self.analytical_cycles is None or not self.bound_cycles:
            return None
        return self.analytical_cycles / self.bound_cycles - 1

    @property
    def is_emulated_in_full(self) -> bool:
        """Was every call timed, the baseline's too if there is one?"""
        return self.emulated_cycles is not None and not self.is_extrapolated

    @property
    def gain(self) -> float | None:
        """Emulated cycles of the baseline per emulated cycle of the schedule."""
        if self.baseline_cycles is None or not self.emulated_cycles:
            return None
        return self.baseline_cycles / self.emulated_cycles

    @property
    def cycles(self) -> int | None:
        """Emulated cycles, or the model's where nothing was emulated."""
        return self.emulated_cycles or self.analytical_cycles

    @property
    def roofline_share(self) -> float | None:
        """Roofline per cycle spent."""
        return self.roofline_cycles / self.cycles if self.cycles and self.roofline_cycles else None

    @property
    def analytical_error(self) -> float | None:
        """Analytical against emulated cycles; below 0: too optimistic."""
        if not self.emulated_cycles or self.analytical_cycles is None:
            return None
        return self.analytical_cycles / self.emulated_cycles - 1
