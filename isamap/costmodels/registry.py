"""The cost models a user can choose by name.

In: a candidate (covering, tiling, program). Out: cycles. Not its job: what the solver minimises
inside a covering (always the closed form); a model here ranks solved candidates against each other.
"""

from dataclasses import dataclass
from typing import Protocol

from isamap.emulator import set_starts, time_program
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


class CostModel(Protocol):
    """Prices a candidate in cycles of the machine's clock."""

    def __call__(self, candidate: Candidate, hw: Hardware) -> int:
        """Cycles of the candidate on the machine."""
        ...


def roofline_cycles(candidate: Candidate, hw: Hardware) -> int:
    """The bound that no program beats."""
    return roofline(candidate.covering.kernel, hw).cycles


def analytical_cycles(candidate: Candidate, hw: Hardware) -> int:
    """The closed form that the solver minimises."""
    return estimate(candidate.covering, candidate.work, candidate.tiling, hw).cycles


def emulated_cycles(candidate: Candidate, hw: Hardware) -> int:
    """The emulator's count for the whole program."""
    return time_program(set_starts(candidate.program, hw), hw).cycles


COST_MODELS: dict[str, CostModel] = {
    "analytical": analytical_cycles,
    "emulated": emulated_cycles,
    "roofline": roofline_cycles,
}
