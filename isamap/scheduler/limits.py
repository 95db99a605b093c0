"""When a search must stop.

In: nothing. Out: frozen values. Not its job: stopping (`run_solver`).
"""

from dataclasses import dataclass

from .clock import WALL, Clock


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop, and what the search's random choices depend on.

    `deadline`: by the `clock`. `effort`: in the solver's deterministic seconds, which do
    not depend on how busy the computer is; None: unlimited.
    """

    deadline: float
    workers: int = 1
    seed: int = 0
    effort: float | None = None
    clock: Clock = WALL
