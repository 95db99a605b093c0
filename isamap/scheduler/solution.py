"""What is known of the best tiling of one covering.

In: nothing. Out: frozen values. Not its job: finding it (`solve`).
"""

from dataclasses import dataclass, field
from enum import Enum

from isamap.costmodels import Tiling
from isamap.mapper import TiledLoop


class Status(Enum):
    """What is known about a schedule."""

    OPTIMAL = "optimal"  # nothing in the model's space is better
    FEASIBLE = "feasible"  # stopped by a limit; see the bound
    UNKNOWN = "unknown"  # stopped by a limit before anything was found or ruled out
    INFEASIBLE = "infeasible"  # nothing fits


@dataclass(frozen=True, slots=True)
class Solution:
    """The best tiling found; `bound_cycles` holds for every tiling of this covering under the
    model, and so does `bound` for what the aim minimises, of which the tiling has `value`."""

    status: Status
    tiling: Tiling | None
    cycles: int
    bound_cycles: int
    seconds: float
    value: float = 0.0
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class KnownModels:
    """What was found for coverings by one aim; grows.

    `proven`: by `TilingModel.digest`: coverings that differ only in how buffers lie outside the
    chip, or of one task among different others, often have the same one; loops are called by their
    numbers. Where caches decide, by a covering's loops and residences; `of_loops`: by its loops,
    the best; `searched` by covering and machine: what the last search for values below so much
    found. `alike`: the best tilings of the same call on other sizes, each with its loops, the
    latest last.
    """

    proven: dict[object, Solution] = field(default_factory=dict)
    of_loops: dict[tuple[TiledLoop, ...], Solution] = field(default_factory=dict)
    searched: dict[object, tuple[float, Solution]] = field(default_factory=dict)
    alike: dict[object, list[tuple[tuple[TiledLoop, ...], Tiling]]] = field(default_factory=dict)
