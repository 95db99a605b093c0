"""What a machine's pipelines say about when calls may start, beside issue and latency.

In: nothing but these nodes. Out: frozen values. Not its job: reading and checking them
(`build_exposed`).
"""

from dataclasses import dataclass
from enum import Enum

from .expression import Expression


@dataclass(frozen=True, slots=True)
class Fifo:
    """A memory's granules are entries that are read in the order in which they were written; the
    first read of an entry drops the one before it, and makes room for one more.

    Addresses only say which entry is meant: a write never waits for what was at its address, but
    for the first read of the entry as many before it as the memory holds.

    `within_cycles`: an entry must be there so many cycles after the first read of the one before it
    began (None: any time).
    """

    within_cycles: int | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """The iterations of `loop` follow each other `every_cycles` apart, as in a pipeline: iteration
    v reads its operands v * every_cycles after the call's start, and its results are visible as
    long before the last iteration's as it began."""

    loop: str
    every_cycles: int


class Which(Enum):
    """Which calls a distance counts."""

    ALWAYS = "always"
    NEW_ENTRY = "new_entry"  # the first that read an entry of a fifo memory


@dataclass(frozen=True, slots=True)
class Distance:
    """A call of `then` starts at least `cycles` (over the loops of `first`) after every earlier
    call of `first`, beside what latencies and units ask for."""

    first: str
    then: str
    which: Which
    cycles: Expression
    source: str = ""
