"""The cost models a user can choose by name.

In: candidates (covering, tiling, program). Out: cycles. Not its job: what the solver minimises
inside a covering (always the closed form); a model here ranks solved candidates against each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from isamap.emulator import time_scheduled
from isamap.hwdesc import Hardware
from isamap.mapper import Covering
from isamap.program import Program

from .analytical import estimate
from .roofline import roofline
from .tiling import Tiling
from .work import Work


@dataclass(frozen=True, slots=True)
class Candidate:
    """A scheduled covering, ready to be priced."""

    covering: Covering
    work: Work
    tiling: Tiling
    program: Program


@dataclass(frozen=True, slots=True)
class Price:
    """Cycles of the machine's clock, or None and the `problem` that a candidate has.

    `is_recalled`: known from an earlier question. `notes`: what a person should know about it, a
    line each.
    """

    cycles: int | None
    problem: str = ""
    is_recalled: bool = False
    notes: tuple[str, ...] = ()


class CostModel(Protocol):
    """Prices candidates; `num_candidates`: among how many of a kernel it wants to choose (1: it is
    only asked about the best one of each covering)."""

    @property
    def name(self) -> str:
        """What a user calls it."""
        ...

    @property
    def num_candidates(self) -> int:
        """At most so many are priced together."""
        ...

    def check(self, hw: Hardware) -> None:
        """Raise an IsamapError if it cannot price programs of this machine."""
        ...

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """A price per candidate, at least one of them with cycles."""
        ...


@dataclass(frozen=True, slots=True)
class Formula:
    """A cost model that looks at one candidate at a time, on any machine."""

    name: str
    cycles_of: Callable[[Candidate, Hardware], int]
    num_candidates: int = 1

    def check(self, hw: Hardware) -> None:
        """Every machine will do."""

    def price(self, candidates: Sequence[Candidate], hw: Hardware) -> tuple[Price, ...]:
        """One after the other."""
        return tuple(Price(self.cycles_of(candidate, hw)) for candidate in candidates)


def roofline_cycles(candidate: Candidate, hw: Hardware) -> int:
    """The bound that no program beats, in whatever order it sums: a candidate may."""
    return roofline(candidate.covering.kernel, hw, may_reassociate=True).cycles


def analytical_cycles(candidate: Candidate, hw: Hardware) -> int:
    """The closed form that the solver minimises."""
    return estimate(candidate.covering, candidate.work, candidate.tiling, hw).cycles


def emulated_cycles(candidate: Candidate, hw: Hardware) -> int:
    """The emulator's count for the whole program."""
    return time_scheduled(candidate.program, hw).cycles


ANALYTICAL = Formula("analytical", analytical_cycles)
EMULATED = Formula("emulated", emulated_cycles)
COST_MODELS: dict[str, CostModel] = {
    model.name: model
    for model in (
        ANALYTICAL,
        EMULATED,
        Formula("roofline", roofline_cycles),
    )
}
