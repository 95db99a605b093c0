"""Memories and caches of a machine, as `load` makes them of a YAML file.

In: nothing but these nodes. Out: frozen values. Not its job: reading YAML, checking, what moves
data (`hardware`). Sizes are bytes, times are cycles, bandwidths are bytes per cycle.
"""

from dataclasses import dataclass, field
from enum import Enum
from math import ceil, inf

from isamap.errors import Loc

from .c_form import CopyForm, PrefetchForm
from .timing import Fifo

# Measured between 1/4 and 1/10 on one Zen 4 core, f32 products of 512 x 512 matrices in 70 tilings.
REFILLS_SHOWN = 1 / 8
WALKS = 8  # a walk asks no further ahead than a part in so many of it, whose lines nobody asks for


class MemoryKind(Enum):
    """Who decides what a memory holds."""

    EXTERNAL = "external"  # where kernels' inputs and outputs live; exactly one per machine
    MANAGED = "managed"  # scratchpad, registers: the program decides
    CACHE = "cache"  # the hardware decides


class Direction(Enum):
    """Which way bytes pass a port."""

    READ = "read"
    WRITE = "write"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Port:
    """A path in or out of a memory, shared by all accesses of its direction, `bytes_per_cycle`
    wide."""

    name: str
    direction: Direction
    bytes_per_cycle: float


@dataclass(frozen=True, slots=True)
class LargePages:
    """Arrays of at least `from_bytes` lie on pages of `size_bytes`, others on the smallest ones."""

    size_bytes: int
    from_bytes: int


@dataclass(frozen=True, slots=True)
class Memory:
    """`granule_bytes` is the unit of addressing: operands start at multiples of it.

    `is_renamed`: a write never waits for earlier calls that use the same bytes. `c_types`: per
    scalar type the C type of a granule (registers as C variables). `is_named`: C text names
    registers by their numbers, which must be constants. `c_copy`: how C reaches a register's bytes
    where it has no address. A cache's granule is its line, its ports
    say how fast it is refilled, `ways` how many lines a set has (0: a line may lie anywhere).
    `latency_cycles`: added by a line that no neighbour announced, `prefetched_rows`: how many rows
    of neighbours can be told apart (0: any number), `prefetched_loads`: of those that each have an
    instruction of their own (0: no more), `prefetched_lines`: of how many lines those are of which
    prefetchers miss few (0: of no row), `prefetch`: how C asks for a line,
    `asked_cycles`: least time from one line that C asked for to the next, `lone_cycles`: added by a
    line of a single row (of several side by side, each adds its share), `strayed_cycles`: of a
    row that prefetchers lost, since lines of too many others came between two visits to it,
    `conflict_cycles`: what each line takes of a call whose rows share too few sets (`read_`: of
    rows that are only read; `resumed_`: of sums in such rows of several calls, whose loads wait for
    the stores before them), `same_set_cycles`: what each line takes of a call that stores rows,
    where it lies in the set of the one before, `crowded_cycles`: what each line takes that a tile
    of sums reads, where its rows share too few sets to come before they are used, `aliased_cycles`:
    what a tile of sums waits where the lowest bits of its addresses are those of the tile stored
    before it, `stores_shown_share`: of the time for storing sums that were fetched, what calls that
    run meanwhile do not hide, `rushed_share`: of lines that enter during the first of several
    rounds which read them, of the time that computing in later rounds does not hide, what shows,
    `awaited_share`: of lines of unfinished sums, those that calls wait for although prefetchers
    follow their rows, `reads_per_cycle`: of operands that calls read in place (0: any number),
    `shown_share`: of the time in which it serves, what calls that run meanwhile do not hide,
    `refills_shown_share`: of computing and refills, what adds to the longest of them, `lost_share`:
    of lines that a round of a loop brought, those that the next one misses where it touches as much
    as the cache holds,
    `split_cycles`: what a copy into registers waits whose bytes lie in two lines, `left_bytes`:
    what others leave of it for certain (0: all of it), `replaces_at_random`: any line of a set
    makes room for a new one, not the one used least recently. `within`: the external memory that a
    managed one is a part of, behind the same caches. `handover_cycles`: of registers, what each
    takes at every start of a loop whose code stands between that of written-out loops,
    `window_calls`: of renamed ones, how many calls the processor has under way at a time (0: it
    waits for each). `large_pages`: of the external memory (None: all pages are small).
    """

    name: str
    kind: MemoryKind
    size_bytes: int
    granule_bytes: int
    ports: tuple[Port, ...] = ()
    read_energy_pj_per_byte: float = 0.0
    write_energy_pj_per_byte: float = 0.0
    is_renamed: bool = False
    c_types: tuple[tuple[str, str], ...] = ()
    is_named: bool = False
    c_copy: CopyForm | None = None
    ways: int = 0
    latency_cycles: float = 0.0
    prefetched_rows: int = 0
    prefetched_loads: int = 0
    prefetched_lines: int = 0
    asked_cycles: float = 0.0
    lone_cycles: float = 0.0
    strayed_cycles: float = 0.0
    conflict_cycles: float = 0.0
    read_conflict_cycles: float = 0.0
    resumed_conflict_cycles: float = 0.0
    same_set_cycles: float = 0.0
    crowded_cycles: float = 0.0
    aliased_cycles: float = 0.0
    stores_shown_share: float = 0.0
    rushed_share: float = 0.0
    awaited_share: float = 1.0
    reads_per_cycle: int = 0
    shown_share: float = 0.0
    refills_shown_share: float = REFILLS_SHOWN
    lost_share: float = 0.0
    split_cycles: float = 0.0
    left_bytes: int = 0
    replaces_at_random: bool = False
    prefetch: PrefetchForm | None = None
    within: str | None = None
    handover_cycles: float = 0.0
    window_calls: int = 0
    large_pages: LargePages | None = None
    source: str = ""
    fifo: Fifo | None = None
    loc: Loc | None = field(default=None, compare=False)
    # the pace at which a cache's lines enter
    refill_bytes_per_cycle: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        paces = (p.bytes_per_cycle for p in self.ports if p.direction is not Direction.READ)
        object.__setattr__(self, "refill_bytes_per_cycle", min(paces, default=inf))

    def iterations_ahead(self, cycles: float, num_lines: float = 0.0) -> int:
        """How many iterations ahead, of so many cycles, C asks for lines; where each reads so many
        lines further on along a row, no earlier than they enter: what is asked for long before its
        use finds no room in a nearer cache."""
        assert self.prefetch is not None, "the cache takes hints"
        entering = num_lines * self.granule_bytes / self.refill_bytes_per_cycle
        return ceil(self.prefetch.ahead_cycles / max(cycles, entering, 1.0))

    def iterations_along(
        self, cycles: float, num_lines: float, step_bytes: int, count: float
    ) -> int:
        """Likewise in a loop of `count` iterations along a single row, where it is long enough as
        far as the machine says."""
        assert self.prefetch is not None, "the cache takes hints"
        least = self.iterations_ahead(cycles, num_lines)
        far = self.prefetch.once_bytes / abs(step_bytes)
        return max(least, ceil(min(far, count / WALKS)))

    def follows(self, rows: float, row_bytes: float) -> bool:
        """Do prefetchers of the hardware bring rows that are walked side by side, each so far, so
        well that hints for their lines cost more than they gain? Of several rows, what is missed at
        the begin of a page comes at once; along one, all wait for it."""
        is_few = not self.prefetched_rows or rows <= self.prefetched_rows
        least = self.prefetched_lines * self.granule_bytes
        return is_few and not self._is_walk(rows) and 0 < least <= row_bytes

    def outruns_hints(
        self,
        last: "Memory",
        cycles: float,
        num_lines: float,
        walked_bytes: float,
        rows: float,
        row_bytes: float,
    ) -> bool:
        """Do calls of so many cycles read so many new lines, of an array of which so many bytes are
        walked over, along rows side by side that are each so long, faster than C can ask for them?
        The hardware is best left alone then, but with rows from behind the `last` cache that its
        prefetchers do not follow, and with one that is asked for by a form of its own."""
        asked, entering = self.asked_cycles * num_lines, 0.0
        if walked_bytes > last.size_bytes:
            entering = num_lines * last.granule_bytes / last.refill_bytes_per_cycle
        if self.follows(rows, row_bytes):
            return cycles <= max(asked, entering)
        return cycles < asked and not entering and not self._is_walk(rows)

    def _is_walk(self, rows: float) -> bool:
        return rows <= 1 and self.prefetch is not None and self.prefetch.walk is not None

    @property
    def never_waits(self) -> bool:
        """Does a write wait for no earlier use of its address?"""
        return self.is_renamed or self.fifo is not None

    @property
    def has_deadline(self) -> bool:
        """Must its entries be there some time after those before them?"""
        return self.fifo is not None and self.fifo.within_cycles is not None

    @property
    def num_entries(self) -> int:
        """Granules that it holds."""
        return self.size_bytes // self.granule_bytes
