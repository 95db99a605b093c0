"""Candidates as the database knows them.

In: a candidate, the machine. Out: its C, a digest of that, what the closed form says of it. Not its
job: running it, storing anything.
"""

from dataclasses import dataclass

from isamap.codegen import CSource, generate_c
from isamap.costmodels import Candidate, estimate, find_terms
from isamap.errors import ProgramError
from isamap.hwdesc import Hardware

from .database import Description
from .subject import digest


@dataclass(frozen=True, slots=True)
class Described:
    """A candidate: programs of the same text are one. No source: a problem."""

    program: str
    source: CSource | None
    about: Description
    problem: str = ""


def to_described(candidate: Candidate, hw: Hardware) -> Described:
    """With its C, as far as there is any."""
    about = describe(candidate, hw)
    try:
        source = generate_c(candidate.program, hw)
    except ProgramError as error:
        return Described("", None, about, error.message)
    return Described(digest(source.text), source, about)


def describe(candidate: Candidate, hw: Hardware) -> Description:
    """What the closed form says of a candidate, and what tells it from others."""
    parts = estimate(candidate.covering, candidate.work, candidate.tiling, hw)
    return Description(parts.cycles / hw.clock_hz, find_terms(candidate, hw))
